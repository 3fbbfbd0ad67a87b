//! Programs over buffers at known places.

#![allow(dead_code, reason = "each test file takes what it needs")]

pub(crate) mod elf;

use isa::testing::Rng;
use linx::{Launch, Linx, Options, Program, State, TileOps, Trap};
use simt::machine::{Machine, Step};
use simt::memory::{Addr, MemoryMap, Permission};

/// Where buffer 0 lies; the others follow, [`SPAN`] bytes apart.
pub(crate) const BASE: u64 = 0x200_0000;
/// Distance of buffers.
pub(crate) const SPAN: u64 = 0x10_0000;
/// Bytes of a buffer.
pub(crate) const SIZE: u64 = 0x4000;

/// Assembles.
pub(crate) fn assembled(source: &str, tile_ops: TileOps) -> isa::asm::Image {
    linx::assemble(isa::FileId::default(), source, tile_ops).unwrap_or_else(|errors| {
        let list: Vec<&str> = errors.iter().map(|d| d.message.as_str()).collect();
        panic!("{}\n{source}", list.join("; "))
    })
}

/// Runs a program whose `a0`, `a1`, ... are the places of buffers with these bytes; the rest of
/// each buffer is 0.
pub(crate) fn run(source: &str, buffers: &[Vec<u8>], options: Options) -> (State, Option<Trap>) {
    run_with(source, buffers, options, TileOps::V04)
}

/// As [`run`], in either numbering of tile operations.
pub(crate) fn run_with(
    source: &str,
    buffers: &[Vec<u8>],
    options: Options,
    tile_ops: TileOps,
) -> (State, Option<Trap>) {
    let program = Program::from_image(&assembled(source, tile_ops), tile_ops).unwrap();
    let mut memory = MemoryMap::new();
    let mut arguments = Vec::new();
    for (place, bytes) in (BASE..).step_by(SPAN as usize).zip(buffers) {
        memory.map_at("buffer", Addr(place), SIZE, Permission::ReadWrite).unwrap();
        memory.host_write(Addr(place), bytes).unwrap();
        arguments.push(place);
    }
    let machine = Linx { tile_ops };
    let launch = Launch { memory, arguments, options, ..Launch::default() };
    let mut state = machine.launch(&program, launch).unwrap();
    let trap = match machine.run_unobserved(&program, &mut state, 1_000_000) {
        Step::Done => None,
        Step::Fault(fault) => Some(fault.cause),
        other => panic!("{other:?}"),
    };
    (state, trap)
}

/// The first bytes of a buffer.
pub(crate) fn bytes(state: &State, buffer: u64, length: usize) -> Vec<u8> {
    let mut out = vec![0; length];
    state.memory.read_bytes(Addr(BASE + buffer * SPAN), &mut out).unwrap();
    out
}

/// The first 64-bit words of a buffer.
pub(crate) fn words(state: &State, buffer: u64, count: usize) -> Vec<u64> {
    let all = bytes(state, buffer, 8 * count);
    all.chunks(8).map(|c| u64::from_le_bytes(c.try_into().unwrap())).collect()
}

/// Bytes of words.
pub(crate) fn packed(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// Lanes of a group.
pub(crate) const LANES: usize = 64;

/// Numbers of many sizes and signs, the awkward ones among them.
pub(crate) fn numbers(seed: u64) -> Vec<u64> {
    const EDGES: [u64; 12] = [
        0,
        1,
        u64::MAX,
        1 << 63,
        (1 << 63) - 1,
        1 << 31,
        0x7fff_ffff,
        0xffff_ffff,
        0xffff_ffff_8000_0000,
        0x80,
        0x8000,
        0x7f,
    ];
    let mut random = Rng::new(seed);
    let mut one = |lane: usize| {
        let bits = random.bits();
        match (lane + seed as usize) % 3 {
            0 => EDGES[bits as usize % EDGES.len()],
            1 => bits,
            _ => bits >> (bits % 60),
        }
    };
    (0..LANES).map(&mut one).collect()
}

/// Runs a body on one group of 64 lanes with `a`, `b`, `c` in `vt#1`, `vu#1`, `vm#1` (64 bits
/// each); gives what it pushed last on `vn`, in 64 bits, and the state.
pub(crate) fn lanes(body: &str, a: &[u64], b: &[u64], c: &[u64]) -> (Vec<u64>, State) {
    let source = format!(
        "_start: BSTART.MSEQ 0
         B.TEXT body
         B.IOR [a0,a1,a2],[s0]
         B.IOR [a3,a4],[s1]
         C.B.DIMI 64, ->lb0
         C.BSTART.STD
         c.movi 0, ->a0
         ebreak 0
         body: v.ldi.brg [ri0, lc0<<3, 0], ->vt.d
         v.ldi.brg [ri1, lc0<<3, 0], ->vu.d
         v.ldi.brg [ri2, lc0<<3, 0], ->vm.d
         {body}
         v.xori zero.ud, -1, ->p
         v.sdi.brg vn#1.ud, [ri3, lc0<<3, 0]
         C.BSTOP"
    );
    let buffers = [packed(a), packed(b), packed(c), Vec::new(), Vec::new()];
    let (state, trap) = run(&source, &buffers, Options::default());
    assert_eq!(trap, None, "{body}");
    (words(&state, 3, LANES), state)
}
