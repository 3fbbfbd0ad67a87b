//! Descriptions of all forms, for the reference page.

use isa::table::Form;
use simt::arith::Cmp;

use crate::action::{
    Action, Alu, Bits, Branch, Convert, Descriptor, Float, Maintenance, Marker, Reduce, Rmw, SOp,
    Shuffle, Simt, System, Template, Test, Transfer, VOp, action,
};

/// Returns the description of a form. `index` is its place in the table.
#[must_use]
pub fn prose(index: usize, form: &Form) -> String {
    match action(index) {
        Action::Marker(marker) => self::marker(marker),
        Action::Stop => "Ends a block, a header or a kernel's body.".to_owned(),
        Action::Descriptor(what) => descriptor(what).to_owned(),
        Action::Branch(branch) => self::branch(branch),
        Action::Vector(op) => vector(op, form),
        Action::Scalar(op) => scalar(op, form),
        Action::System(op) => system(op).to_owned(),
        Action::Template(Template::MCopy) => {
            "A block of its own: copies bytes; the ranges may overlap.".to_owned()
        }
        Action::Template(Template::FEntry) => {
            "Enters a function's frame: saves a range of registers and lowers `sp`.".to_owned()
        }
        Action::Template(Template::FExit) => {
            "Leaves a function's frame: restores a range of registers and raises `sp`.".to_owned()
        }
        Action::Template(Template::FRetRa) => {
            "Leaves a function's frame and returns to what `ra` was before.".to_owned()
        }
        Action::Template(Template::FRetStk) => {
            "Leaves a function's frame and returns to the restored `ra`.".to_owned()
        }
        Action::Template(Template::MSet) => {
            "A block of its own: fills bytes with the low byte of a register.".to_owned()
        }
        Action::None(why) => format!("Encodes only: {why}."),
        Action::LegacyStop | Action::ReservedTile => String::new(),
    }
}

fn marker(marker: Marker) -> String {
    let coupled = |transfer: Transfer| match transfer {
        Transfer::Field => "and goes on as BrType says",
        Transfer::Fall => "and goes on with the next block",
        Transfer::Direct => "and goes on at the target",
        Transfer::Cond => {
            "and goes on at the target if `setc` has said so, else with the next block"
        }
        Transfer::Call => "and goes on at the target, a function; `setret` sets the return address",
        Transfer::Indirect => "and goes on where `setc.tgt` says",
        Transfer::Return => "and goes on where `setc.tgt` says, else at `ra`",
    };
    match marker {
        Marker::Coupled(transfer) => format!("Starts a scalar block, {}.", coupled(transfer)),
        Marker::FusedCall => {
            "Starts a scalar block that calls: the target, and `ra`, relative to the two halves."
                .to_owned()
        }
        Marker::Simt(simt) => {
            let (order, body) = match simt {
                Simt::Mpar => ("in any order", "may branch and access global memory"),
                Simt::Mseq => ("one after another", "may branch and access global memory"),
                Simt::Vpar => ("in any order", "is linear and accesses tiles only"),
                Simt::Vseq => ("one after another", "is linear and accesses tiles only"),
            };
            format!("Starts the header of a kernel whose groups run {order} and whose body {body}.")
        }
        Marker::Tma(_) => "Starts a block of tile memory: TLOAD, TSTORE or TMOV.".to_owned(),
        Marker::Cube(_) => {
            "Starts a block of the matrix unit: TMATMUL, TMATMUL.ACC or ACCCVT.".to_owned()
        }
        Marker::Tepl => "Starts a block that applies one of the 43 tile operations.".to_owned(),
        Marker::Fixp => "Encodes only: no operation is assigned to it.".to_owned(),
    }
}

