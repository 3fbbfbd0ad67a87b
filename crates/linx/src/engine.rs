//! The tile engine: tile memory (TLOAD, TSTORE, TMOV), the matrix unit (TMATMUL, ACCCVT) and the 43
//! tile operations.
//!
//! Tiles are row-major: LB0 valid elements a row, LB1 rows; the fractal layouts are not defined
//! numerically and are refused. Everything is checked before the first effect. Float elements are
//! FP64, FP32, FP16 or BF16; integers 8 to 64 bits.

mod element;
mod operation;

use simt::arith::Flags;
use simt::memory::{AccessKind, Addr};

use crate::action::Float;
use crate::compute::{self, FloatType, float_op, ones};
use crate::header::{Header, Kind};
use crate::names::TileOp;
use crate::state::State;
use crate::tile::Accumulator;
use crate::trap::{Detail, Family, Trap};
use element::{Element, read, wide, write};
use operation::Context;

/// A shape: columns, rows.
#[derive(Clone, Copy)]
struct Shape {
    columns: usize,
    rows: usize,
}

impl State {
    /// Executes the block of a valid header; `at` is the instruction that ends it.
    pub(crate) fn execute_engine(&mut self, header: &Header, at: u64) -> Result<(), Trap> {
        self.changes += 1;
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
        // The mode A2V would read the accumulator, whose layout in a tile depends on ACCCVT.
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

    /// ACC = A(m x k) * B(k x n), or ACC + A * B; m, n, k = LB0, LB1, LB2. Floats accumulate in
    /// FP32 (FP64 if they are), integers in 64 bits.
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

    /// The accumulator as a tile: (value + zero point) in integers, value * scale in floats, scale
    /// as FP32 bits.
    fn convert_accumulator(
        &mut self,
        header: &Header,
        element: Element,
        at: u64,
    ) -> Result<(), Trap> {
        Self::plain_layout(header, at)?;
        let (hand, size) = Self::output(header, at)?;
        let acc = self.tiles.acc.clone();
        if acc.is_empty() {
            let words = "the accumulator holds nothing: no TMATMUL has run";
            return Err(Trap::format(at, Family::Iot, Detail::Invalid, words));
        }
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
