//! Instructions with slots for operands, from the front end's table of forms.
//!
//! The texts are those of [`ptx::testing::instructions`]. Nothing here depends on what an engine
//! does with an instruction; whether it needs an address, a member mask or a convergent warp
//! follows from the PTX ISA.

use ptx::Type;
use ptx::spelling::{Arg, Form, Kind, Special, Target, Val};

/// A class of interchangeable registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Pred,
    B16,
    B32,
    B64,
    B128,
}

impl Class {
    /// Returns the class of a register of the examples: `b32_4`, `pred0`, `f16x2_1`.
    fn of(name: &str) -> Option<Self> {
        let word = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
        Some(match word {
            "pred" => Self::Pred,
            "b8" | "u8" | "s8" | "b16" | "u16" | "s16" | "f16" => Self::B16,
            "b32" | "u32" | "s32" | "f32" | "f16x2" => Self::B32,
            "b64" | "u64" | "s64" | "f64" => Self::B64,
            "b128" => Self::B128,
            _ => return None,
        })
    }
}

/// A slot of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// A register that is written; whether it may be `_`.
    Dest(Class, bool),
    /// A register that is written, with a predicate.
    DestAndPred(Class),
    /// A value that is read, and the type of a constant in its place.
    Source(Class, Option<Type>),
    /// The member mask of a collective.
    Members,
    /// A barrier's number.
    Barrier,
    /// Registers in braces that are written.
    Dests(Vec<Class>),
    /// Registers in braces that are read.
    Sources(Vec<Class>),
    /// An address in brackets; `global` if it must be in global memory although the instruction
    /// names no state space.
    Address { global: bool },
    /// Bytes between the rows of a matrix.
    Stride,
    /// Metadata of a sparse matrix: whether its elements have 32 bits.
    Metadata { wide: bool },
    /// A register with a sign before it, or a byte or half-word selector after it: the sign, the
    /// class, the selector, and whether it is written.
    Selected(&'static str, Class, String, bool),
    /// Fixed text.
    Text(String),
}

/// The requirements of an instruction on its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Needs {
    /// No requirements.
    Nothing,
    /// All threads of the block reach it together.
    Block,
    /// All 32 lanes of each warp reach it together.
    Warp,
}

/// Groups of instructions, which are chosen with different frequencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// A function of registers.
    Compute,
    /// One that reads or writes the carry flag.
    Carry,
    /// Loads, stores and copies.
    Memory,
    /// Atomic operations in memory.
    Atomic,
    /// Shuffles, votes and the like.
    Collective,
    /// Barriers of a block.
    Barrier,
    /// Matrix operations of a warp.
    Matrix,
    /// Instructions without a result, and the rest.
    Other,
}

/// An instruction with slots for operands.
#[derive(Clone, Debug)]
pub struct Template {
    /// The opcode with modifiers and types.
    pub name: String,
    /// The first word of its name.
    pub opcode: &'static str,
    pub(crate) slots: Vec<Slot>,
    /// Its group.
    pub group: Group,
    /// Its requirements.
    pub needs: Needs,
    /// The state space that it names, if any.
    pub space: Option<&'static str>,
    /// Whether it writes memory.
    pub writes: bool,
    /// Bytes of an access; its address is a multiple of this.
    pub size: u64,
    /// Whether it is chosen rarely, because the fast engine declines a kernel with such an access.
    pub seldom: bool,
}

/// Opcodes that are statements of their own, end the launch, or would wait forever.
const LEFT_OUT: &[&str] =
    &["bra", "brx", "call", "ret", "exit", "trap", "brkpt", "alloca", "wgmma"];

/// Opcodes that accept an arbitrary address; others interpret the memory there, as barriers do.
const WITH_ADDRESS: &[&str] = &[
    "ld",
    "ldu",
    "st",
    "atom",
    "red",
    "cp",
    "ldmatrix",
    "stmatrix",
    "wmma",
    "prefetch",
    "prefetchu",
    "applypriority",
    "discard",
];

/// Returns all instructions of kernels, in the table's order.
pub(crate) fn templates() -> Vec<Template> {
    of(&ptx::testing::instructions())
}