fn descriptor(what: Descriptor) -> &'static str {
    match what {
        Descriptor::Text => "Where the kernel's body starts, relative to this descriptor.",
        Descriptor::Dim(_) => "A loop bound: a register plus an immediate.",
        Descriptor::CDim => "A loop bound from a register.",
        Descriptor::CDimI => "A loop bound from an immediate.",
        Descriptor::Ior => {
            "Scalars: sources become `ri0`, `ri1`, ... in order, the destination takes an export."
        }
        Descriptor::Iot => {
            "Tiles: sources `ta` to `td` in order, a destination with its size in a register."
        }
        Descriptor::IotI => "Tiles: sources `ta` to `td` in order, a destination with its size.",
        Descriptor::Arg => "The argument of an engine block: layout, mode or type by its number.",
        Descriptor::Attr => {
            "Attributes; DR lets rows share groups where the option `linear-groups` is `attr`."
        }
        Descriptor::Hint => "A hint without effect.",
    }
}

fn compare(cmp: Cmp, signed: bool) -> String {
    let sign = match cmp {
        Cmp::Eq => "==",
        Cmp::Ne | Cmp::Neu => "!=",
        Cmp::Lt | Cmp::Ltu => "<",
        Cmp::Ge | Cmp::Geu => ">=",
        _ => "?",
    };
    let ordered = matches!(cmp, Cmp::Lt | Cmp::Ge);
    format!("l {sign} r{}", if ordered && !signed { ", unsigned" } else { "" })
}

fn branch(branch: Branch) -> String {
    let when = match branch {
        Branch::Compare(cmp, signed) => format!("if {}", compare(cmp, signed)),
        Branch::Jump => "always".to_owned(),
        Branch::Register => "always, relative to a register".to_owned(),
        Branch::Zero => "if `p` is zero".to_owned(),
        Branch::NotZero => "if `p` is not zero".to_owned(),
    };
    format!("Branches inside a kernel's body, {when}. A target outside is E_BLOCK(EC_BFETCH).")
}

/// The right operand of a form.
fn right(form: &Form) -> &'static str {
    let has = |name: &str| form.fields.iter().any(|f| f.name.starts_with(name));
    match () {
        () if has("SrcR") && has("SrcRType") => "r (after its modifier and shift)",
        () if has("SrcR") => "r",
        () if has("simm") => "the signed immediate",
        () if has("uimm") => "the unsigned immediate",
        () => "the immediate",
    }
}

fn alu(op: Alu, r: &str) -> String {
    match op {
        Alu::Add => format!("d = l + {r}"),
        Alu::Sub => format!("d = l - {r}"),
        Alu::And => format!("d = l & {r}"),
        Alu::Or => format!("d = l | {r}"),
        Alu::Xor => format!("d = l ^ {r}"),
        Alu::Sll => format!("d = l << {r}, modulo the width"),
        Alu::Srl => format!("d = l >> {r}, modulo the width, zeros shifted in"),
        Alu::Sra => format!("d = l >> {r}, modulo the width, the sign shifted in"),
        Alu::Mul => format!("d = the low bits of l * {r}"),
        Alu::Max => format!("d = the larger of l and {r}"),
        Alu::Min => format!("d = the smaller of l and {r}"),
    }
}

fn bits(op: Bits) -> &'static str {
    match op {
        Bits::Bxu => "d = the field of N bits from bit M on, zero-extended",
        Bits::Bxs => "d = the field of N bits from bit M on, sign-extended",
        Bits::Bic => "d = l with N bits from bit M on cleared",
        Bits::Bis => "d = l with N bits from bit M on set",
        Bits::Bcnt => "d = how many bits of the field are set",
        Bits::Clz => "d = leading zeros of the field",
        Bits::Ctz => "d = trailing zeros of the field",
        Bits::Rev => "d = the field with its bytes reversed; 0 if it is not whole bytes",
    }
}

fn test(op: Test, r: &str, bitwise: bool) -> String {
    match op {
        Test::Order(cmp, signed) => compare(cmp, signed).replace(" r", &format!(" {r}")),
        Test::And if bitwise => format!("l & {r} is not 0"),
        Test::Or if bitwise => format!("l | {r} is not 0"),
        Test::And => format!("l and {r} are not 0"),
        Test::Or => format!("l or {r} is not 0"),
    }
}

