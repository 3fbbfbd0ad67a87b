//! What runs the warps of all blocks of a grid, and the data of the program.
//!
//! All labels begin with the kernel's name and a point. The launch block lies at `NAME.launch`: the
//! extents of the grid and of a block, and bytes of dynamic shared memory, which are those that the
//! program is made for; then words of the program. The parameters follow at `NAME.params`, each
//! behind a label `NAME.param.PARAMETER`. Blocks run one after another, their warps too. A warp
//! that gives way leaves its place in its frame, and goes on in the next round of the warps of its
//! block. If no waiting warp advances in a round, the program ends.

use super::emit::Emit;
use super::emit::Window::Same;
use super::live::Home;
use super::select::{ALIVE, FIRST_THREAD, RESUME, Select};
use crate::Missing;
use crate::legal::Launch;
use crate::variables::needed;
use ir::module::{Var, VarId};
use ir::{Function, LocId, Module};
use std::fmt::Write;

/// Offset of the parameters in the launch block.
pub(super) const PARAMS: u32 = 64;
/// Words of the program in the launch block: the block's number in the grid, the number of blocks,
/// threads and warps of a block, the warp in hand, whether a warp of the round goes on.
pub(super) const CTA: u32 = 32;
const CTAS: u32 = 36;
const THREADS: u32 = 40;
const WARPS: u32 = 44;
const WARP: u32 = 48;
const AGAIN: u32 = 52;
/// Where the data of kernels lies.
pub(super) const DATA: u32 = 0x1000_0000;
/// Most threads of a block.
pub(super) const MOST_THREADS: u32 = 1024;
/// Most blocks of a grid: their numbers are positive words.
const MOST_BLOCKS: u32 = i32::MAX as u32;
/// Most bytes of a block's memory.
pub(super) const MOST_BYTES: u32 = 64 << 20;
/// Most bytes of all frames.
const MOST_FRAMES: u32 = 16 << 20;

/// Fails if a launch is larger than the machine's limits.
pub(super) fn check(launch: &Launch) -> Result<(), Missing> {
    let refuse = |what: String| Err(Missing { what, loc: NOWHERE });
    let (threads, blocks) = (launch.threads(), launch.blocks());
    if !(1..=MOST_THREADS).contains(&threads) {
        return refuse(format!("blocks of {threads} threads (1 to {MOST_THREADS})"));
    }
    if !(1..=MOST_BLOCKS).contains(&blocks) {
        return refuse(format!("grids of {blocks} blocks (1 to {MOST_BLOCKS})"));
    }
    Ok(())
}

/// A launch, and what its warps need.
pub(super) struct Grid {
    launch: Launch,
    warps: u32,
    /// Whether warps give way to each other.
    turns: bool,
    /// The variable of a warp that gets on, and the memory of a block, with its bytes.
    pub(super) progress: Option<VarId>,
    shared: Option<(VarId, u64)>,
}

impl Grid {
    pub(super) fn new(module: &Module, launch: &Launch, lanes: u32, turns: bool) -> Self {
        let find = |name: &str| {
            let at = module.vars.iter().position(|var| var.name == format!("lowered.{name}"))?;
            Some((VarId(at as u32), module.vars[at].size))
        };
        let warps = launch.threads().div_ceil(lanes);
        let progress = find("progress").map(|found| found.0);
        Self { launch: *launch, warps, turns, progress, shared: find("shared") }
    }
}

/// The symbol of a variable.
pub(super) fn variable(var: VarId) -> String {
    format!("var{}", var.0)
}

/// Code before the first block of the kernel, up to its first instruction.
pub(super) fn prologue(select: &mut Select<'_>, grid: &Grid) {
    let lanes = select.lanes;
    let emit = &mut select.emit;
    emit.label("start");
    emit.scalar(format!("svsetvl x0, {lanes}"));
    emit.constant(3, 0x100);
    emit.once("csrw svdst, x3");
    emit.address(7, "launch", 0);
    emit.label("cta");
    clear_shared(emit, grid);
    emit.scalar(format!("sw x0, {WARP}(x7)"));
    if grid.turns {
        emit.label("begin");
        frame(select);
        begin(select);
        let emit = &mut select.emit;
        emit.address(4, "body", 0);
        emit.scalar(format!("sd x4, {}(x2)", Select::word_offset(RESUME)));
        next_warp(emit, "begin");
        round(select, grid);
    } else {
        select.emit.label("turn");
        select.emit.address(2, "frames", 2048);
        begin(select);
    }
    select.emit.label("body");
    select.load_word(4, ALIVE);
    select.emit.once("pmlow.wr 1, x4");
    select.emit.bank(1);
    unwritten(select);
}