/// Those of some forms, with a text of each.
pub(crate) fn of(forms: &[(&'static Form, String)]) -> Vec<Template> {
    forms.iter().filter_map(|(form, text)| template(form, text)).collect()
}

impl Template {
    /// Whether what it reads must not be written during the launch.
    pub(crate) fn reads_constants(&self) -> bool {
        self.opcode == "ldu" || self.words().any(|word| word == "nc")
    }

    /// Modifiers and types.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.name.split('.').skip(1)
    }
}

fn template(form: &Form, text: &str) -> Option<Template> {
    let text = text.strip_suffix(';')?;
    let (name, operands) = text.split_once(' ')?;
    let words: Vec<&str> = name.split('.').skip(1).collect();
    if LEFT_OUT.contains(&form.opcode) || words.contains(&"arrive") {
        return None;
    }
    let operands = split(operands);
    let space = words.iter().find_map(|w| SPACES.iter().copied().find(|s| s == w));
    let group = group(form);
    // The table lists the state spaces of all accesses together.
    let changed = group == Group::Atomic || form.opcode == "st";
    let shared = ["global", "shared", "shared::cta", "shared::cluster"];
    let reached = |s: &str| shared.contains(&s) || s == "local" && group == Group::Memory;
    if changed && space.is_some_and(|s| !reached(s)) {
        return None;
    }
    let mut slots = slots(form, &operands, &words, group)?;
    let addresses = slots.iter().any(|s| matches!(s, Slot::Address { .. }));
    if addresses && !WITH_ADDRESS.contains(&form.opcode) {
        return None;
    }
    if words.contains(&"sync") && group == Group::Collective {
        let members = slots.iter_mut().rev().find(|s| matches!(s, Slot::Source(Class::B32, _)))?;
        *members = Slot::Members;
    }
    Some(Template {
        name: name.to_owned(),
        opcode: form.opcode,
        slots,
        group,
        needs: match group {
            Group::Barrier => Needs::Block,
            Group::Matrix => Needs::Warp,
            _ => Needs::Nothing,
        },
        space,
        writes: matches!(form.opcode, "st" | "atom" | "red" | "cp" | "stmatrix")
            || words.contains(&"store"),
        size: size(form, &words, &operands),
        seldom: group == Group::Atomic
            && words.iter().any(|w| ["b128", "v2", "v4", "v8"].contains(w)),
    })
}

const SPACES: &[&str] = &[
    "const",
    "global",
    "local",
    "param",
    "shared",
    "shared::cta",
    "shared::cluster",
    "param::entry",
    "param::func",
];

fn group(form: &Form) -> Group {
    match form.target {
        Target::Special(Special::Carry(..)) => Group::Carry,
        Target::Special(Special::Ld | Special::St | Special::Copy) => Group::Memory,
        Target::Special(Special::Atom | Special::Red) => Group::Atomic,
        Target::Special(
            Special::Mma
            | Special::LdMatrix
            | Special::StMatrix
            | Special::WmmaLoad
            | Special::WmmaStore,
        ) => Group::Matrix,
        Target::Special(Special::Mov) => Group::Compute,
        Target::Special(_) => Group::Other,
        Target::Op(ir::Op::MovMatrix) => Group::Matrix,
        Target::Op(ir::Op::Bar) => Group::Barrier,
        Target::Op(_) => match form.opcode {
            "shfl" | "vote" | "match" | "redux" | "elect" | "activemask" | "bar" => {
                Group::Collective
            }
            "fence" | "membar" | "nanosleep" => Group::Other,
            _ => Group::Compute,
        },
    }
}

/// Returns the bytes of an access.
fn size(form: &Form, words: &[&str], operands: &[&str]) -> u64 {
    let element = words.iter().rev().find_map(|w| match *w {
        "b8" | "u8" | "s8" => Some(1),
        "b16" | "u16" | "s16" | "f16" | "bf16" => Some(2),
        "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" => Some(4),
        "b64" | "u64" | "s64" | "f64" => Some(8),
        "b128" => Some(16),
        _ => None,
    });
    let count = words.iter().find_map(|w| match *w {
        "v2" => Some(2),
        "v4" => Some(4),
        "v8" => Some(8),
        _ => None,
    });
    match form.opcode {
        "cp" => operands.get(2).and_then(|bytes| bytes.parse().ok()).unwrap_or(16),
        "ldmatrix" | "stmatrix" => 16,
        "applypriority" | "discard" => 128,
        _ => element.unwrap_or(4) * count.unwrap_or(1),
    }
}

/// Splits operands at the top level.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut out) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            ',' if depth == 0 => {
                out.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    out.push(text[from..].trim());
    out.retain(|operand| !operand.is_empty());
    out
}

