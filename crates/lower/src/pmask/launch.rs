//! What runs the warps of all blocks of a grid, and the data of the program.
//!
//! All labels begin with the kernel's name and a point. The launch block lies at `NAME.launch`: the
//! extents of the grid and of a block, bytes of dynamic shared memory, then words of the program;
//! the parameters follow at `NAME.params`, each behind a label `NAME.param.PARAMETER`. Blocks run
//! one after another, their warps too. A warp that waits at a barrier leaves its place in its
//! frame, and goes on when all warps of its block have come as far or have ended: in the next
//! round.

use super::emit::Emit;
use super::emit::Window::Same;
use super::live::Home;
use super::select::{ALIVE, FIRST_THREAD, RESUME, Select};
use crate::Missing;
use ir::mods::Space;
use ir::module::{Symbol, Var, VarId};
use ir::{Function, LocId, Module, Operand};
use std::fmt::Write;

/// Offset of the parameters in the launch block.
pub(super) const PARAMS: u32 = 64;
/// Words of the program in the launch block: the block's number in the grid, threads and warps of
/// a block, the warp in hand, whether a warp of the round goes on.
const CTA: u32 = 32;
const THREADS: u32 = 44;
const WARPS: u32 = 48;
const WARP: u32 = 52;
const AGAIN: u32 = 56;
/// Where the data of kernels lies.
pub(super) const DATA: u32 = 0x1000_0000;
/// Most threads of a block.
pub(super) const MOST_THREADS: u32 = 1024;
/// Most dynamic shared memory of a block in bytes.
pub(super) const MOST_SHARED: u32 = 100 << 10;
/// Most bytes of all frames.
const MOST_FRAMES: u32 = 16 << 20;

/// The symbol of a variable.
pub(super) fn variable(var: VarId) -> String {
    format!("var{}", var.0)
}

/// Variables that a kernel names, and those whose addresses they hold.
fn used(module: &Module, function: &Function) -> Vec<VarId> {
    let insts = function.blocks.iter().flat_map(|block| &block.insts);
    let operands = insts.flat_map(|inst| &inst.operands);
    let mut out: Vec<VarId> = Vec::new();
    let add = |symbol: Symbol, out: &mut Vec<VarId>| {
        if let Symbol::Var(var) = symbol
            && !out.contains(&var)
        {
            out.push(var);
        }
    };
    for operand in operands {
        if let Operand::Symbol(symbol, _) = *operand {
            add(symbol, &mut out);
        }
    }
    let mut next = 0;
    while let Some(&var) = out.get(next) {
        next += 1;
        for reloc in module.vars.get(var.index()).map_or(&[][..], |var| &var.relocs) {
            add(reloc.symbol, &mut out);
        }
    }
    out.sort_unstable();
    out
}

