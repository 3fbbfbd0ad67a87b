//! `.param` variables of calls, as registers.
//!
//! A scalar is one register. An aggregate is a row of chunks: as many bytes each as its alignment,
//! at most four, and smaller ones for what is left. So words of four bytes, of which most
//! aggregates are made, are moves, and those of eight take one operation that packs or unpacks.
//! Caller and callee find the same chunks from their own declarations. An access of a whole chunk
//! is a move; parts of a chunk are unpacked or packed.

use ir::{LaneReg, RegTy};
use isa::Span;

use super::emit::Code;
use super::variable::Layout;
use crate::ast::Type;

/// Largest aggregate that is passed in registers.
const MAX_BYTES: u64 = 4096;

/// Some bytes of a parameter, and the register that holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Bytes from the start of the parameter.
    pub(super) offset: u64,
    /// 1, 2, 4, 8 or 16 bytes.
    pub(super) bytes: u64,
    pub(super) reg: LaneReg,
}

/// A parameter.
#[derive(Clone, Debug)]
pub(super) struct ParamVar {
    pub(super) chunks: Vec<Chunk>,
    /// Bytes.
    pub(super) size: u64,
    /// Its declaration.
    pub(super) span: Span,
}

impl ParamVar {
    /// A parameter with new registers; `None` if it is too large.
    pub(super) fn new(
        code: &mut Code,
        name: &str,
        layout: Layout,
        vector: Option<u8>,
        span: Span,
    ) -> Option<Self> {
        let scalar = !layout.array && vector.is_none();
        let sizes = chunk_sizes(layout, vector)?;
        let chunks = sizes
            .into_iter()
            .map(|(offset, bytes)| {
                let name = if scalar { name.to_owned() } else { format!("{name}.{offset}") };
                let reg = code.register(name, register_of(bytes));
                Chunk { offset, bytes, reg }
            })
            .collect();
        Some(Self { chunks, size: layout.size, span })
    }

    /// An old-style parameter: registers of the program.
    pub(super) fn of_registers(regs: Vec<LaneReg>, ty: Type, span: Span) -> Self {
        let bytes = u64::from(ty.bits().div_ceil(8));
        let chunks: Vec<_> = regs
            .into_iter()
            .enumerate()
            .map(|(i, reg)| Chunk { offset: i as u64 * bytes, bytes, reg })
            .collect();
        Self { size: chunks.len() as u64 * bytes, chunks, span }
    }

    /// Adds its registers to a list.
    pub(super) fn registers_into(&self, out: &mut Vec<LaneReg>) {
        out.extend(self.chunks.iter().map(|c| c.reg));
    }

    /// The chunk that holds a byte, by index.
    pub(super) fn chunk_at(&self, offset: u64) -> Option<usize> {
        let index = self.chunks.partition_point(|c| c.offset <= offset).checked_sub(1)?;
        let chunk = &self.chunks[index];
        (offset < chunk.offset + chunk.bytes).then_some(index)
    }
}

/// Offsets and sizes in bytes of a parameter's chunks; `None` if it is too large.
pub(super) fn chunk_sizes(layout: Layout, vector: Option<u8>) -> Option<Vec<(u64, u64)>> {
    if layout.size > MAX_BYTES {
        return None;
    }
    let scalar = !layout.array && vector.is_none();
    let largest = if scalar { layout.size } else { u64::from(layout.align).min(4) };
    let mut chunks = Vec::new();
    let mut offset = 0;
    while offset < layout.size {
        let mut bytes = largest.max(1);
        while offset + bytes > layout.size {
            bytes /= 2;
        }
        chunks.push((offset, bytes));
        offset += bytes;
    }
    Some(chunks)
}

/// A register of some bytes.
pub(super) fn register_of(bytes: u64) -> RegTy {
    match bytes {
        1 => RegTy::B8,
        2 => RegTy::B16,
        4 => RegTy::B32,
        8 => RegTy::B64,
        _ => RegTy::B128,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(size: u64, align: u32, array: bool) -> Vec<(u64, u64)> {
        let layout = Layout { ty: Type::B8, element: 1, size, align, array };
        let param = ParamVar::new(&mut Code::new(), "p", layout, None, Span::default()).unwrap();
        param.chunks.iter().map(|c| (c.offset, c.bytes)).collect()
    }

    #[test]
    fn chunks_cover_a_parameter_once() {
        assert_eq!(chunks(4, 4, false), [(0, 4)]);
        assert_eq!(chunks(16, 16, false), [(0, 16)]);
        assert_eq!(chunks(16, 16, true), [(0, 4), (4, 4), (8, 4), (12, 4)]);
        assert_eq!(chunks(12, 4, true), [(0, 4), (4, 4), (8, 4)]);
        assert_eq!(chunks(13, 8, true), [(0, 4), (4, 4), (8, 4), (12, 1)]);
        assert_eq!(chunks(3, 1, true), [(0, 1), (1, 1), (2, 1)]);
        assert_eq!(chunks(0, 8, true), []);
    }
}