/// Returns the slot of each operand, from the form's list of operands.
fn slots(form: &Form, operands: &[&str], words: &[&str], group: Group) -> Option<Vec<Slot>> {
    let fixed = form.args.iter().filter(|a| !matches!(a, Arg::O(_))).count();
    let mut spare = operands.len().saturating_sub(fixed);
    let mut args = form.args.iter().filter(|arg| match arg {
        Arg::O(_) if spare > 0 => {
            spare -= 1;
            true
        }
        Arg::O(_) => false,
        _ => true,
    });
    let mut out = Vec::new();
    for (k, operand) in operands.iter().enumerate() {
        let arg = args.next();
        let slot = slot(form, arg.copied(), k, operand, group)?;
        out.push(typed(slot, words));
    }
    Some(out)
}

/// Drops the type of a constant unless the instruction itself has that type.
fn typed(slot: Slot, words: &[&str]) -> Slot {
    match slot {
        Slot::Source(class, Some(ty)) if !words.contains(&ty.word()) => Slot::Source(class, None),
        slot => slot,
    }
}

fn slot(form: &Form, arg: Option<Arg>, k: usize, operand: &str, group: Group) -> Option<Slot> {
    if let Some(inner) = operand.strip_prefix('[') {
        return Some(Slot::Address { global: form.opcode == "cp" && inner.starts_with("%b64") });
    }
    if let Some(list) = operand.strip_prefix('{') {
        let classes = list.trim_end_matches('}').split(',');
        let classes = classes.map(class).collect::<Option<Vec<_>>>()?;
        let written = k == 0;
        return Some(if written { Slot::Dests(classes) } else { Slot::Sources(classes) });
    }
    if let Some((dest, _)) = operand.split_once('|') {
        return Some(Slot::DestAndPred(class(dest)?));
    }
    let Some(class) = class(operand) else {
        let text = || Slot::Text(operand.to_owned());
        return Some(selected(operand, k == 0).unwrap_or_else(text));
    };
    let in_matrix = matches!(form.target, Target::Special(Special::WmmaLoad | Special::WmmaStore));
    let sparse = form.kinds().any(|k| matches!(k, Kind::Sparse | Kind::SparseOrdered));
    Some(match arg {
        Some(Arg::D(_) | Arg::Dp(_)) => Slot::Dest(class, false),
        Some(Arg::Ds(_)) => Slot::Dest(class, true),
        Some(Arg::S(Val::B32)) if group == Group::Barrier => Slot::Barrier,
        // A number of threads, for a barrier.
        Some(Arg::O(Val::B32)) if group == Group::Barrier => return None,
        Some(Arg::S(Val::T) | Arg::O(Val::T)) => {
            let constant = form.type_set(0).len();
            Slot::Source(class, (constant > 0).then_some(written_type(operand)))
        }
        Some(Arg::V) if k == 0 && form.opcode != "st" && form.opcode != "red" => {
            Slot::Dest(class, false)
        }
        Some(Arg::Any) if k == 0 => Slot::Dest(class, false),
        _ if in_matrix => Slot::Stride,
        _ if sparse => Slot::Metadata { wide: form.type_set(1).contains(&Type::Tf32) },
        _ => Slot::Source(class, None),
    })
}

/// Parses the operand of a video instruction: `-%s32_0.h1`.
fn selected(operand: &str, written: bool) -> Option<Slot> {
    let (sign, register) = match operand.strip_prefix('-') {
        Some(register) => ("-", register),
        None => ("", operand),
    };
    let (register, selector) = match register.split_once('.') {
        Some((register, selector)) => (register, format!(".{selector}")),
        None => (register, String::new()),
    };
    Some(Slot::Selected(sign, class(register)?, selector, written))
}

fn class(operand: &str) -> Option<Class> {
    Class::of(operand.trim().strip_prefix('%')?)
}

/// Returns the declared type of an example's register.
fn written_type(operand: &str) -> Type {
    let word = operand.trim_start_matches('%').split('_').next().unwrap_or_default();
    [
        Type::S16,
        Type::U16,
        Type::B16,
        Type::S32,
        Type::U32,
        Type::B32,
        Type::F32,
        Type::S64,
        Type::U64,
        Type::B64,
        Type::F64,
    ]
    .into_iter()
    .find(|ty| ty.word() == word)
    .unwrap_or(Type::F16)
}
