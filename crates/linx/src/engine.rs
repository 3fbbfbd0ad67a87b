//! The tile engine: tile memory (TLOAD, TSTORE, TMOV), the matrix unit (TMATMUL, ACCCVT) and the 43 tile operations.
//!
//! Tiles are row-major: LB0 valid elements a row, LB1 rows; the fractal layouts are not defined numerically and are refused.
//! Everything is checked before the first effect. Float elements are FP64, FP32, FP16 or BF16; integers 8 to 64 bits.

use simt::arith::{Cmp, Flags, FpEnv};
use simt::memory::{AccessKind, Addr};

use crate::action::{Alu, Float};
use crate::compute::{self, FloatType, alu, extend, float_op, ones};
use crate::header::{Header, Kind};
use crate::names::TileOp;
use crate::state::State;
use crate::tile::Accumulator;
use crate::trap::{Detail, Family, Trap};

/// The type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Float(FloatType, u32),
    Int(u32, bool),
}

impl Element {
    fn of(code: u8) -> Option<Self> {
        Some(match code {
            0 => Self::Float(FloatType::Fp64, 64),
            1 => Self::Float(FloatType::Fp32, 32),
            2 => Self::Float(FloatType::Fp16, 16),
            6 => Self::Float(FloatType::Bf16, 16),
            16..=19 => Self::Int(64 >> (code - 16), true),
            24..=27 => Self::Int(64 >> (code - 24), false),
            _ => return None,
        })
    }

    fn bytes(self) -> usize {
        match self {
            Self::Float(_, bits) | Self::Int(bits, _) => bits as usize / 8,
        }
    }
}

/// A shape: columns, rows.
#[derive(Clone, Copy)]
struct Shape {
    columns: usize,
    rows: usize,
}

impl State {
    /// Executes the block of a valid header; `at` is the instruction that ends it.
    pub(crate) fn execute_engine(&mut self, header: &Header, at: u64) -> Result<(), Trap> {
        let element = Element::of(header.data_type);
        let element =
            element.ok_or_else(|| Trap::illegal(at, "elements of this type are not specified"))?;
        match header.kind {
            Kind::Simt(_) => Ok(()),
            Kind::Load | Kind::Store => self.transfer(header, element, at),
            Kind::Move => self.move_tile(header, at),
            Kind::Matmul { accumulate } => self.matmul(header, element, accumulate, at),
            Kind::Convert => self.convert_accumulator(header, element, at),
            Kind::Tile(op) => self.tile_op(header, op, element, at),
        }
    }

    /// B.ARG must name the plain layout.
    fn plain_layout(header: &Header, at: u64) -> Result<(), Trap> {
        match header.arg {
            None => Ok(()),
            Some((0, _)) => Ok(()),
            Some(_) => {
                Err(Trap::format(at, Family::Arg, Detail::Invalid, "this layout is not defined"))
            }
        }
    }

    fn shape(header: &Header, element: Element, at: u64) -> Result<Option<Shape>, Trap> {
        let Some(columns) = header.dims[0] else { return Ok(None) };
        let (rows, depth) =
            (header.dims[1].unwrap_or(1).max(1), header.dims[2].unwrap_or(1).max(1));
        let wrong =
            || Trap::format(at, Family::Dim, Detail::Invalid, "the shape exceeds a tile of 4 KB");
        let rows = rows.checked_mul(depth).ok_or_else(wrong)?;
        let count = columns.checked_mul(rows).filter(|&n| n <= 4096).ok_or_else(wrong)?;
        if count as usize * element.bytes() > 4096 {
            return Err(wrong());
        }
        // A product of at most 4096; with no columns the rows do not count.
        let rows = if columns == 0 { 0 } else { rows as usize };
        Ok(Some(Shape { columns: columns as usize, rows }))
    }

    /// The only output's hand and size.
    fn output(header: &Header, at: u64) -> Result<(u8, u32), Trap> {
        let missing =
            || Trap::format(at, Family::Iot, Detail::Missing, "a destination tile is missing");
        header.outputs().first().copied().ok_or_else(missing)
    }