fn float(op: Float) -> String {
    match op {
        Float::Add => "d = l + r".to_owned(),
        Float::Sub => "d = l - r".to_owned(),
        Float::Mul => "d = l * r".to_owned(),
        Float::Div => "d = l / r".to_owned(),
        Float::Madd => "d = l * r + a, rounded once".to_owned(),
        Float::Msub => "d = l * r - a, rounded once".to_owned(),
        Float::Nmadd => "d = -(l * r) - a, rounded once".to_owned(),
        Float::Nmsub => "d = -(l * r) + a, rounded once".to_owned(),
        Float::Sqrt => "d = the square root of l, correctly rounded".to_owned(),
        Float::Recip => "d = 1 / l, correctly rounded".to_owned(),
        Float::Exp => "d = e to the power of l, within one ulp".to_owned(),
        Float::Abs => "d = l with its sign cleared".to_owned(),
        Float::Class => "d = the class of l, one of ten bits".to_owned(),
        Float::Max => "d = the larger of l and r; of a NaN and a number the number".to_owned(),
        Float::Min => "d = the smaller of l and r; of a NaN and a number the number".to_owned(),
        Float::Compare(cmp, signalling) => {
            let nan = if signalling { "; a quiet NaN is invalid" } else { "" };
            format!("d = 1 if {}, else 0{nan}", compare(cmp, true))
        }
    }
}

const SIZES: [&str; 4] = ["byte", "half-word", "word", "double word"];

fn rmw(op: Rmw) -> &'static str {
    match op {
        Rmw::Add => "adds",
        Rmw::And => "ands",
        Rmw::Or => "ors",
        Rmw::Xor => "exclusive-ors",
        Rmw::Max => "takes the maximum with",
        Rmw::Min => "takes the minimum with",
        Rmw::MaxU => "takes the unsigned maximum with",
        Rmw::MinU => "takes the unsigned minimum with",
        Rmw::Swap => "exchanges it with",
    }
}

fn vector(op: VOp, form: &Form) -> String {
    let size = |log2: u8| SIZES[usize::from(log2) & 3];
    let place = |bridged: bool| if bridged { "global memory" } else { "a tile" };
    let text = match op {
        VOp::Alu(op) => alu(op, right(form)),
        VOp::Madd => "d = the low bits of l * r + a".to_owned(),
        VOp::Div(false) => "d = l / r toward zero; by zero 0; unsigned if l is".to_owned(),
        VOp::Div(true) => "d = the remainder of l / r; by zero l; unsigned if l is".to_owned(),
        VOp::Test(op) => {
            let test = test(op, right(form), false);
            format!("d = 1 if {test}, else 0; with `->p` the mask of the lanes where it is so")
        }
        VOp::Csel => "d = l where the third source is not 0, else r after its modifier".to_owned(),
        VOp::Psel => {
            "d = l where the mask `p`, or a register that is not 0, selects it, else r after its modifier; in all lanes of the group".to_owned()
        }
        VOp::Bits(op) => bits(op).to_owned(),
        VOp::Float(op @ Float::Compare(..)) => float(op) + "; with `->p` the mask of the lanes where it is so",
        VOp::Float(op) => float(op),
        VOp::Convert(what) => match what {
            Convert::FloatFloat => "d = l as another float".to_owned(),
            Convert::FloatInt => "d = l as an integer, saturating; toward zero unless FRM says otherwise; a NaN is 0".to_owned(),
            Convert::IntInt => {
                "d = l as another integer: cut, or extended by its own sign".to_owned()
            }
            Convert::IntFloat => "d = l as a float".to_owned(),
        },
        VOp::Load(log2, signed, bridged) => {
            let how = if log2 == 3 { "" } else if signed { ", sign-extended" } else { ", zero-extended" };
            format!("d = a {} of {}{how}", size(log2), place(bridged))
        }
        VOp::Store(log2, _, bridged) => {
            let (size, place) = (size(log2), place(bridged));
            format!("stores the low bits of a source as a {size} of {place}; the highest lane wins")
        }
        VOp::Atomic(op, log2, result) => {
            let old = if result { "; d = what was there" } else { "" };
            let (change, size) = (rmw(op), size(log2));
            format!("in each lane in ascending order {change} r to a {size} of global memory{old}")
        }
        VOp::Reduce(op) => {
            let what = match op {
                Reduce::Add | Reduce::FAdd => "the sum",
                Reduce::And => "the and",
                Reduce::Or => "the or",
                Reduce::Xor => "the exclusive or",
                Reduce::Max | Reduce::FMax => "the maximum",
                Reduce::Min | Reduce::FMin => "the minimum",
            };
            format!("a scalar = {what} of the lanes that are on, in ascending order; an export goes on over groups")
        }
        VOp::Shuffle(way, immediate) => {
            let by = if immediate { "the immediate" } else { "the third source" };
            let from = match way {
                Shuffle::Up => format!("the lane {by} below, inside a segment of r lanes"),
                Shuffle::Down => format!("the lane {by} above, inside a segment of r lanes"),
                Shuffle::Idx => format!("lane {by} of a segment of r lanes"),
                Shuffle::Bfly => format!("the lane whose number differs in the bits of {by}"),
            };
            format!("d = l of {from}; of itself where there is none")
        }
        VOp::QPush => "in each lane in ascending order: pushes r to a queue in memory; d = 1 if there was room".to_owned(),
        VOp::QPop => "in each lane in ascending order: d = what it pops from a queue in memory, 0 if that is empty".to_owned(),
    };
    sentence(&text)
}

