//! Kernels that execute instructions in each of the ways that engines distinguish, and store every
//! register that an instruction names.

use super::form::{Form, Threads};
use super::values::value;
use ir::testing::Rng;
use std::fmt::Write as _;

/// Capacity in threads of each row of values and results.
pub(super) const THREADS: u64 = 160;
/// Rows of values of each size.
pub(super) const ROWS: u64 = 24;
/// Bytes of global memory, and of shared memory, for an instruction that accesses memory.
pub(super) const GLOBAL: u64 = THREADS * 32;
pub(super) const SHARED: u64 = 96 * 32;
/// Most forms of a kernel.
pub(super) const PIECES: u64 = 8;
/// Bytes of the parameter that holds uniform values.
pub(super) const UNIFORM: u64 = 512;
/// What the last row of results holds for each thread that has reached the end.
pub(super) const END: u64 = 0x00c0_ffee;

/// The lanes with which a path reaches an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExecMode {
    /// All lanes of the warp; in the last warp, those that were launched.
    All,
    /// All lanes, with uniform operands.
    Scalar,
    /// Under a guard.
    Guarded,
    /// In a branch that some lanes take.
    Divergent,
    /// In a branch that one lane takes.
    OneLane,
    /// In a loop that lanes leave one after another.
    Loop,
    /// The same, with uniform operands: results differ by the iteration in which lanes leave.
    Uniform,
}

/// An instruction in a kernel: the way it is executed, and its text.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) mode: ExecMode,
    pub(super) line: String,
}

/// A kernel, and the layout of its results.
#[derive(Debug)]
pub(super) struct Kernel {
    pub(super) text: String,
    /// Threads per block; there are two blocks.
    pub(super) block: u32,
    pub(super) items: Vec<Item>,
    /// By row of results, the item, and the name of the register or other value.
    pub(super) results: Vec<(usize, String)>,
    /// By part of global memory, the item.
    pub(super) parts: Vec<usize>,
}

/// The text of one instruction: before the split, in its place, after the merge.
#[derive(Default)]
pub(super) struct Piece {
    pub(super) before: String,
    pub(super) line: String,
    pub(super) after: String,
}

/// The choice of lanes for one instruction.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    pub(super) mode: ExecMode,
    /// The predicate that is true in these lanes, with `!` if it is false in them; empty for all
    /// lanes.
    guard: &'static str,
}

/// Predicates: constant masks of lanes, the last with one lane; and one that is uniform in a block.
const GUARDS: [&str; 5] = ["%g0", "%g1", "%g2", "%g3", "%g4"];
const NEGATED: [&str; 5] = ["!%g0", "!%g1", "!%g2", "!%g3", "!%g4"];

pub(super) struct Builder {
    pub(super) rng: Rng,
    pub(super) declared: String,
    body: String,
    pub(super) block: u32,
    /// Whether the carry flag is stored. If it is not, its value after the last instruction is
    /// dead.
    asks_for_carry: bool,
    items: Vec<Item>,
    results: Vec<(usize, String)>,
    parts: Vec<usize>,
}

/// The ways for instructions that any lanes can execute.
pub(super) const EXEC_MODES: &[ExecMode] = &[
    ExecMode::All,
    ExecMode::All,
    ExecMode::Scalar,
    ExecMode::Guarded,
    ExecMode::Guarded,
    ExecMode::Divergent,
    ExecMode::OneLane,
    ExecMode::Loop,
    ExecMode::Uniform,
];

/// Returns the kernel of forms that the same threads can execute, in some ways.
pub(super) fn kernel(forms: &[&Form], modes: &[ExecMode], seed: u64) -> Kernel {
    let mut rng = Rng::new(seed);
    let any = forms.iter().all(|f| f.threads() == Threads::Any);
    let block = if any && rng.one_in(2) { 80 } else { 64 };
    let mut b = Builder {
        rng,
        declared: String::new(),
        body: String::new(),
        block,
        asks_for_carry: true,
        items: Vec::new(),
        results: Vec::new(),
        parts: Vec::new(),
    };
    let whole = [ExecMode::All, ExecMode::All];
    let modes = if any { modes } else { &whole };
    for (round, &mode) in modes.iter().enumerate() {
        b.section(forms, mode, round);
    }
    b.finish()
}

impl ExecMode {
    /// Whether operands are uniform.
    pub(super) fn is_uniform(self) -> bool {
        matches!(self, Self::Scalar | Self::Uniform)
    }
}