    /// The n-th source's contents.
    fn input(&self, header: &Header, n: usize, least: usize, at: u64) -> Result<Vec<u8>, Trap> {
        let missing = || Trap::format(at, Family::Iot, Detail::Missing, "a source tile is missing");
        let id = *header.inputs().get(n).ok_or_else(missing)?;
        let bytes = self.tiles.bytes(self.tiles.slot(id));
        if bytes.len() < least {
            let words = format!("a source tile of {} bytes where {least} are read", bytes.len());
            return Err(Trap::format(at, Family::Iot, Detail::Invalid, words));
        }
        Ok(bytes.to_vec())
    }

    /// Rows of LB0 elements, `stride` bytes apart in memory; without dimensions the whole tile.
    fn transfer(&mut self, header: &Header, element: Element, at: u64) -> Result<(), Trap> {
        Self::plain_layout(header, at)?;
        let scalars = header.scalars();
        let shape = Self::shape(header, element, at)?;
        let load = header.kind == Kind::Load;
        let (hand, size) = if load { Self::output(header, at)? } else { (0, 0) };
        let source = if load { Vec::new() } else { self.input(header, 0, 0, at)? };
        let length = if load { size as usize } else { source.len() };
        let (row, rows) = match shape {
            Some(s) => (s.columns * element.bytes(), s.rows),
            None => (length, 1),
        };
        if row * rows > length {
            let words = format!("{} bytes in a tile of {length}", row * rows);
            return Err(Trap::format(at, Family::Dim, Detail::Invalid, words));
        }
        let (stride, base) = match scalars.as_slice() {
            [base] => (row as u64, *base),
            [stride, base, ..] => (*stride, *base),
            [] => {
                return Err(Trap::format(
                    at,
                    Family::Ior,
                    Detail::Missing,
                    "the address is missing",
                ));
            }
        };
        let address = |r: usize| base.wrapping_add(stride.wrapping_mul(r as u64));
        let kind = if load { AccessKind::Load } else { AccessKind::Store };
        for r in 0..if row == 0 { 0 } else { rows } {
            self.memory
                .check(kind, Addr(address(r)), row as u64, 1)
                .map_err(|error| Trap::data(at, address(r), &error))?;
        }
        let mut tile = vec![0; length];
        for r in 0..if row == 0 { 0 } else { rows } {
            let range = r * row..(r + 1) * row;
            let done = if load {
                self.memory.read_bytes(Addr(address(r)), &mut tile[range])
            } else {
                self.memory.write_bytes(Addr(address(r)), &source[range])
            };
            done.map_err(|error| Trap::data(at, address(r), &error))?;
        }
        if load {
            let slot = self.tiles.push(hand, size);
            self.tiles.bytes_mut(slot).copy_from_slice(&tile);
        }
        Ok(())
    }

    fn move_tile(&mut self, header: &Header, at: u64) -> Result<(), Trap> {
        // The mode A2V would read the accumulator, whose layout in a tile ACCCVT decides.
        Self::plain_layout(header, at)?;
        let (hand, size) = Self::output(header, at)?;
        let source = self.input(header, 0, 0, at)?;
        if source.len() > size as usize {
            return Err(Trap::format(
                at,
                Family::Iot,
                Detail::Invalid,
                "the destination is too small",
            ));
        }
        let slot = self.tiles.push(hand, size);
        self.tiles.bytes_mut(slot)[..source.len()].copy_from_slice(&source);
        Ok(())
    }