fn scalar(op: SOp, form: &Form) -> String {
    let narrow = |is: bool| if is { ", 32 bits, sign-extended" } else { "" };
    let size = |log2: u8| SIZES[usize::from(log2) & 3];
    let sign = |signed: bool| if signed { "signed" } else { "unsigned" };
    let text = match op {
        SOp::Alu(op, is) => alu(op, right(form)) + narrow(is),
        SOp::MinMaxU(true) => "d = the larger of l and r, unsigned".to_owned(),
        SOp::MinMaxU(false) => "d = the smaller of l and r, unsigned".to_owned(),
        SOp::Madd(is) => format!("d = the low bits of l * r + a{}", narrow(is)),
        SOp::Div(false, signed, is) => {
            format!("d = l / r, {}; by zero 0{}", sign(signed), narrow(is))
        }
        SOp::Div(true, signed, is) => {
            format!("d = the remainder of l / r, {}; by zero l{}", sign(signed), narrow(is))
        }
        SOp::DivBoth(false, signed, is) => {
            format!("quotient and remainder, {}{}", sign(signed), narrow(is))
        }
        SOp::DivBoth(true, signed, is) => {
            format!("remainder and quotient, {}{}", sign(signed), narrow(is))
        }
        SOp::MulBoth(signed) => format!("the low and the high half of l * r, {}", sign(signed)),
        SOp::Cmp(op) => format!("d = 1 if {}, else 0", test(op, right(form), true)),
        SOp::Setc(op) => format!("the block's predicate = whether {}", test(op, right(form), true)),
        SOp::SetTgt => "the block's target = l".to_owned(),
        SOp::SetRet => "`ra` = an address relative to this instruction".to_owned(),
        SOp::Csel => "d = l if the third source is not 0, else r".to_owned(),
        SOp::Bits(op) => bits(op).to_owned(),
        SOp::Extend(bits, signed) => {
            format!(
                "d = the low {bits} bits of l, {}-extended",
                if signed { "sign" } else { "zero" }
            )
        }
        SOp::Move => "d = l".to_owned(),
        SOp::Immediate(0) => "d = the immediate".to_owned(),
        SOp::Immediate(shift) => format!("d = the immediate << {shift}"),
        SOp::AddTpc => "d = an address relative to this instruction".to_owned(),
        SOp::Load(log2, signed) => format!("d = a {} of memory, {}", size(log2), sign(signed)),
        SOp::Store(log2) => format!("stores a {}", size(log2)),
        SOp::LoadPcr(log2, signed) => {
            format!("d = a {} of memory relative to this instruction, {}", size(log2), sign(signed))
        }
        SOp::StorePcr(log2) => format!("stores a {} relative to this instruction", size(log2)),
        SOp::Atomic(op, log2) => {
            format!("{} r to a {} of memory at once; d = what was there", rmw(op), size(log2))
        }
        SOp::LoadIndexed(log2, signed, before) => {
            let base = if before { "its address" } else { "the base after it" };
            format!("d = a {} of memory, {}, and {base}", size(log2), sign(signed))
        }
        SOp::StoreIndexed(log2, before) => {
            let base = if before { "its address" } else { "the base after it" };
            format!("stores a {}; d = {base}", size(log2))
        }
        SOp::LoadPair(log2, signed) => {
            format!("two consecutive values of memory: each a {}, {}", size(log2), sign(signed))
        }
        SOp::StorePair(log2) => format!("stores two consecutive values: each a {}", size(log2)),
        SOp::LoadReserved(log2) => {
            format!("d = a {} of memory, whose line of 64 bytes is reserved", size(log2))
        }
        SOp::StoreConditional(log2) => {
            format!("stores a {} if its line is reserved; d = 0 if so, else 1", size(log2))
        }
        SOp::CompareSwap(log2) => format!(
            "stores the third source as a {} if memory holds r; d = what was there",
            size(log2)
        ),
        SOp::Prefetch => "a hint without effect; it never faults".to_owned(),
        SOp::PrefetchAddress => "d = the address; else a hint without effect".to_owned(),
        SOp::BitInsert => {
            "d = l with the low bits of r in place of a field of a ring of 64 bits".to_owned()
        }
        SOp::Concat(is) => {
            format!("the low and the high half of l and r as one, shifted right{}", narrow(is))
        }
        SOp::MaddBoth(is) => {
            let operands = if is { " on 32 bits" } else { "" };
            format!("the low and the high half of l * r + a, signed{operands}")
        }
        SOp::MulImmediate(false) => "d = l + r * the immediate".to_owned(),
        SOp::MulImmediate(true) => "d = l - r * the immediate".to_owned(),
        SOp::Float(op) => float(op),
        SOp::FloatFloat => "d = l as another float".to_owned(),
        SOp::FloatInt(_) => {
            "d = l as an integer, rounded as the name says, saturating; a NaN is 0".to_owned()
        }
        SOp::IntFloat(signed) => format!("d = l, {}, as a float", sign(signed)),
    };
    sentence(&text)
}