impl Builder {
    /// Emits all forms in one way.
    fn section(&mut self, forms: &[&Form], mode: ExecMode, round: usize) {
        self.asks_for_carry = !mode.is_uniform() || self.rng.one_in(2);
        let branch = if mode == ExecMode::OneLane { 3 } else { self.rng.below(3) };
        let mut pieces = Vec::new();
        for (index, form) in forms.iter().enumerate() {
            let guard = self.rng.below(5);
            let guard = match mode {
                ExecMode::Guarded if self.rng.one_in(2) => NEGATED[guard],
                ExecMode::Guarded => GUARDS[guard],
                ExecMode::Divergent | ExecMode::OneLane => GUARDS[branch],
                ExecMode::All | ExecMode::Scalar | ExecMode::Loop | ExecMode::Uniform => "",
            };
            let lanes = Lanes { mode, guard };
            pieces.push(self.piece(form, index, lanes, round));
            // An atomic whose result is discarded.
            if form.opcode == "atom"
                && !form.operands[0].starts_with('{')
                && mode != ExecMode::OneLane
            {
                let mut sink = (*form).clone();
                "_".clone_into(&mut sink.operands[0]);
                pieces.push(self.piece(&sink, index, lanes, round));
            }
        }
        let id = self.items.len();
        let text = |of: fn(&Piece) -> &str| pieces.iter().map(of).collect::<String>();
        let (before, lines, after) = (text(|p| &p.before), text(|p| &p.line), text(|p| &p.after));
        self.body += &match mode {
            ExecMode::All | ExecMode::Scalar | ExecMode::Guarded => {
                pieces.iter().flat_map(|p| [&*p.before, &p.line, &p.after]).collect()
            }
            ExecMode::Divergent | ExecMode::OneLane => {
                format!("{before}@!%g{branch} bra S{id};\n{lines}S{id}:\n{after}")
            }
            ExecMode::Loop | ExecMode::Uniform => format!(
                "{before}and.b32 %n, %ln, 3;\nL{id}:\nactivemask.b32 %lm;\n{lines}\
                 setp.eq.u32 %more, %n, 0;\n@!%more sub.u32 %n, %n, 1;\n@!%more bra L{id};\n{after}"
            ),
        };
    }

    /// Emits one instruction.
    fn piece(&mut self, form: &Form, region: usize, lanes: Lanes, round: usize) -> Piece {
        let id = self.items.len();
        self.items.push(Item { mode: lanes.mode, line: String::new() });
        let mut piece = Piece::default();
        let mut operands = form.operands.clone();
        self.members(form, &mut operands, &mut piece, lanes);
        self.address(form, &mut operands, &mut piece, region);
        self.values(form, &mut operands, &mut piece, (lanes.mode, round));
        if form.has_carry() {
            self.carry(&mut piece, lanes.mode);
        }
        let guard = if lanes.mode == ExecMode::Guarded {
            format!("@{} ", lanes.guard)
        } else {
            String::new()
        };
        let line = form.with(&operands);
        let _ = writeln!(piece.line, "{guard}{line}");
        if form.opcode == "cp" && !form.has("wait_all") {
            piece.line += "cp.async.wait_all;\n";
        }
        self.items[id].line = format!("{guard}{line}");
        piece
    }

    /// Sets the carry flag by an addition before the instruction, and reads it by one after it
    /// unless it is dead.
    fn carry(&mut self, piece: &mut Piece, mode: ExecMode) {
        let load = if mode.is_uniform() { "ld.param" } else { "ld.global" };
        // Registers of their own: the analysis of a register covers all its writes.
        let [x, y] = [(); 2].map(|()| self.register("b32"));
        for register in [&x, &y] {
            let from = match mode {
                mode if mode.is_uniform() => self.uniform(),
                _ => format!("%data+{}", self.row(32)),
            };
            let _ = writeln!(piece.before, "{load}.u32 {register}, [{from}];");
        }
        let _ = writeln!(piece.before, "add.cc.u32 {x}, {x}, {y};");
        if self.asks_for_carry {
            let at = self.result("CC.CF");
            let _ = writeln!(piece.after, "addc.u32 {x}, 0, 0;\nst.global.u32 [%out+{at}], {x};");
        }
    }