    /// ACC = A(m x k) * B(k x n), or ACC + A * B; m, n, k = LB0, LB1, LB2. Floats accumulate in FP32 (FP64 if they are),
    /// integers in 64 bits.
    fn matmul(
        &mut self,
        header: &Header,
        element: Element,
        accumulate: bool,
        at: u64,
    ) -> Result<(), Trap> {
        Self::plain_layout(header, at)?;
        let dim = |i: usize| header.dims[i].unwrap_or(1).max(1);
        let invalid =
            || Trap::format(at, Family::Dim, Detail::Invalid, "the shape exceeds a tile of 4 KB");
        if header.dims.iter().flatten().any(|&d| d > 4096) {
            return Err(invalid());
        }
        let (m, n, k) = (dim(0) as usize, dim(1) as usize, dim(2) as usize);
        let size = element.bytes();
        if m * k * size > 4096 || k * n * size > 4096 || m * n > 4096 {
            return Err(invalid());
        }
        let (a, b) =
            (self.input(header, 0, m * k * size, at)?, self.input(header, 1, k * n * size, at)?);
        let kind = match element {
            Element::Int(..) => Accumulator::Integer,
            Element::Float(FloatType::Fp64, _) => Accumulator::Double,
            Element::Float(..) => Accumulator::Single,
        };
        let integer = kind == Accumulator::Integer;
        let fits = self.tiles.acc.len() == m * n
            && self.tiles.acc_columns == n
            && self.tiles.acc_kind == kind;
        if accumulate && !fits {
            return Err(Trap::format(
                at,
                Family::Dim,
                Detail::Invalid,
                "the accumulator has another shape",
            ));
        }
        let (env, mut flags) = (self.env(), Flags::NONE);
        let mut acc = if accumulate { self.tiles.acc.clone() } else { vec![0; m * n] };
        let bits = if size == 8 { 64 } else { 32 };
        for (index, sum) in acc.iter_mut().enumerate() {
            let (row, column) = (index / n, index % n);
            for step in 0..k {
                let x = wide(element, read(&a, row * k + step, element), env, &mut flags);
                let y = wide(element, read(&b, step * n + column, element), env, &mut flags);
                *sum = if integer {
                    sum.wrapping_add(x.wrapping_mul(y))
                } else {
                    float_op(Float::Madd, bits, x, y, *sum, env, &mut flags)
                };
            }
        }
        self.raise(flags);
        (self.tiles.acc, self.tiles.acc_columns, self.tiles.acc_kind) = (acc, n, kind);
        Ok(())
    }

    /// The accumulator as a tile: (value + zero point) in integers, value * scale in floats, scale as FP32 bits.
    fn convert_accumulator(
        &mut self,
        header: &Header,
        element: Element,
        at: u64,
    ) -> Result<(), Trap> {
        Self::plain_layout(header, at)?;
        let (hand, size) = Self::output(header, at)?;
        let acc = self.tiles.acc.clone();
        if acc.len() * element.bytes() > size as usize {
            return Err(Trap::format(
                at,
                Family::Iot,
                Detail::Invalid,
                "the destination is too small",
            ));
        }
        let scalars = header.scalars();
        let (env, mut flags) = (self.env(), Flags::NONE);
        let scale = scalars.first().copied().unwrap_or(0) & ones(32);
        let zero = scalars.get(1).copied().unwrap_or(0);
        let mut tile = vec![0; size as usize];
        // Doubles are scaled as doubles, all else as singles.
        let (from, bits) = match self.tiles.acc_kind {
            Accumulator::Double => (FloatType::Fp64, 64),
            _ => (FloatType::Fp32, 32),
        };
        let scale = compute::float_to_float(scale, FloatType::Fp32, from, env, &mut flags);
        for (i, &value) in acc.iter().enumerate() {
            let value = match self.tiles.acc_kind {
                Accumulator::Integer => compute::int_to_float(value, true, from, env, &mut flags),
                _ => value,
            };
            let scaled = float_op(Float::Mul, bits, value, scale, 0, env, &mut flags);
            let out = match element {
                Element::Float(to, _) => compute::float_to_float(scaled, from, to, env, &mut flags),
                Element::Int(bits, signed) => {
                    compute::float_to_int(scaled, from, bits, signed, env, &mut flags)
                        .wrapping_add(zero)
                }
            };
            write(&mut tile, i, element, out);
        }
        self.raise(flags);
        let slot = self.tiles.push(hand, size);
        self.tiles.bytes_mut(slot).copy_from_slice(&tile);
        Ok(())
    }