/// Code before the first block of the kernel, up to its first instruction.
pub(super) fn prologue(select: &mut Select<'_>, waits: bool, shared: u32) {
    let lanes = select.lanes;
    let emit = &mut select.emit;
    emit.label("start");
    emit.scalar(format!("svsetvl x0, {lanes}"));
    emit.constant(3, 0x100);
    emit.once("csrw svdst, x3");
    emit.address(7, "launch", 0);
    for line in ["lw x4, 12(x7)", "lw x5, 16(x7)", "mul x4, x4, x5", "lw x5, 20(x7)"] {
        emit.scalar(line);
    }
    emit.scalar("mul x4, x4, x5");
    emit.scalar(format!("sw x4, {THREADS}(x7)"));
    emit.scalar(format!("addi x4, x4, {}", lanes - 1));
    emit.scalar(format!("srli x4, x4, {}", lanes.trailing_zeros()));
    emit.scalar(format!("sw x4, {WARPS}(x7)"));
    emit.label("cta");
    clear_shared(emit, shared);
    emit.scalar(format!("sw x0, {WARP}(x7)"));
    if waits {
        emit.label("begin");
        frame(select);
        begin(select);
        let emit = &mut select.emit;
        emit.address(4, "body", 0);
        emit.scalar(format!("sd x4, {}(x2)", Select::word_offset(RESUME)));
        next_warp(emit, "begin");
        emit.label("round");
        emit.scalar(format!("sw x0, {WARP}(x7)"));
        emit.scalar(format!("sw x0, {AGAIN}(x7)"));
        emit.label("turn");
        frame(select);
        let emit = &mut select.emit;
        emit.scalar(format!("ld x4, {}(x2)", Select::word_offset(RESUME)));
        emit.branch(["beq x4, x0, ", "bne x4, x0, "], "", "next");
        emit.scalar("addi x5, x0, 1");
        emit.scalar(format!("sw x5, {AGAIN}(x7)"));
        emit.scalar("jalr x0, 0(x4)");
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

/// Shared memory begins with zeros.
fn clear_shared(emit: &mut Emit, shared: u32) {
    if shared == 0 {
        return;
    }
    emit.address(4, "shared", 0);
    emit.constant(5, shared);
    emit.scalar("lw x6, 24(x7)");
    emit.scalar("add x5, x5, x6");
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
pub(super) fn epilogue(emit: &mut Emit, waits: bool) {
    emit.label("end");
    if waits {
        emit.scalar(format!("sd x0, {}(x2)", Select::word_offset(RESUME)));
        emit.label("next");
    }
    next_warp(emit, "turn");
    if waits {
        emit.scalar(format!("lw x4, {AGAIN}(x7)"));
        emit.branch(["bne x4, x0, ", "beq x4, x0, "], "", "round");
    }
    for (axis, place) in (0..3).map(|axis| (axis, CTA + 4 * axis)) {
        emit.scalar(format!("lw x4, {place}(x7)"));
        emit.scalar("addi x4, x4, 1");
        emit.scalar(format!("sw x4, {place}(x7)"));
        emit.scalar(format!("lw x5, {}(x7)", 4 * axis));
        emit.branch(["bltu x4, x5, ", "bgeu x4, x5, "], "", "cta");
        emit.scalar(format!("sw x0, {place}(x7)"));
    }
    finish(emit, 0);
    if waits {
        // Lanes of a warp are at a barrier, and others of it are elsewhere.
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
    waits: bool,
) -> Result<(String, u32), Missing> {
    let mut out = String::new();
    let refuse = |what: String| Missing { what, loc: function.loc };
    // Writing to a string cannot fail.
    let name = |label: &str| select.emit.name(label);
    let _ = write!(out, "    .balign 64\n{}:\n    .space {PARAMS}\n", name("launch"));
    parameters(function, &name, &mut out);
    let numbers: Vec<String> = (0..select.lanes).map(|lane| lane.to_string()).collect();
    let _ = writeln!(out, "    .balign 64\n{}:\n    .word {}", name("lanes"), numbers.join(", "));
    let bytes = frame_bytes(select);
    let warps = if waits { MOST_THREADS / select.lanes } else { 1 };
    let all = bytes.checked_mul(warps).filter(|&all| all <= MOST_FRAMES);
    let all = all.ok_or_else(|| refuse(format!("room for {warps} frames of {bytes} bytes")))?;
    let _ = writeln!(out, "{}:\n    .word {bytes}", name("frame.bytes"));
    let vars = used(module, function);
    for &id in &vars {
        let var = &module.vars[id.index()];
        if var.space != Space::Shared {
            contents(&name(&variable(id)), var, &mut out).map_err(refuse)?;
        }
    }
    let _ = writeln!(out, "    .balign 64\n{}:\n    .space {all}", name("frames"));
    let (shared, _) = shared(module, &vars, &name, &mut out);
    Ok((out, shared))
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

/// The region of shared memory; returns bytes of its fixed part, and whether there is any.
fn shared(
    module: &Module,
    vars: &[VarId],
    name: &dyn Fn(&str) -> String,
    out: &mut String,
) -> (u32, bool) {
    let shared =
        || vars.iter().copied().filter(|id| module.vars[id.index()].space == Space::Shared);
    let mut at = 0u64;
    let _ = writeln!(out, "    .balign 1024\n{}:", name("shared"));
    for id in shared().filter(|id| !module.vars[id.index()].dynamic) {
        let var = &module.vars[id.index()];
        let begin = at.next_multiple_of(u64::from(var.align.max(1)));
        let _ =
            writeln!(out, "    .space {}\n{}:    # {}", begin - at, name(&variable(id)), var.name);
        let _ = writeln!(out, "    .space {}", var.size);
        at = begin + var.size;
    }
    let end = at.next_multiple_of(16);
    let _ = writeln!(out, "    .space {}", end - at);
    let mut dynamic = false;
    for id in shared().filter(|id| module.vars[id.index()].dynamic) {
        let _ = writeln!(out, "{}:    # {}", name(&variable(id)), module.vars[id.index()].name);
        dynamic = true;
    }
    let room = if dynamic { MOST_SHARED } else { 8 };
    let _ = writeln!(out, "    .space {room}");
    (end as u32, end > 0 || dynamic)
}

/// Whether a kernel names shared memory, and bytes of what it declares of it.
pub(super) fn shared_bytes(module: &Module, function: &Function) -> u32 {
    let vars = used(module, function);
    let (bytes, any) = shared(module, &vars, &str::to_owned, &mut String::new());
    if any { bytes.max(8) } else { 0 }
}

/// Where nothing is known.
pub(super) const NOWHERE: LocId = LocId(0);
