"""Products of matrices by definition: what `mma` and `wmma` give, in exact integer arithmetic and by the manual's formulas.

Shared by make.py, which writes the file tests' arrays, and campaign.py, which compares many more with the command line.
"""

import math

import numpy as np

BITS = dict(f16=16, bf16=16, tf32=32, f32=32, f64=64, e4m3=8, e5m2=8, s8=8, u8=8, s4=4, u4=4, b1=1, s32=32)
# Exponent and fraction bits.
FORMAT = dict(f16=(5, 10), bf16=(8, 7), tf32=(8, 23), f32=(8, 23), e4m3=(4, 3), e5m2=(5, 2))


# Fragments: the row and column of element i of a lane, formula by formula as PTX ISA 9.1 prints them.
def place_a(shape, ty, lane, i):
    g, t = lane >> 2, lane % 4
    if ty == "f64":
        if shape == "m16n8k16":
            return (g, i * 2 + t) if i % 2 == 0 else (g + 8, i * 2 - 2 + t)
        return (g if i in (0, 2) else g + 8), (t if i in (0, 1) else t + 4)
    if ty == "tf32":
        return (g if i in (0, 2) else g + 8), (t if i in (0, 1) else t + 4)
    if ty in ("f16", "bf16"):
        if shape == "m16n8k8":
            return (g if i < 2 else g + 8), t * 2 + (i & 1)
        return (g if i < 2 or 4 <= i < 6 else g + 8), t * 2 + (i & 1) + (8 if i >= 4 else 0)
    e = 32 // BITS[ty]
    if shape.startswith("m8"):
        return g, t * e + i
    return (g if i < e or 2 * e <= i < 3 * e else g + 8), t * e + i % e + (4 * e if i >= 2 * e else 0)


def place_b(shape, ty, lane, i):
    g, t = lane >> 2, lane % 4
    if ty in ("f64", "tf32"):
        return t + 4 * i, g
    e = 32 // BITS[ty]
    return t * e + i % e + (4 * e if i >= e else 0), g


def place_c(shape, ty, lane, i):
    g, t = lane >> 2, lane % 4
    return (g if i < 2 else g + 8), t * 2 + (i & 1)


def quad_a(columns, lane, i):
    high = lane >= 16
    return (i % 4 + 4 * high, lane % 4) if columns else (lane % 4 + 4 * high, i)


def quad_b(columns, lane, i):
    high = lane >= 16
    return (i, lane % 4 + 4 * high) if columns else (lane % 4, i + 4 * high)


def quad_c(ty, lane, i):
    high = lane >= 16
    if ty == "f16":
        return lane % 4 + 4 * high, i
    return (lane & 1) + (i & 2) + 4 * high, (i & 4) + (lane & 2) + (i & 1)


def sizes(shape):
    m, rest = shape[1:].split("n")
    return (int(m), *map(int, rest.split("k")))


# Arithmetic.
def decode(bits, ty):
    """(significand, exponent of its last bit, the exponent it is aligned by), or "nan", "inf", "-inf"."""
    if ty == "tf32":
        bits &= ~0x1FFF
    x, f = FORMAT[ty]
    sign = -1 if bits >> (x + f) & 1 else 1
    field, rest, bias = bits >> f & (1 << x) - 1, bits & (1 << f) - 1, (1 << x - 1) - 1
    if ty == "e4m3":
        if field == 15 and rest == 7:
            return "nan"
    elif field == (1 << x) - 1:
        return "nan" if rest else ("inf" if sign > 0 else "-inf")
    if field == 0 and rest == 0:
        return 0, 0, -126
    exponent = max(field, 1) - bias
    return sign * (rest + ((1 << f) if field else 0)), exponent - f, exponent


def cut(value, scale):
    """value * 2**scale without its fraction."""
    magnitude = abs(value) << scale if scale >= 0 else abs(value) >> -scale
    return -magnitude if value < 0 else magnitude


def encode(total, unit, ty, kept):
    """total * 2**unit: single precision cut to so many fraction bits, or half precision rounded."""
    if total == 0:
        return 0
    x, f = FORMAT[ty]
    low, high = 2 - (1 << x - 1), (1 << x - 1) - 1
    exponent = unit + abs(total).bit_length() - 1
    last = max(exponent, low) - (kept if ty == "f32" else f)
    if ty == "f32":
        digits = cut(abs(total), unit - last) << (23 - kept)
    else:
        digits = abs(total) << max(unit - last, 0)
        down = max(last - unit, 0)
        whole, part = digits >> down, digits & (1 << down) - 1
        digits = whole + (2 * part > 1 << down or (2 * part == 1 << down and down > 0 and whole & 1))
    if digits == 0:
        return 0
    # The leading one of a normal number adds itself to the exponent field.
    out = ((max(exponent, low) - low) << f) + digits
    infinite = ((1 << x) - 1) << f
    out = infinite if exponent > high else min(out, infinite)
    return out | (1 << x + f if total < 0 else 0)