    fn tile_op(
        &mut self,
        header: &Header,
        op: TileOp,
        element: Element,
        at: u64,
    ) -> Result<(), Trap> {
        let no_shape = || Trap::format(at, Family::Dim, Detail::Missing, "the shape is missing");
        let shape = Self::shape(header, element, at)?.ok_or_else(no_shape)?;
        let (hand, size) = Self::output(header, at)?;
        let (env, mut flags) = (self.env(), Flags::NONE);
        let scalar = header.scalars().first().copied().unwrap_or(0);
        let out_type = if op.name == "TCVT" { target_type(header, at)? } else { element };
        let count = shape.columns * shape.rows;
        let mut inputs = Vec::new();
        for n in 0..usize::from(op.sources) {
            // A broadcast reads one row or one column only.
            let least = match op.name {
                "TCOLEXPAND" => shape.rows,
                "TROWEXPAND" => shape.columns,
                _ => count,
            };
            let bytes = self.input(header, n, least * element.bytes(), at)?;
            inputs.push(
                (0..bytes.len() / element.bytes())
                    .map(|i| read(&bytes, i, element))
                    .collect::<Vec<u64>>(),
            );
        }
        let context = Context { op, element, shape, scalar, env };
        let values = context.run(&inputs, out_type, &mut flags);
        let values = values
            .ok_or_else(|| Trap::illegal(at, "this operation has no elements of this type"))?;
        if values.len() * out_type.bytes() > size as usize {
            return Err(Trap::format(
                at,
                Family::Iot,
                Detail::Invalid,
                "the destination is too small",
            ));
        }
        self.raise(flags);
        let slot = self.tiles.push(hand, size);
        let tile = self.tiles.bytes_mut(slot);
        values.iter().enumerate().for_each(|(i, &v)| write(tile, i, out_type, v));
        if matches!(op.name, "TDIV" | "TDIVS")
            && let Some((_, dest)) = header.ior.iter().find(|(_, dest)| *dest != 0)
        {
            self.write_scalar(i64::from(*dest), context.division_status(&inputs, &values));
        }
        Ok(())
    }
}

/// The type that TCVT converts to: the number of the format in B.ARG is a data type.
fn target_type(header: &Header, at: u64) -> Result<Element, Trap> {
    let found = header.arg.and_then(|(format, _)| Element::of(format));
    found.ok_or_else(|| {
        Trap::format(at, Family::Arg, Detail::Invalid, "B.ARG names no element type")
    })
}

/// An element, extended.
fn read(tile: &[u8], index: usize, element: Element) -> u64 {
    let size = element.bytes();
    let mut bytes = [0; 8];
    if let Some(found) = tile.get(index * size..(index + 1) * size) {
        bytes[..size].copy_from_slice(found);
    }
    let raw = u64::from_le_bytes(bytes);
    match element {
        Element::Int(bits, signed) => extend(raw, bits, signed),
        Element::Float(..) => raw,
    }
}

fn write(tile: &mut [u8], index: usize, element: Element, value: u64) {
    let size = element.bytes();
    if let Some(place) = tile.get_mut(index * size..(index + 1) * size) {
        place.copy_from_slice(&value.to_le_bytes()[..size]);
    }
}

/// Narrow floats as FP32.
fn wide(element: Element, value: u64, env: FpEnv, flags: &mut Flags) -> u64 {
    match element {
        Element::Float(from @ (FloatType::Fp16 | FloatType::Bf16), _) => {
            compute::float_to_float(value, from, FloatType::Fp32, env, flags)
        }
        _ => value,
    }
}

/// A tile operation with what it works on.
struct Context {
    op: TileOp,
    element: Element,
    shape: Shape,
    scalar: u64,
    env: FpEnv,
}