    /// Sets the member mask to the lanes that reach the instruction.
    fn members(&mut self, form: &Form, operands: &mut [String], piece: &mut Piece, lanes: Lanes) {
        let Some(last) = operands.last_mut().filter(|_| form.has_members()) else { return };
        let register = self.register("b32");
        let _ = match lanes.guard {
            "" => writeln!(piece.before, "mov.b32 {register}, %am;"),
            guard => writeln!(piece.before, "vote.sync.ballot.b32 {register}, {guard}, %am;"),
        };
        *last = match lanes.mode {
            ExecMode::Loop | ExecMode::Uniform => "%lm".to_owned(),
            ExecMode::All if self.block == 64 && self.rng.one_in(2) => "0xffffffff".to_owned(),
            _ => register,
        };
    }

    /// Declares a new register.
    pub(super) fn register(&mut self, ty: &str) -> String {
        let name = format!("%x{}", self.declared.len());
        let _ = writeln!(self.declared, ".reg .{ty} {name};");
        name
    }

    /// Returns the parameter address of a random uniform value.
    pub(super) fn uniform(&mut self) -> String {
        format!("pu+{}", 8 * self.rng.below(UNIFORM as usize / 8))
    }

    /// Returns the offset, from the thread's first value, of a random row of values of `bits` bits.
    pub(super) fn row(&mut self, bits: u32) -> u64 {
        let class = match bits {
            0..=16 => 0,
            32 => 1,
            _ => 2,
        };
        (class * ROWS + self.rng.below(ROWS as usize) as u64) * THREADS * 8
    }

    /// Adds a row for results of the last item; returns its offset from the thread's first result.
    pub(super) fn result(&mut self, what: &str) -> u64 {
        self.results.push((self.items.len() - 1, what.to_owned()));
        (self.results.len() as u64 - 1) * THREADS * 8
    }

    /// Adds a part of global memory for the last item; returns its beginning.
    pub(super) fn part(&mut self) -> u64 {
        self.parts.push(self.items.len() - 1);
        (self.parts.len() as u64 - 1) * GLOBAL
    }

    fn finish(mut self) -> Kernel {
        let end = self.result("the end");
        let mut masks = [self.rng.value() as u32, 0xffff, 0x8001_0001, 1 << self.rng.below(16)];
        masks[1] = [0xffff, 0xaaaa_aaaa, 0x7fff_ffff][self.rng.below(3)];
        let mut guards = String::new();
        for (i, mask) in masks.iter().enumerate() {
            let _ = writeln!(
                guards,
                "mov.b32 %t0, {mask};\nshr.u32 %t0, %t0, %ln;\nand.b32 %t0, %t0, 1;\n\
                 setp.ne.u32 %g{i}, %t0, 0;"
            );
        }
        let constants: Vec<String> =
            (0..64).map(|_| format!("{:#x}", value(64, &mut self.rng))).collect();
        let text = format!(
            ".version 9.5\n.target sm_100a\n.address_size 64\n\
             .const .align 32 .b64 cc[64] = {{{}}};\n\
             .visible .entry k(.param .u64 p_out, .param .u64 p_data, .param .u64 p_mem, \
             .param .align 32 .b8 pu[{UNIFORM}]) {{\n\
             .shared .align 128 .b8 sm[{}];\n.local .align 128 .b8 lm[{}];\n\
             .reg .b64 %out, %data, %mem, %w0, %w1;\n\
             .reg .b32 %th, %ln, %ct, %gt, %t0, %n, %lm, %am;\n\
             .reg .pred %more, %g<5>;\n{}\
             ld.param.u64 %out, [p_out];\nld.param.u64 %data, [p_data];\n\
             ld.param.u64 %mem, [p_mem];\n\
             mov.u32 %th, %tid.x;\nmov.u32 %ln, %laneid;\nmov.u32 %ct, %ctaid.x;\n\
             mad.lo.u32 %gt, %ct, {}, %th;\nmul.wide.u32 %w0, %gt, 8;\n\
             add.u64 %out, %out, %w0;\nadd.u64 %data, %data, %w0;\n\
             setp.eq.u32 %g4, %ct, 0;\nactivemask.b32 %am;\n{guards}{}\
             mov.b32 %t0, {END};\nst.global.u32 [%out+{end}], %t0;\nret;\n}}\n",
            constants.join(", "),
            PIECES * SHARED,
            PIECES * 64,
            self.declared,
            self.block,
            self.body,
        );
        let Self { block, items, results, parts, .. } = self;
        Kernel { text, block, items, results, parts }
    }
}
