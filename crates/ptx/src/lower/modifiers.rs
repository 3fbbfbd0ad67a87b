//! Modifiers: the choice of the form, and the IR's modifiers for it.

use std::rc::Rc;

use ir::mods::{AtomOp, Barrier, Flag, Kind as IrKind, Order, Precision, Scope, Space as IrSpace};
use ir::{Mods, Op};
use isa::Diagnostic;
use smallvec::SmallVec;

use super::{Failed, Lowerer, Lowering};
use crate::ast::{Instruction, Name, Type};
use crate::spelling::{self, Form, Kind, Misspelling, Spelled, families, family};

/// No opcode takes nearly as many.
const MAX_MODIFIERS: usize = 32;

impl Lowerer<'_> {
    /// Returns the form of an instruction; errors in its modifiers are reported, at each place that
    /// has them.
    pub(super) fn spelled(&mut self, instruction: &Instruction) -> Lowering<Rc<Spelled>> {
        let tree = self.tree;
        let modifiers = &tree.modifiers[instruction.modifiers];
        let mut key: SmallVec<[crate::Symbol; 8]> = SmallVec::new();
        key.push(instruction.opcode.symbol);
        key.extend(modifiers.iter().map(|m| m.symbol));
        let key = (key, instruction.operands.len());
        if let Some(Some(known)) = self.spellings.get(&key) {
            return Ok(Rc::clone(known));
        }
        if modifiers.len() > MAX_MODIFIERS {
            let message = format!("an instruction with {} modifiers", modifiers.len());
            let span = instruction.opcode.span;
            return self.error("ptx::modifier", message, span, "no opcode takes so many");
        }
        let forms = self.forms(instruction.opcode);
        if forms.is_empty() {
            return Err(self.no_form(instruction));
        }
        let words: SmallVec<[(&str, Option<Type>); 8]> =
            modifiers.iter().map(|m| (tree.name(m.symbol), Type::from_symbol(m.symbol))).collect();
        match spelling::spell_counted(&forms, &words, instruction.operands.len()) {
            Ok(spelled) => {
                self.gate(&spelled, instruction);
                let spelled = Rc::new(spelled);
                self.spellings.insert(key, Some(Rc::clone(&spelled)));
                Ok(spelled)
            }
            Err(wrong) => {
                let name = tree.name(instruction.opcode.symbol);
                if spelling::later_form(name, words.iter().map(|(word, _)| *word)).is_some() {
                    return Err(self.no_form(instruction));
                }
                for misspelling in &wrong {
                    self.misspelled(instruction, misspelling);
                }
                Err(Failed)
            }
        }
    }

    fn forms(&mut self, opcode: Name) -> Rc<[&'static Form]> {
        let tree = self.tree;
        let forms = self
            .forms
            .entry(opcode.symbol)
            .or_insert_with(|| spelling::forms(tree.name(opcode.symbol)).into());
        Rc::clone(forms)
    }

    /// Warns, once a form, if the file's version or target does not have it.
    fn gate(&mut self, spelled: &Spelled, instruction: &Instruction) {
        let form = spelled.form;
        let old_version = form.ptx > self.version && self.version.0 != u32::MAX;
        let old_target = form.sm > self.sm && self.sm != u32::MAX;
        let at = std::ptr::from_ref(form);
        let gone = form.flags.has(Flag::NoMask) && self.needs_masks();
        if !(old_version || old_target || gone) || self.gated.contains(&at) {
            return;
        }
        self.gated.push(at);
        let text = self.spelling_of(instruction);
        if gone {
            let name = self.tree.name(instruction.opcode.symbol);
            self.diagnostics.push(
                Diagnostic::warning("ptx::no-sync", format!("`{text}` names no lanes"))
                    .at(instruction.opcode.span, "no device from sm_70 on has it, from PTX 6.4 on")
                    .note("here it is for the lanes that come to it together")
                    .help(format!("write `{name}.sync` with a mask of lanes")),
            );
            return;
        }
        let needs = if old_version {
            format!("PTX {}.{}", form.ptx.0, form.ptx.1)
        } else {
            format!("sm_{}", form.sm)
        };
        let with = match instruction.operands.len() {
            operands if spelled.by_count => format!(" with {operands} operands"),
            _ => String::new(),
        };
        self.diagnostics.push(
            Diagnostic::warning("ptx::too-new", format!("`{text}`{with} needs {needs} or later"))
                .at(instruction.opcode.span, "newer than the file says it is")
                .help("raise `.version` or `.target`"),
        );
    }

    /// Returns whether the target's devices have clusters.
    pub(super) fn has_clusters(&self) -> bool {
        self.sm != u32::MAX && self.sm >= 90
    }

    /// Returns whether operations on a warp's lanes have to name them: from PTX 6.4 and sm_70 on.
    fn needs_masks(&self) -> bool {
        let (version, sm) = (self.version, self.sm);
        version.0 != u32::MAX && version >= (6, 4) && sm != u32::MAX && sm >= 70
    }

    /// Opcode and modifiers as written.
    pub(super) fn spelling_of(&self, instruction: &Instruction) -> String {
        let mut text = self.tree.name(instruction.opcode.symbol).to_owned();
        for modifier in &self.tree.modifiers[instruction.modifiers] {
            text.push('.');
            text.push_str(self.tree.name(modifier.symbol));
        }
        text
    }

    fn no_form(&mut self, instruction: &Instruction) -> Failed {
        let tree = self.tree;
        let name = tree.name(instruction.opcode.symbol);
        let at = instruction.opcode.span;
        if let Some(known) = family(name) {
            let text = self.spelling_of(instruction);
            // The existing forms of an opcode may be of an earlier tier than the one requested.
            let words = tree.modifiers[instruction.modifiers].iter().map(|m| tree.name(m.symbol));
            let label = match spelling::later_form(name, words) {
                Some(later) => {
                    format!("known PTX, of sm_{} and later: {}", later.sm, later.tier.about())
                }
                None => format!("known PTX: {}", known.tier.about()),
            };
            let diagnostic =
                Diagnostic::error("ptx::unsupported", format!("`{text}` is not supported yet"))
                    .at(at, label);
            return self.fail(diagnostic);
        }
        let diagnostic =
            Diagnostic::error("ptx::unknown-opcode", format!("unknown opcode `{name}`"))
                .at(at, "no PTX instruction");
        let names = families().into_iter().map(|f| f.name);
        self.fail(match isa::suggest::nearest(name, names) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic,
        })
    }

    fn misspelled(&mut self, instruction: &Instruction, wrong: &Misspelling) {
        let tree = self.tree;
        let name = tree.name(instruction.opcode.symbol);
        let modifiers = &tree.modifiers[instruction.modifiers];
        let opcode = instruction.opcode;
        let at = |index: &usize| modifiers.get(*index).copied().unwrap_or(opcode);
        let diagnostic = match wrong {
            Misspelling::Unknown { index, possible } => {
                let modifier = at(index);
                let word = tree.name(modifier.symbol);
                let diagnostic =
                    Diagnostic::error("ptx::modifier", format!("`{name}` takes no `.{word}` here"))
                        .at(modifier.span, "not one of its modifiers, or not supported");
                match isa::suggest::nearest(word, possible.iter().copied()) {
                    Some(near) => diagnostic.help(format!("did you mean `.{near}`?")),
                    None if possible.is_empty() => diagnostic,
                    None => diagnostic.note(format!("it takes {}", listed(possible))),
                }
            }
            Misspelling::Shape { index, possible } => {
                let modifier = at(index);
                let word = tree.name(modifier.symbol);
                let message = format!("`{name}` has no shape `.{word}` with these modifiers");
                let diagnostic = Diagnostic::error("ptx::modifier", message)
                    .at(modifier.span, "not one of its shapes")
                    .note(format!("its shapes are {}", listed(possible)));
                match nearest_shape(word, possible) {
                    Some(near) => diagnostic.help(format!("did you mean `.{near}`?")),
                    None => diagnostic,
                }
            }
            Misspelling::Twice { index, what } => {
                let message = format!("`{name}` has {what} twice");
                Diagnostic::error("ptx::modifier", message).at(at(index).span, "the second")
            }
            Misspelling::Missing { what } => {
                Diagnostic::error("ptx::modifier", format!("`{name}` needs {what}"))
                    .at(opcode.span, "missing here")
            }
            Misspelling::MissingOneOf { what } => {
                let message = format!("`{name}` needs {}", what.join(", or "));
                Diagnostic::error("ptx::modifier", message).at(opcode.span, "missing here")
            }
            Misspelling::Rule { needed } => {
                let text = self.spelling_of(instruction);
                let message = format!("the modifiers of `{text}` do not go together");
                Diagnostic::error("ptx::modifier", message)
                    .at(opcode.span, format!("needed: {needed}"))
            }
            Misspelling::Type { index, possible } => {
                let modifier = at(index);
                let word = tree.name(modifier.symbol);
                let message = format!("`{name}` does not work on `.{word}` with these modifiers");
                Diagnostic::error("ptx::instruction-type", message)
                    .at(modifier.span, "not one of its types")
                    .note(format!("its types are {}", listed(possible)))
            }
            Misspelling::TypeMissing { possible } => {
                Diagnostic::error("ptx::instruction-type", format!("`{name}` needs a type"))
                    .at(opcode.span, "missing here")
                    .note(format!("its types are {}", listed(possible)))
            }
            Misspelling::TypeTwice { index } => {
                let message = format!("`{name}` has too many types");
                Diagnostic::error("ptx::instruction-type", message)
                    .at(at(index).span, "one too many")
            }
        };
        self.diagnostics.push(diagnostic);
    }
}