impl Context {
    /// The elements of the result; `None` where the operation has none of this type.
    fn run(&self, inputs: &[Vec<u64>], out: Element, flags: &mut Flags) -> Option<Vec<u64>> {
        let Shape { columns, rows } = self.shape;
        let a = |i: usize| inputs.first().and_then(|t| t.get(i)).copied().unwrap_or(0);
        let b = |i: usize| inputs.get(1).and_then(|t| t.get(i)).copied().unwrap_or(0);
        let all = 0..columns * rows;
        let name = self.op.name;
        Some(match name {
            "TEXPANDS" => all.map(|_| self.cut(self.scalar)).collect(),
            "TRESHAPE" => all.map(a).collect(),
            "TTRANSPOSE" => all.map(|i| a(i % rows * columns + i / rows)).collect(),
            "TCOLEXPAND" => all.map(|i| a(i / columns)).collect(),
            "TROWEXPAND" => all.map(|i| a(i % columns)).collect(),
            "TGATHER" => all
                .clone()
                .map(|i| if all.contains(&(b(i) as usize)) { a(b(i) as usize) } else { 0 })
                .collect(),
            "TSCATTER" => {
                let mut values = vec![0; columns * rows];
                for i in all {
                    if let Some(place) = values.get_mut(b(i) as usize) {
                        *place = a(i);
                    }
                }
                values
            }
            "TCVT" => all.map(|i| self.convert(a(i), out, flags)).collect(),
            _ if name.starts_with("TROW") => {
                let line = |r: usize, flags: &mut Flags| {
                    self.fold(&name[4..], (0..columns).map(|c| a(r * columns + c)), flags)
                };
                (0..rows).map(|r| line(r, flags)).collect::<Option<_>>()?
            }
            _ if name.starts_with("TCOL") => {
                let line = |c: usize, flags: &mut Flags| {
                    self.fold(&name[4..], (0..rows).map(|r| a(r * columns + c)), flags)
                };
                (0..columns).map(|c| line(c, flags)).collect::<Option<_>>()?
            }
            _ => {
                let scalar = self.op.v04 >= 0x20;
                let second = |i: usize| if scalar { self.cut(self.scalar) } else { b(i) };
                let stem = if scalar { name.strip_suffix('S')? } else { name };
                all.map(|i| self.one(stem, a(i), second(i), flags)).collect::<Option<_>>()?
            }
        })
    }

    /// What a division tells through the export of its descriptor: bit 0, a divisor was zero; bit 1, a quotient
    /// overflowed; bit 2, a result is NaN.
    fn division_status(&self, inputs: &[Vec<u64>], results: &[u64]) -> u64 {
        let divisor = |i: usize| match inputs.get(1) {
            Some(tile) => tile.get(i).copied().unwrap_or(0),
            None => self.cut(self.scalar),
        };
        let dividend = |i: usize| inputs.first().and_then(|t| t.get(i)).copied().unwrap_or(0);
        let mut status = 0;
        for (i, &result) in results.iter().enumerate() {
            status |= match self.element {
                Element::Int(..) if divisor(i) == 0 => 1,
                Element::Int(bits, true) => {
                    let least = extend(1 << (bits - 1), bits, true);
                    u64::from(dividend(i) == least && divisor(i) == u64::MAX) << 1
                }
                Element::Int(..) => 0,
                Element::Float(ty, bits) => {
                    let zero = divisor(i) & (ones(bits) >> 1) == 0;
                    u64::from(zero) | u64::from(ty.is_nan(result)) << 2
                }
            };
        }
        status
    }

    /// The scalar's low bits, with the element's sign.
    fn cut(&self, value: u64) -> u64 {
        match self.element {
            Element::Int(bits, signed) => extend(value, bits, signed),
            Element::Float(_, bits) => value & ones(bits),
        }
    }

    fn fold(&self, op: &str, values: impl Iterator<Item = u64>, flags: &mut Flags) -> Option<u64> {
        let op = match op {
            "MAX" => "TMAX",
            "MIN" => "TMIN",
            _ => "TADD",
        };
        let mut total = None;
        for value in values {
            total = Some(match total {
                None => value,
                Some(sum) => self.one(op, sum, value, flags)?,
            });
        }
        Some(total.unwrap_or(0))
    }

    fn one(&self, op: &str, a: u64, b: u64, flags: &mut Flags) -> Option<u64> {
        match self.element {
            Element::Int(bits, signed) => Some(self.cut(integer(op, a, b, bits, signed)?)),
            Element::Float(FloatType::Bf16, _) => {
                let (x, y) = (
                    wide(self.element, a, self.env, flags),
                    wide(self.element, b, self.env, flags),
                );
                let value = real(op, x, y, 32, self.env, flags)?;
                Some(compute::float_to_float(
                    value,
                    FloatType::Fp32,
                    FloatType::Bf16,
                    self.env,
                    flags,
                ))
            }
            Element::Float(_, bits) => real(op, a, b, bits, self.env, flags),
        }
    }

