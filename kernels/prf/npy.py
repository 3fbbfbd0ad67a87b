"""Arrays of 32-bit values as .npy files, and arithmetic of binary32; nothing but the standard library is needed."""

import struct
from pathlib import Path


def f32(value):
    """Rounds to binary32. Sums, differences, products and quotients of binary32 values are rounded right by way of binary64."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def save(folder, kind="u4", **arrays):
    """Writes NAME.npy for each array: kind u4, i4 or f4."""
    code = {"u4": "I", "i4": "i", "f4": "f"}[kind]
    for name, values in arrays.items():
        head = f"{{'descr': '<{kind}', 'fortran_order': False, 'shape': ({len(values)},), }}"
        head += " " * (-(len(head) + 11) % 64) + "\n"
        data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
        data += struct.pack(f"<{len(values)}{code}", *values)
        (Path(__file__).resolve().parent / folder / f"{name}.npy").write_bytes(data)


class Random:
    """A generator of 32-bit words (splitmix64), the same everywhere."""

    def __init__(self, seed):
        self.state = seed

    def word(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & (2**64 - 1)
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & (2**64 - 1)
        z = (z ^ z >> 27) * 0x94D049BB133111EB & (2**64 - 1)
        return (z ^ z >> 31) & 0xFFFFFFFF

    def below(self, n):
        return self.word() % n

    def unit(self):
        """A binary32 from 0 to 1."""
        return f32((self.word() >> 8) / 2**24)