def fused(row, column, addend, ty_a, ty_b, ty_c, ty_d, quads):
    block, fraction, kept = {"tf32": (4, 24, 23), "e4m3": (16, 13, 13), "e5m2": (16, 13, 13)}.get(ty_a, (8, 24, 23))
    if quads:
        block, fraction = 4, 23
    total = addend
    for start in range(0, len(row), block):
        if ty_d == "f32" and ty_c == "f16":
            total = int(np.uint16(total).view(np.float16).astype(np.float32).view(np.uint32))
            ty_c = "f32"
        terms, special = [decode(total, ty_c)], []
        if isinstance(terms[0], str):
            special, terms = [float(terms[0])], [(0, 0, -126)]
        for x, y in zip(row[start:start + block], column[start:start + block]):
            x, y = decode(x, ty_a), decode(y, ty_b)
            if isinstance(x, str) or isinstance(y, str):
                x, y = (float(v) if isinstance(v, str) else float(v[0]) for v in (x, y))
                special.append(x * y if not (math.isinf(x) and y == 0 or math.isinf(y) and x == 0) else math.nan)
                continue
            terms.append((x[0] * y[0], x[1] + y[1], x[2] + y[2]))
        ty_c = ty_d
        if special:
            value = sum(special)
            top = {"f16": 0x7C00, "f32": 0x7F800000}[ty_d]
            sign = {"f16": 1 << 15, "f32": 1 << 31}[ty_d]
            total = sign - 1 if math.isnan(value) else top | (sign if value < 0 else 0)
            continue
        top = max(t[2] for t in terms)
        unit = top - fraction
        total = encode(sum(cut(t[0], t[1] - unit) for t in terms), unit, ty_d, kept)
    return total


def signed(value, bits):
    return value - (1 << bits) if value >> bits - 1 & 1 else value


def dot(row, column, addend, types, quads=False, saturate=False, bit_op="xor"):
    d, a, b, c = types
    if a == "f64":
        return double(row, column, addend)
    if a == "b1":
        count = sum(x ^ y if bit_op == "xor" else x & y for x, y in zip(row, column))
        return (addend + count) & 0xFFFFFFFF
    if d == "s32":
        value = lambda v, ty: signed(v, BITS[ty]) if ty[0] == "s" else v
        total = sum(value(x, a) * value(y, b) for x, y in zip(row, column)) + signed(addend, 32)
        if saturate:
            total = min(max(total, -(1 << 31)), (1 << 31) - 1)
        return total & 0xFFFFFFFF
    return fused(row, column, addend, a, b, c, d, quads)


def double(row, column, addend):
    """A chain of fused multiply-adds, rounded to nearest, in exact rational arithmetic."""
    from fractions import Fraction

    value = lambda bits: float(np.uint64(bits).view(np.float64))
    total = value(addend)
    for x, y in zip(row, column):
        x, y = value(x), value(y)
        if math.isfinite(x) and math.isfinite(y) and not math.isfinite(total):
            continue
        if not (math.isfinite(x) and math.isfinite(y)):
            with np.errstate(all="ignore"):
                total = float(np.float64(x) * np.float64(y) + np.float64(total))
            continue
        exact = Fraction(x) * Fraction(y) + Fraction(total)
        if exact == 0:
            negative = math.copysign(1, x) * math.copysign(1, y) < 0 and math.copysign(1, total) < 0
            total = -0.0 if negative and (x * y == 0 or total == 0) and total == 0 else 0.0
            continue
        try:
            # Python divides integers with correct rounding, subnormals included.
            total = exact.numerator / exact.denominator
        except OverflowError:
            total = math.inf if exact > 0 else -math.inf
    if math.isnan(total):
        return 0x7FFFFFFFFFFFFFFF
    return int(np.float64(total).view(np.uint64))


# Values that find mistakes.
def values(rng, ty, count, style):
    bits = BITS[ty]
    if ty not in FORMAT and ty != "f64":
        if style == 1:
            ends = [0, 1, (1 << bits) - 1, 1 << bits - 1, (1 << bits - 1) - 1]
            return rng.choice(np.array([e & (1 << bits) - 1 for e in ends], np.uint64), count)
        return rng.integers(0, 1 << bits, count, np.uint64)
    x, f = FORMAT.get(ty, (11, 52))
    whole = rng.integers(0, 1 << bits if bits < 64 else 1 << 63, count, np.uint64)
    if style == 0:  # Anything, NaN and infinities among it.
        return whole
    bias = (1 << x - 1) - 1
    if style == 1:  # Of about the same size: sums cancel and carry.
        exponent = rng.integers(bias - 2, bias + 3, count).astype(np.uint64)
    elif style == 2:  # Small: subnormals and zeros.
        exponent = rng.integers(0, 3, count).astype(np.uint64)
    elif style == 3:  # Over the range, but finite.
        exponent = rng.integers(0, (1 << x) - 1, count).astype(np.uint64)
    else:  # Large: sums overflow.
        exponent = rng.integers((1 << x) - 4, (1 << x) - 1, count).astype(np.uint64)
    rest = whole & np.uint64((1 << f) - 1)
    zero = rng.random(count) < 0.1
    sign = rng.integers(0, 2, count).astype(np.uint64) << np.uint64(x + f)
    return np.where(zero, np.uint64(0), exponent << np.uint64(f) | rest) | sign