/// The shape of matrices whose sizes are nearest to those of a word.
fn nearest_shape(word: &str, possible: &[&'static str]) -> Option<&'static str> {
    let wanted = spelling::shape_of(word)?;
    let distance = |shape: &&str| {
        let sizes = spelling::shape_of(shape).unwrap_or_default();
        sizes.iter().zip(wanted).map(|(a, b)| u64::from(a.abs_diff(b))).sum::<u64>()
    };
    possible.iter().copied().min_by_key(distance)
}

/// `.a, .b and .c`
fn listed(words: &[&str]) -> String {
    let words: Vec<_> = words.iter().map(|w| format!("`.{w}`")).collect();
    words.join(", ")
}

/// The space of a word.
pub(super) fn space(word: &str) -> Option<IrSpace> {
    Some(match word {
        "const" => IrSpace::Const,
        "global" => IrSpace::Global,
        "local" => IrSpace::Local,
        "param" | "param::entry" | "param::func" => IrSpace::Param,
        "shared" | "shared::cta" | "shared::cluster" => IrSpace::Shared,
        _ => return None,
    })
}

/// The scope of a word.
pub(super) fn scope(word: &str) -> Option<Scope> {
    if word == "gl" { Some(Scope::Gpu) } else { Scope::from_word(word) }
}

/// The IR's modifiers for an operation.
pub(super) fn ir_mods(s: &Spelled, op: Op) -> Mods {
    s.mods(op, || made_mods(s, op))
}

fn made_mods(s: &Spelled, op: Op) -> Mods {
    let row = op.info();
    let mut mods = Mods::default();
    let first = |kinds: &[Kind]| kinds.iter().find_map(|k| s.word(*k));
    let rounding = first(&[Kind::Rounding, Kind::Integral, Kind::Away, Kind::Nearest]);
    let between_halves =
        op == Op::Cvt && matches!(s.types[..], [Type::F16, Type::Bf16] | [Type::Bf16, Type::F16]);
    let rounding = rounding.or(between_halves.then_some("rn"));
    let own = [
        (IrKind::Rounding, rounding),
        (IrKind::Cmp, s.word(Kind::Cmp).map(|w| if w == "nan" { "isnan" } else { w })),
        (IrKind::BoolOp, s.word(Kind::AndOr)),
    ];
    let alike = IrKind::ALL.iter().map(|&kind| (kind, s.word(Kind::Ir(kind))));
    for (kind, word) in own.into_iter().chain(alike) {
        if let Some(word) = word.filter(|_| row.kinds.has(kind)) {
            mods.set_word(kind, word);
        }
    }
    mods.precision = match () {
        () if s.has(Kind::Approx) => Some(Precision::Approx),
        () if s.has(Kind::Full) => Some(Precision::Full),
        () => None,
    };
    mods.space = first(&[Kind::Space, Kind::GlobalSpace]).and_then(space);
    let orders =
        [Kind::Order, Kind::AtomOrder, Kind::FenceOrder, Kind::ArriveOrders, Kind::TestOrder];
    mods.order = first(&orders).and_then(Order::from_word);
    mods.scope = first(&[Kind::Scope, Kind::Level]).and_then(scope);
    if s.has(Kind::Level) {
        mods.order = Some(Order::SeqCst);
    }
    if op == Op::Fence {
        mods.order = mods.order.or(Some(Order::AcqRel));
    }
    if op == Op::Bar {
        mods.barrier = barrier(s);
    }
    mods.flags = s.form.flags;
    for (kind, flag) in [
        (Kind::Ftz, Flag::Ftz),
        (Kind::Sat, Flag::Sat),
        (Kind::SatFinite, Flag::SatFinite),
        (Kind::Relu, Flag::Relu),
        (Kind::Nan, Flag::Nan),
        (Kind::XorSign, Flag::XorSignAbs),
        (Kind::ShiftAmt, Flag::ShiftAmt),
        (Kind::Aligned, Flag::Aligned),
    ] {
        if s.has(kind) && row.flags.has(flag) {
            mods.flags = mods.flags.with(flag);
        }
    }
    if s.word(Kind::Space) == Some("shared::cluster") && row.flags.has(Flag::Cluster) {
        mods.flags = mods.flags.with(Flag::Cluster);
    }
    if s.word(Kind::ShiftMode) == Some("wrap") {
        mods.flags = mods.flags.with(Flag::Wrap);
    }
    if op == Op::Dp2a && s.word(Kind::LoHi) == Some("hi") {
        mods.flags = mods.flags.with(Flag::Upper);
    }
    mods
}

fn barrier(s: &Spelled) -> Option<Barrier> {
    Some(match (s.word(Kind::Barrier)?, s.word(Kind::RedOp)) {
        ("arrive", _) => Barrier::Arrive,
        ("red", Some("popc")) => Barrier::RedPopc,
        ("red", Some("and")) => Barrier::RedAnd,
        ("red", _) => Barrier::RedOr,
        _ => Barrier::Sync,
    })
}

/// Returns whether an atomic operation takes two values.
pub(super) fn is_cas(mods: &Mods) -> bool {
    mods.atom == Some(AtomOp::Cas)
}