/// A round of the warps of a block: each goes on where it gave way.
fn round(select: &mut Select<'_>, grid: &Grid) {
    let emit = &mut select.emit;
    emit.label("round");
    emit.scalar(format!("sw x0, {WARP}(x7)"));
    emit.scalar(format!("sw x0, {AGAIN}(x7)"));
    if let Some(progress) = grid.progress {
        emit.address(4, &variable(progress), 0);
        emit.scalar("sw x0, 0(x4)");
    }
    emit.label("turn");
    frame(select);
    let emit = &mut select.emit;
    emit.scalar(format!("ld x4, {}(x2)", Select::word_offset(RESUME)));
    emit.branch(["beq x4, x0, ", "bne x4, x0, "], "", "next");
    emit.scalar("addi x5, x0, 1");
    emit.scalar(format!("sw x5, {AGAIN}(x7)"));
    emit.scalar("jalr x0, 0(x4)");
}

/// Shared memory begins with zeros.
fn clear_shared(emit: &mut Emit, grid: &Grid) {
    let Some((shared, bytes)) = grid.shared.filter(|shared| shared.1 > 0) else { return };
    emit.address(4, &variable(shared), 0);
    emit.constant(5, bytes as u32);
    emit.scalar("add x5, x5, x4");
    emit.label("clear");
    emit.scalar("sd x0, 0(x4)");
    emit.scalar("addi x4, x4, 8");
    emit.branch(["bltu x4, x5, ", "bgeu x4, x5, "], "", "clear");
}

/// The frame of the warp in hand.
fn frame(select: &mut Select<'_>) {
    let emit = &mut select.emit;
    emit.address(2, "frames", 2048);
    emit.scalar(format!("lw x4, {WARP}(x7)"));
    emit.address(5, "frame.bytes", 0);
    emit.scalar("lw x5, 0(x5)");
    emit.scalar("mul x4, x4, x5");
    emit.scalar("add x2, x2, x4");
}

/// The number of a warp's first thread, and its lanes.
fn begin(select: &mut Select<'_>) {
    let lanes = select.lanes;
    let emit = &mut select.emit;
    emit.scalar(format!("lw x5, {WARP}(x7)"));
    emit.scalar(format!("slli x5, x5, {}", lanes.trailing_zeros()));
    emit.scalar(format!("lw x6, {THREADS}(x7)"));
    emit.scalar("sub x6, x6, x5");
    emit.scalar(format!("addi x4, x0, {lanes}"));
    emit.scalar("minu x6, x6, x4");
    emit.scalar("addi x4, x0, 1");
    emit.scalar("sll x4, x4, x6");
    emit.scalar("addi x4, x4, -1");
    select.store_word(5, FIRST_THREAD);
    select.store_word(4, ALIVE);
}

/// Registers that are read before they are written begin with zero.
fn unwritten(select: &mut Select<'_>) {
    for reg in std::mem::take(&mut select.facts.unwritten) {
        match select.facts.home(reg) {
            Home::Slot(slot) => {
                let offset = select.slot_offset(slot);
                let (base, offset) = select.reach(2, offset);
                select.emit.lane(format!("sw x0, {offset}(x{base})"), Some(Same), Some(Same));
            }
            Home::Word(word) => select.store_word(0, word),
            _ => {}
        }
    }
}

/// Counts warps, and goes on with the next one.
fn next_warp(emit: &mut Emit, label: &str) {
    emit.scalar(format!("lw x4, {WARP}(x7)"));
    emit.scalar("addi x4, x4, 1");
    emit.scalar(format!("sw x4, {WARP}(x7)"));
    emit.scalar(format!("lw x5, {WARPS}(x7)"));
    emit.branch(["bltu x4, x5, ", "bgeu x4, x5, "], "", label);
}

/// Code behind the kernel: the next warp, round and block, and the end of the program.
pub(super) fn epilogue(emit: &mut Emit, grid: &Grid) {
    emit.label("end");
    if grid.turns {
        emit.scalar(format!("sd x0, {}(x2)", Select::word_offset(RESUME)));
        if let Some(progress) = grid.progress {
            emit.address(4, &variable(progress), 0);
            emit.scalar("addi x5, x0, 1");
            emit.scalar("sw x5, 0(x4)");
        }
        emit.label("next");
    }
    next_warp(emit, "turn");
    if grid.turns {
        if let Some(progress) = grid.progress {
            emit.address(4, &variable(progress), 0);
            emit.scalar("lw x5, 0(x4)");
            emit.scalar(format!("lw x4, {AGAIN}(x7)"));
            emit.scalar("sltu x5, x5, x4");
            emit.branch(["bne x5, x0, ", "beq x5, x0, "], "", "apart");
        }
        emit.scalar(format!("lw x4, {AGAIN}(x7)"));
        emit.branch(["bne x4, x0, ", "beq x4, x0, "], "", "round");
    }
    emit.scalar(format!("lw x4, {CTA}(x7)"));
    emit.scalar("addi x4, x4, 1");
    emit.scalar(format!("sw x4, {CTA}(x7)"));
    emit.scalar(format!("lw x5, {CTAS}(x7)"));
    emit.branch(["bltu x4, x5, ", "bgeu x4, x5, "], "", "cta");
    finish(emit, 0);
    if grid.progress.is_some() {
        emit.label("apart");
        finish(emit, super::APART);
    }
}