fn system(op: System) -> &'static str {
    match op {
        System::Ebreak => {
            "Ends the program if the code is 0, with `a0` as its status; else trap 50."
        }
        System::Assert => "Trap 52 if the register is 0.",
        System::Acrc => "Calls the next ring: trap 6, or the host in compiled programs.",
        System::Acre => {
            "Goes on where the last trap was taken; trap 0 if none was, or if it is final."
        }
        System::SsrGet => "d = a system register.",
        System::SsrSet => "A system register = l.",
        System::SsrSwap => "d = a system register, which becomes l.",
        System::Fence => "Orders memory: without effect here, since all accesses are in order.",
        System::Maintain(Maintenance::Unchecked) => {
            "Maintains caches or translations: without effect here, since there are none."
        }
        System::Maintain(Maintenance::Address) => {
            "Removes a translation: without effect here; trap 35 if l is not an address of 48 bits."
        }
        System::Maintain(Maintenance::AddressSpace) => {
            "Removes translations: without effect here; illegal if l has more than 16 bits."
        }
    }
}

/// Adds a capital and a full stop, except to formulas.
fn sentence(text: &str) -> String {
    let formula = text.starts_with("d = ") || text.starts_with('`');
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if !formula => format!("{}{}.", first.to_uppercase(), letters.as_str()),
        _ => format!("{text}."),
    }
}
