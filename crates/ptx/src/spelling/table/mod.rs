//! The forms: one row for each opcode and group of types that takes the same modifiers and
//! operands.
//!
//! A row names the opcode, its types, the kinds of modifiers that it needs and may have, its
//! operands, and the operation that it becomes. Source: PTX ISA 9.1, chapter 9; where the manual is
//! silent, the behaviour of `ptxas` 13.5. A new opcode that the kernel IR has takes one row here.

use ir::Op;
use ir::mods::{Flag, Flags};

mod bulk;
mod float;
mod integer;
mod matrix;
mod mbarrier;
mod memory;
mod moves;
mod multimem;
mod rules;
mod sets;
mod tensor;
mod texture;
mod video;
mod warp;
mod wgmma;

use super::Spelled;
use super::kind::{Kind, Kinds};
use crate::ast::Type;

/// The type that an operand is read or written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Val {
    /// The first type.
    T,
    /// The second type.
    T2,
    /// An integer of twice the width of the first type.
    Wide,
    /// A predicate.
    P,
    /// A predicate, perhaps with `!`.
    PNot,
    /// 32 bits.
    B32,
    /// 64 bits.
    B64,
    /// An integer constant.
    Imm,
}

/// An operand of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg {
    /// A destination.
    D(Val),
    /// A destination that may be `_`.
    Ds(Val),
    /// A destination, with `|p` for a second one that is a predicate.
    Dp(Val),
    /// A destination with a second one that must be there.
    Dpp(Val),
    /// A source.
    S(Val),
    /// A source that may be left out.
    O(Val),
    /// `[address]`
    A,
    /// As many sources or destinations as the vector modifier says.
    V,
    /// Anything: the special rule checks it.
    Any,
    /// Any number of operands; the special rule checks them.
    Rest,
}

/// Forms that are more than one operation with its operands in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// `mov`, with packing, unpacking, addresses and special registers.
    Mov,
    /// `ld`, `ldu`
    Ld,
    /// `st`
    St,
    /// `atom`
    Atom,
    /// `red`
    Red,
    /// `multimem`
    Multimem,
    /// `cp.async`
    Copy,
    /// `cp.async.commit_group` and the like
    CopyGroup,
    /// `add.cc` and the like: the operation, and whether it reads the carry flag.
    Carry(Op, bool),
    /// `createpolicy`
    Policy,
    /// Barriers in memory.
    Mbarrier,
    /// Bulk copies.
    Bulk,
    /// Tensor copies.
    Tensor,
    /// `tensormap.replace`
    ReplaceField,
    /// `tensormap.cp_fenceproxy`
    CopyMap,
    /// `st.async` and `red.async`
    AsyncStore,
    /// `tex` and `tld4`
    Texture,
    /// `txq` and `suq`
    TextureQuery,
    /// `suld`, `sust` and `sured`
    Surface,
    /// Fences between proxies.
    ProxyFence,
    /// Video instructions.
    Video,
    /// `bra`
    Bra,
    /// `brx.idx`
    Brx,
    /// `call`
    Call,
    /// `ret`
    Ret,
    /// `exit`
    Exit,
    /// `mma` and `wmma.mma`
    Mma,
    /// `ldmatrix`
    LdMatrix,
    /// `stmatrix`
    StMatrix,
    /// `wmma.load`
    WmmaLoad,
    /// `wmma.store`
    WmmaStore,
    /// `wgmma`
    Wgmma,
    /// `setmaxnreg`
    RegisterCount,
    /// Takes an issue and does nothing.
    Nop,
}

/// The target of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// One operation, operands in order.
    Op(Op),
    /// See [`Special`].
    Special(Special),
}

/// One row.
#[derive(Debug)]
pub struct Form {
    /// The first word.
    pub opcode: &'static str,
    /// Number of types that are written.
    pub types: usize,
    sets: [&'static [Type]; 4],
    shapes: &'static [&'static str],
    /// Kinds that must be there.
    pub required: Kinds,
    /// Kinds that may be there, in order of preference for words that belong to several.
    pub optional: &'static [Kind],
    /// Required kinds in order of preference.
    needs: &'static [Kind],
    /// Whether cache hints may be there.
    pub hints: bool,
    /// The operands.
    pub args: &'static [Arg],
    /// Its target.
    pub target: Target,
    /// Flags that the operation gets.
    pub flags: Flags,
    /// The operation's type where none is written.
    pub ir_ty: Option<ir::Ty>,
    /// Further rules for the modifiers, in the order in which they are reported.
    rules: [Option<Rule>; 2],
    /// PTX version from which on it is there.
    pub ptx: (u32, u32),
    /// Target from which on it is there.
    pub sm: u32,
}