fn finish(emit: &mut Emit, code: u32) {
    emit.constant(10, code);
    emit.constant(17, 93);
    emit.scalar("ecall");
}

/// The data of the program.
pub(super) fn data(
    module: &Module,
    function: &Function,
    select: &Select<'_>,
    grid: &Grid,
) -> Result<String, Missing> {
    let mut out = String::new();
    let refuse = |what: String| Missing { what, loc: function.loc };
    // Writing to a string cannot fail.
    let name = |label: &str| select.emit.name(label);
    let Launch { grid: [x, y, z], block: [tx, ty, tz], shared } = grid.launch;
    let extents = format!("{x}, {y}, {z}, {tx}, {ty}, {tz}, {shared}, 0");
    let own = [0, grid.launch.blocks(), grid.launch.threads(), grid.warps, 0, 0, 0, 0];
    let own = own.map(|word| word.to_string()).join(", ");
    let _ =
        write!(out, "    .balign 64\n{}:\n    .word {extents}\n    .word {own}\n", name("launch"));
    parameters(function, &name, &mut out);
    let numbers: Vec<String> = (0..select.lanes).map(|lane| lane.to_string()).collect();
    let _ = writeln!(out, "    .balign 64\n{}:\n    .word {}", name("lanes"), numbers.join(", "));
    let bytes = frame_bytes(select);
    let frames = if grid.turns { grid.warps } else { 1 };
    let all = bytes.checked_mul(frames).filter(|&all| all <= MOST_FRAMES);
    let all = all.ok_or_else(|| {
        refuse(format!("room for {frames} frames of {bytes} bytes (at most {MOST_FRAMES} bytes)"))
    })?;
    let _ = writeln!(out, "{}:\n    .word {bytes}", name("frame.bytes"));
    let mut sum = 0u64;
    for id in needed(module, function) {
        let var = &module.vars[id.index()];
        sum = sum.saturating_add(var.size);
        if sum > u64::from(MOST_BYTES) {
            return Err(refuse(format!("room for variables (at most {MOST_BYTES} bytes)")));
        }
        contents(&name(&variable(id)), var, &mut out).map_err(refuse)?;
    }
    let _ = writeln!(out, "    .balign 64\n{}:\n    .space {all}", name("frames"));
    Ok(out)
}

/// Bytes of a warp's frame.
pub(super) fn frame_bytes(select: &Select<'_>) -> u32 {
    let end = select.slot_offset(select.most_slots) + 2048;
    (end.max(2048) as u32).next_multiple_of(64)
}

fn parameters(function: &Function, name: &dyn Fn(&str) -> String, out: &mut String) {
    let mut at = 0;
    let _ = writeln!(out, "{}:", name("params"));
    for param in function.params() {
        if param.offset > at {
            let _ =
                writeln!(out, "{}:\n    .space {}", name(&format!("pad{at}")), param.offset - at);
        }
        let _ =
            writeln!(out, "{}:\n    .space {}", name(&format!("param.{}", param.name)), param.size);
        at = param.offset + param.size;
    }
    let _ = writeln!(out, "{}:\n    .space 4", name("end.params"));
}

fn contents(label: &str, var: &Var, out: &mut String) -> Result<(), String> {
    if !var.relocs.is_empty() {
        return Err(format!("addresses in the contents of `{}`", var.name));
    }
    let _ = writeln!(out, "    .balign {}\n{label}:    # {}", var.align.max(1), var.name);
    for bytes in var.init.chunks(16) {
        let bytes: Vec<String> = bytes.iter().map(u8::to_string).collect();
        let _ = writeln!(out, "    .byte {}", bytes.join(", "));
    }
    let rest = var.size.saturating_sub(var.init.len() as u64);
    if rest > 0 {
        let _ = writeln!(out, "    .space {rest}");
    }
    Ok(())
}

/// Where nothing is known.
pub(super) const NOWHERE: LocId = LocId(0);