    fn convert(&self, value: u64, to: Element, flags: &mut Flags) -> u64 {
        let env = self.env;
        match (self.element, to) {
            (Element::Float(from, _), Element::Float(to, _)) => {
                compute::float_to_float(value, from, to, env, flags)
            }
            (Element::Float(from, _), Element::Int(bits, signed)) => {
                let env = env.with_rounding(simt::arith::Rounding::TowardZero);
                compute::float_to_int(value, from, bits, signed, env, flags)
            }
            (Element::Int(_, signed), Element::Float(to, _)) => {
                compute::int_to_float(value, signed, to, env, flags)
            }
            (Element::Int(..), Element::Int(bits, signed)) => extend(value, bits, signed),
        }
    }
}

/// Integer elements: x/0 and MIN/-1 give 0.
fn integer(op: &str, a: u64, b: u64, bits: u32, signed: bool) -> Option<u64> {
    let least = extend(1 << (bits - 1), bits, true);
    Some(match op {
        "TADD" => a.wrapping_add(b),
        "TSUB" => a.wrapping_sub(b),
        "TMUL" => a.wrapping_mul(b),
        "TDIV" if signed && a == least && b == u64::MAX => 0,
        "TDIV" => compute::divide(a, b, bits, signed).0,
        "TMAX" => alu(Alu::Max, a, b, bits, !signed),
        "TMIN" => alu(Alu::Min, a, b, bits, !signed),
        "TAND" => a & b,
        "TOR" => a | b,
        "TXOR" => a ^ b,
        "TSHL" => a << (b % u64::from(bits)),
        "TSHR" => alu(if signed { Alu::Sra } else { Alu::Srl }, a, b, bits, !signed),
        "TRELU" => alu(Alu::Max, a, 0, bits, !signed),
        "TPRELU" => {
            if compute::holds(Cmp::Lt, signed, 0, a) {
                a
            } else {
                a.wrapping_mul(b)
            }
        }
        _ => return None,
    })
}

/// Float elements.
fn real(op: &str, a: u64, b: u64, bits: u32, env: FpEnv, flags: &mut Flags) -> Option<u64> {
    let mut apply = |op, x, y| float_op(op, bits, x, y, 0, env, flags);
    Some(match op {
        "TADD" => apply(Float::Add, a, b),
        "TSUB" => apply(Float::Sub, a, b),
        "TMUL" => apply(Float::Mul, a, b),
        "TDIV" => apply(Float::Div, a, b),
        "TMAX" => apply(Float::Max, a, b),
        "TMIN" => apply(Float::Min, a, b),
        "TRELU" => apply(Float::Max, a, 0),
        "TPRELU" => {
            let positive = apply(Float::Compare(Cmp::Lt, false), 0, a) != 0;
            if positive { a } else { apply(Float::Mul, a, b) }
        }
        "TEXP" => apply(Float::Exp, a, 0),
        "TLOG" => logarithm(a, bits, env, flags),
        "TSQRT" => apply(Float::Sqrt, a, 0),
        "TRSQRT" => {
            let root = apply(Float::Sqrt, a, 0);
            apply(Float::Recip, root, 0)
        }
        "TRECIP" => apply(Float::Recip, a, 0),
        _ => return None,
    })
}

/// The natural logarithm by libm's binary64, rounded to the format.
fn logarithm(a: u64, bits: u32, env: FpEnv, flags: &mut Flags) -> u64 {
    let format = match bits {
        64 => FloatType::Fp64,
        32 => FloatType::Fp32,
        _ => FloatType::Fp16,
    };
    let x = compute::float_to_float(a, format, FloatType::Fp64, env, flags);
    let value = libm::log(f64::from_bits(x));
    let value = if value.is_nan() { 0x7ff8_0000_0000_0000 } else { value.to_bits() };
    compute::float_to_float(value, FloatType::Fp64, format, env, flags)
}