/// A rule for modifiers that are each right by themselves.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Whether it holds.
    pub holds: fn(&Spelled) -> bool,
    /// The rule in words.
    pub text: &'static str,
}

impl Form {
    const fn new(opcode: &'static str, target: Target, args: &'static [Arg]) -> Self {
        Self {
            opcode,
            types: 0,
            sets: [&[]; 4],
            shapes: &[],
            required: Kinds::of(&[]),
            optional: &[],
            needs: &[],
            hints: false,
            args,
            target,
            flags: Flags::NONE,
            ir_ty: None,
            rules: [None; 2],
            ptx: (1, 0),
            sm: 0,
        }
    }

    const fn ty(mut self, types: &'static [Type]) -> Self {
        self.sets[self.types] = types;
        self.types += 1;
        self
    }

    const fn shapes(mut self, shapes: &'static [&'static str]) -> Self {
        self.shapes = shapes;
        self
    }

    const fn need(mut self, kinds: &'static [Kind]) -> Self {
        self.required = Kinds::of(kinds);
        self.needs = kinds;
        self
    }

    const fn opt(mut self, kinds: &'static [Kind]) -> Self {
        self.optional = kinds;
        self
    }

    const fn hints(mut self) -> Self {
        self.hints = true;
        self
    }

    const fn flag(mut self, flag: Flag) -> Self {
        self.flags = self.flags.with(flag);
        self
    }

    const fn reads(mut self, ty: ir::Ty) -> Self {
        self.ir_ty = Some(ty);
        self
    }

    /// Sets the rule of a row, in place of an earlier one.
    const fn rule(mut self, holds: fn(&Spelled) -> bool, text: &'static str) -> Self {
        self.rules[0] = Some(Rule { holds, text });
        self
    }

    /// Adds a second rule, which is reported only if the first one holds.
    const fn then_rule(mut self, holds: fn(&Spelled) -> bool, text: &'static str) -> Self {
        self.rules[1] = Some(Rule { holds, text });
        self
    }

    const fn since(mut self, major: u32, minor: u32, sm: u32) -> Self {
        self.ptx = (major, minor);
        self.sm = sm;
        self
    }

    /// The types possible at a position.
    #[must_use]
    pub fn type_set(&self, position: usize) -> &'static [Type] {
        self.sets.get(position).copied().unwrap_or(&[])
    }

    /// Returns the further rules for the modifiers.
    pub fn rules(&self) -> impl Iterator<Item = Rule> {
        self.rules.into_iter().flatten()
    }

    /// All kinds that it takes, in order of preference.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> {
        self.needs.iter().chain(self.optional).copied()
    }

    /// The words of a kind that it takes.
    #[must_use]
    pub fn words(&self, kind: Kind) -> &'static [&'static str] {
        if kind == Kind::MatrixShape { self.shapes } else { kind.words() }
    }

    /// Returns how far a number of operands is from one that it takes.
    pub(super) fn count_distance(&self, operands: usize) -> usize {
        if self.args.contains(&Arg::Rest) {
            return 0;
        }
        let most = self.args.len();
        let least = most - self.args.iter().filter(|a| matches!(a, Arg::O(_))).count();
        operands.saturating_sub(most).max(least.saturating_sub(operands))
    }

    /// Returns whether the number of operands alone tells it from another form, for some modifiers.
    #[must_use]
    pub fn differs_by_count(&self, other: &Self) -> bool {
        let alike = self.opcode == other.opcode
            && self.sets == other.sets
            && self.shapes == other.shapes
            && self.required == other.required;
        alike && self.args.len() != other.args.len()
    }
}

/// All forms, in the order in which they are tried.
pub fn all_forms() -> impl Iterator<Item = &'static Form> {
    let all = [
        moves::ROWS,
        integer::ROWS,
        video::ROWS,
        float::ROWS,
        memory::ROWS,
        multimem::ROWS,
        mbarrier::ROWS,
        bulk::ROWS,
        tensor::ROWS,
        texture::ROWS,
        warp::ROWS,
        matrix::ROWS,
        wgmma::ROWS,
    ];
    all.into_iter().flatten()
}

/// The forms of an opcode; empty for one without any.
#[must_use]
pub fn forms(opcode: &str) -> Vec<&'static Form> {
    all_forms().filter(|f| f.opcode == opcode).collect()
}
