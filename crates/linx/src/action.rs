//! What each form does: the operation behind its name, or why it encodes only.

use std::sync::LazyLock;

use isa::table::Form;
use simt::arith::Cmp;

/// What a form does when it is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A block start marker.
    Marker(Marker),
    /// `BSTOP`, `C.BSTOP`.
    Stop,
    /// A `BSTART.TEPL` whose number is no operation's: no form either, but a marker all the same.
    ReservedTile,
    /// `L.BSTOP` of older versions: no form of this one.
    LegacyStop,
    /// A header descriptor.
    Descriptor(Descriptor),
    /// A branch in a body.
    Branch(Branch),
    /// A 64-bit form.
    Vector(VOp),
    /// A scalar instruction.
    Scalar(SOp),
    /// A system instruction.
    System(System),
    /// A template block.
    Template(Template),
    /// The form encodes only; why.
    None(&'static str),
}

/// Kinds of markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A coupled block (STD, FP, SYS) with its transfer.
    Coupled(Transfer),
    /// The fused pair of a call.
    FusedCall,
    /// MPAR, MSEQ, VPAR, VSEQ.
    Simt(Simt),
    /// A tile memory block: its function, or `None` for the field.
    Tma(Option<u8>),
    /// A matrix block: its function, or `None` for the field.
    Cube(Option<u8>),
    /// A tile operation.
    Tepl,
    /// Nothing is assigned to it.
    Fixp,
}

/// How a coupled block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// By the field BrType, without a target.
    Field,
    /// To the next block.
    Fall,
    /// To the target.
    Direct,
    /// To the target if the block's predicate holds.
    Cond,
    /// To the target, which is a function.
    Call,
    /// To where `setc.tgt` says.
    Indirect,
    /// To where `setc.tgt` says, else to `ra`.
    Return,
}

/// Kinds of SIMT blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Simt {
    /// Groups in any order.
    Mpar,
    /// Groups one after another.
    Mseq,
    /// Linear body over tiles, any order.
    Vpar,
    /// Linear body over tiles, in order.
    Vseq,
}

impl Simt {
    /// Whether the body is linear and has tile memory only.
    #[must_use]
    pub fn is_linear(self) -> bool {
        matches!(self, Self::Vpar | Self::Vseq)
    }

    /// Whether groups run in any order.
    #[must_use]
    pub fn is_parallel(self) -> bool {
        matches!(self, Self::Mpar | Self::Vpar)
    }
}

/// Kinds of descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the instructions")]
pub enum Descriptor {
    Text,
    Dim(u8),
    CDim,
    CDimI,
    Ior,
    Iot,
    IotI,
    Arg,
    Attr,
    Hint,
}

/// Branches in bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    /// If a comparison of two scalars holds; signed or not.
    Compare(Cmp, bool),
    /// Always.
    Jump,
    /// Always, relative to a register.
    Register,
    /// If `p` is zero.
    Zero,
    /// If `p` is not zero.
    NotZero,
}

/// Arithmetic of two or three integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the instructions")]
pub enum Alu {
    Add,
    Sub,
    And,
    Or,
    Xor,
    Sll,
    Srl,
    Sra,
    Mul,
    Max,
    Min,
}

/// Operations on a bit field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the instructions")]
pub enum Bits {
    Bxu,
    Bxs,
    Bic,
    Bis,
    Bcnt,
    Clz,
    Ctz,
    Rev,
}

/// Comparisons of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// Of order; signed or not.
    Order(Cmp, bool),
    /// Both.
    And,
    /// Either.
    Or,
}

/// Floating-point operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the instructions")]
pub enum Float {
    Add,
    Sub,
    Mul,
    Div,
    Madd,
    Msub,
    Nmadd,
    Nmsub,
    Sqrt,
    Recip,
    Exp,
    Abs,
    Class,
    Max,
    Min,
    /// A comparison, and whether a quiet NaN is invalid.
    Compare(Cmp, bool),
}

/// Read-modify-write operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the instructions")]
pub enum Rmw {
    Add,
    And,
    Or,
    Xor,
    Max,
    Min,
    MaxU,
    MinU,
    Swap,
}

/// Shuffles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the instructions")]
pub enum Shuffle {
    Up,
    Down,
    Idx,
    Bfly,
}

/// Reductions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the instructions")]
pub enum Reduce {
    Add,
    And,
    Or,
    Xor,
    Max,
    Min,
    FAdd,
    FMax,
    FMin,
}

/// Converts by kind of source and destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Convert {
    FloatFloat,
    FloatInt,
    IntInt,
    IntFloat,
}

/// Operations of the 64-bit forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VOp {
    /// Two sources, or one and an immediate.
    Alu(Alu),
    /// Multiply and add.
    Madd,
    /// Quotient, or remainder if true.
    Div(bool),
    /// Comparison; also a mask producer.
    Test(Test),
    /// Select by a value.
    Csel,
    /// Select by a mask, for all lanes.
    Psel,
    /// Bit field.
    Bits(Bits),
    /// Floating point; comparisons are mask producers as well.
    Float(Float),
    /// Conversion.
    Convert(Convert),
    /// Load: log2 of the size, sign extension, bridged.
    Load(u8, bool, bool),
    /// Store: log2 of the size, whether the index is scaled, bridged.
    Store(u8, bool, bool),
    /// Atomic: operation, log2 of the size, whether there is a result.
    Atomic(Rmw, u8, bool),
    /// Reduction.
    Reduce(Reduce),
    /// Shuffle; by an immediate if true.
    Shuffle(Shuffle, bool),
    /// Push to a queue in memory.
    QPush,
    /// Pop from a queue in memory.
    QPop,
}

/// Operations of scalar forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SOp {
    /// Arithmetic; 32 bits if true.
    Alu(Alu, bool),
    /// Unsigned maximum, or minimum if false.
    MinMaxU(bool),
    /// Multiply and add; 32 bits if true.
    Madd(bool),
    /// Division: remainder, signed, 32 bits.
    Div(bool, bool, bool),
    /// Division with both results: whether the remainder comes first, signed, 32 bits.
    DivBoth(bool, bool, bool),
    /// The product's halves; signed if true.
    MulBoth(bool),
    /// Comparison to a register.
    Cmp(Test),
    /// Comparison to the block's predicate.
    Setc(Test),
    /// The block's target.
    SetTgt,
    /// The return address.
    SetRet,
    /// A select.
    Csel,
    /// Bit field.
    Bits(Bits),
    /// Extension: bits, signed.
    Extend(u8, bool),
    /// A register's value.
    Move,
    /// An immediate, shifted left by so many bits.
    Immediate(u8),
    /// An address relative to the instruction.
    AddTpc,
    /// A load: log2 of the size, signed.
    Load(u8, bool),
    /// A store: log2 of the size.
    Store(u8),
    /// A load relative to the instruction.
    LoadPcr(u8, bool),
    /// A store relative to the instruction.
    StorePcr(u8),
    /// Atomic: operation, log2 of the size.
    Atomic(Rmw, u8),
    /// A hint that does nothing.
    Prefetch,
    /// Floating point.
    Float(Float),
    /// Float to float.
    FloatFloat,
    /// Float to integer, by rounding mode; `None`: that of the environment.
    FloatInt(Option<simt::arith::Rounding>),
    /// Integer to float; signed or not.
    IntFloat(bool),
}

/// System operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the instructions")]
pub enum System {
    Ebreak,
    Assert,
    Acrc,
    Acre,
    SsrGet,
    SsrSet,
    SsrSwap,
    Fence,
}

/// Template blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the instructions")]
pub enum Template {
    MCopy,
    MSet,
}

/// The action of each form, in the order of the table (the same for both numberings of tile operations).
static ACTIONS: LazyLock<Vec<Action>> =
    LazyLock::new(|| crate::table(crate::TileOps::V04).forms().iter().map(classify).collect());

/// What the form with this index in the table does.
#[must_use]
pub fn action(index: usize) -> Action {
    ACTIONS.get(index).copied().unwrap_or(Action::None("no such form"))
}

fn classify(form: &Form) -> Action {
    let name = form.name.as_str();
    match form.attribute("context").unwrap_or_default() {
        "term" => Action::Stop,
        "marker" => Action::Marker(marker(name)),
        "hdr" => descriptor(name),
        "body-branch" => Action::Branch(branch(name)),
        "body64" => Action::Vector(vector(name)),
        "template" => match name {
            "mcopy" => Action::Template(Template::MCopy),
            "mset" => Action::Template(Template::MSet),
            "fentry" | "fexit" | "fret.ra" | "fret.stk" => {
                Action::None("where the registers lie in the frame is not specified")
            }
            _ => Action::None("needs rings and saved contexts that are not specified"),
        },
        "sys" => system(name),
        _ => scalar(name).map_or_else(|| Action::None(scalar_reason(name)), Action::Scalar),
    }
}

fn marker(name: &str) -> Marker {
    let name = name.trim_start_matches("hl.").trim_start_matches("c.").trim_start_matches("bstart");
    match name.trim_start_matches('.') {
        "fused" => Marker::FusedCall,
        "mpar" => Marker::Simt(Simt::Mpar),
        "mseq" => Marker::Simt(Simt::Mseq),
        "vpar" => Marker::Simt(Simt::Vpar),
        "vseq" => Marker::Simt(Simt::Vseq),
        "tma" => Marker::Tma(None),
        "tload" => Marker::Tma(Some(0)),
        "tstore" => Marker::Tma(Some(1)),
        "tmov" => Marker::Tma(Some(2)),
        "cube" => Marker::Cube(None),
        "tmatmul" => Marker::Cube(Some(0)),
        "tmatmul.acc" => Marker::Cube(Some(2)),
        "acccvt" => Marker::Cube(Some(8)),
        "fixp" => Marker::Fixp,
        "tepl" | "par" => Marker::Tepl,
        other => Marker::Coupled(match other.rsplit('.').next().unwrap_or_default() {
            "fall" => Transfer::Fall,
            "direct" => Transfer::Direct,
            "cond" => Transfer::Cond,
            "call" => Transfer::Call,
            "ind" | "icall" => Transfer::Indirect,
            "ret" => Transfer::Return,
            // C.BSTART.SYS has no other kind; STD and FP have a field.
            "sys" => Transfer::Fall,
            _ => Transfer::Field,
        }),
    }
}

fn descriptor(name: &str) -> Action {
    Action::Descriptor(match name {
        "b.text" => Descriptor::Text,
        "b.dim.lb0" => Descriptor::Dim(0),
        "b.dim.lb1" => Descriptor::Dim(1),
        "b.dim.lb2" => Descriptor::Dim(2),
        "c.b.dim" => Descriptor::CDim,
        "c.b.dimi" => Descriptor::CDimI,
        "b.ior" => Descriptor::Ior,
        "b.iot" | "b.iot.last" => Descriptor::Iot,
        "b.ioti" | "b.ioti.last" => Descriptor::IotI,
        "b.attr" => Descriptor::Attr,
        "b.hint" | "b.hint.trace" | "b.iod" => Descriptor::Hint,
        _ => Descriptor::Arg,
    })
}

fn branch(name: &str) -> Branch {
    match name {
        "b.eq" => Branch::Compare(Cmp::Eq, true),
        "b.ne" => Branch::Compare(Cmp::Ne, true),
        "b.lt" => Branch::Compare(Cmp::Lt, true),
        "b.ge" => Branch::Compare(Cmp::Ge, true),
        "b.ltu" => Branch::Compare(Cmp::Lt, false),
        "b.geu" => Branch::Compare(Cmp::Ge, false),
        "jr" => Branch::Register,
        "b.z" => Branch::Zero,
        "b.nz" => Branch::NotZero,
        _ => Branch::Jump,
    }
}

fn alu(name: &str) -> Option<Alu> {
    Some(match name {
        "add" => Alu::Add,
        "sub" => Alu::Sub,
        "and" => Alu::And,
        "or" => Alu::Or,
        "xor" => Alu::Xor,
        "sll" => Alu::Sll,
        "srl" => Alu::Srl,
        "sra" => Alu::Sra,
        "mul" => Alu::Mul,
        "max" => Alu::Max,
        "min" => Alu::Min,
        _ => return None,
    })
}

fn test(name: &str) -> Option<Test> {
    Some(match name {
        "eq" => Test::Order(Cmp::Eq, true),
        "ne" => Test::Order(Cmp::Ne, true),
        "lt" => Test::Order(Cmp::Lt, true),
        "ge" => Test::Order(Cmp::Ge, true),
        "ltu" => Test::Order(Cmp::Lt, false),
        "geu" => Test::Order(Cmp::Ge, false),
        "and" => Test::And,
        "or" => Test::Or,
        _ => return None,
    })
}

fn bits(name: &str) -> Option<Bits> {
    Some(match name {
        "bxu" => Bits::Bxu,
        "bxs" => Bits::Bxs,
        "bic" => Bits::Bic,
        "bis" => Bits::Bis,
        "bcnt" => Bits::Bcnt,
        "clz" => Bits::Clz,
        "ctz" => Bits::Ctz,
        "rev" => Bits::Rev,
        _ => return None,
    })
}

fn float(name: &str) -> Option<Float> {
    Some(match name {
        "fadd" => Float::Add,
        "fsub" => Float::Sub,
        "fmul" => Float::Mul,
        "fdiv" => Float::Div,
        "fmadd" => Float::Madd,
        "fmsub" => Float::Msub,
        "fnmadd" => Float::Nmadd,
        "fnmsub" => Float::Nmsub,
        "fsqrt" => Float::Sqrt,
        "frecip" => Float::Recip,
        "fexp" => Float::Exp,
        "fabs" => Float::Abs,
        "fclass" => Float::Class,
        "fmax" => Float::Max,
        "fmin" => Float::Min,
        "feq" => Float::Compare(Cmp::Eq, false),
        "fne" => Float::Compare(Cmp::Neu, false),
        "flt" => Float::Compare(Cmp::Lt, false),
        "fge" => Float::Compare(Cmp::Ge, false),
        "feqs" => Float::Compare(Cmp::Eq, true),
        "fnes" => Float::Compare(Cmp::Neu, true),
        "flts" => Float::Compare(Cmp::Lt, true),
        "fges" => Float::Compare(Cmp::Ge, true),
        _ => return None,
    })
}

fn rmw(name: &str) -> Option<Rmw> {
    Some(match name {
        "add" => Rmw::Add,
        "and" => Rmw::And,
        "or" => Rmw::Or,
        "xor" => Rmw::Xor,
        "max" | "smax" => Rmw::Max,
        "min" | "smin" => Rmw::Min,
        "umax" => Rmw::MaxU,
        "umin" => Rmw::MinU,
        _ => return None,
    })
}

/// log2 of the size and whether it is signed, of `lw`, `lbu`, `sd` and the like.
fn access(name: &str) -> Option<(bool, u8, bool)> {
    let load = match name.as_bytes().first()? {
        b'l' => true,
        b's' => false,
        _ => return None,
    };
    let size = b"bhwd".iter().position(|c| Some(c) == name.as_bytes().get(1))? as u8;
    let signed = match &name[2..] {
        "" => true,
        "u" if load => false,
        _ => return None,
    };
    Some((load, size, signed))
}

fn vector(name: &str) -> VOp {
    let name = name.trim_start_matches("v.");
    let parts: Vec<&str> = name.split('.').collect();
    let head = parts[0];
    let without_i = head.strip_suffix('i').unwrap_or(head);
    if head == "cmp" {
        let what = parts[1].strip_suffix('i').unwrap_or(parts[1]);
        return VOp::Test(test(what).unwrap_or(Test::And));
    }
    if let Some(op) = float(head) {
        return VOp::Float(op);
    }
    if let Some(op) = bits(head) {
        return VOp::Bits(op);
    }
    if let Some(op) = alu(head).or_else(|| alu(without_i)) {
        return VOp::Alu(op);
    }
    match head {
        "madd" => return VOp::Madd,
        "div" => return VOp::Div(false),
        "rem" => return VOp::Div(true),
        "csel" => return VOp::Csel,
        "psel" => return VOp::Psel,
        "fcvt" => return VOp::Convert(Convert::FloatFloat),
        "fcvti" => return VOp::Convert(Convert::FloatInt),
        "icvt" => return VOp::Convert(Convert::IntInt),
        "icvtf" => return VOp::Convert(Convert::IntFloat),
        "qpush" => return VOp::QPush,
        "qpop" => return VOp::QPop,
        "shfl" | "shfli" => {
            let way = match parts[1] {
                "up" => Shuffle::Up,
                "down" => Shuffle::Down,
                "idx" => Shuffle::Idx,
                _ => Shuffle::Bfly,
            };
            return VOp::Shuffle(way, head == "shfli");
        }
        _ => {}
    }
    if let Some(what) = head.strip_prefix("rd") {
        return VOp::Reduce(match what {
            "add" => Reduce::Add,
            "and" => Reduce::And,
            "or" => Reduce::Or,
            "xor" => Reduce::Xor,
            "max" => Reduce::Max,
            "min" => Reduce::Min,
            "fadd" => Reduce::FAdd,
            "fmax" => Reduce::FMax,
            _ => Reduce::FMin,
        });
    }
    let (load, size, signed) = access(without_i).unwrap_or((true, 2, true));
    if let Some(op) = parts.get(1).and_then(|op| rmw(op)) {
        return VOp::Atomic(op, size, load);
    }
    let (unscaled, bridged) = (parts.contains(&"u"), parts.contains(&"brg"));
    if load { VOp::Load(size, signed, bridged) } else { VOp::Store(size, !unscaled, bridged) }
}

/// Why a scalar form does not execute.
fn scalar_reason(name: &str) -> &'static str {
    match name {
        n if n.starts_with("lr.") || n.starts_with("sc.") => {
            "what a store conditional returns is not specified"
        }
        n if n.starts_with("hl.cas") => "the order of its operands is not specified",
        n if n.starts_with("hl.q") => "queues of the manager are not specified",
        n if n.ends_with(".po")
            || n.ends_with(".pr")
            || n.ends_with("upo")
            || n.ends_with("upr") =>
        {
            "which address an indexed access writes back is not specified"
        }
        n if n.contains("prf") => "an address written by a prefetch is not specified",
        n if n.ends_with('p') || n.ends_with("p.u") => {
            "the order of a pair in memory is not specified"
        }
        _ => "its result is not specified",
    }
}

fn scalar(name: &str) -> Option<SOp> {
    use simt::arith::Rounding;
    if name == "prf" || name == "prfi.u" || name == "hl.prf" || name == "hl.prfi.u" {
        return Some(SOp::Prefetch);
    }
    let long = name.starts_with("hl.");
    let name = name.trim_start_matches("hl.").trim_start_matches("c.");
    let parts: Vec<&str> = name.split('.').collect();
    let head = parts[0];
    let plain = parts.len() == 1;
    let without_i = head.strip_suffix('i').unwrap_or(head);
    match head {
        "cmp" | "setc" => {
            let what = *parts.get(1)?;
            if what == "tgt" {
                return Some(SOp::SetTgt);
            }
            let test = test(what).or_else(|| test(what.strip_suffix('i')?))?;
            return Some(if head == "cmp" { SOp::Cmp(test) } else { SOp::Setc(test) });
        }
        "setret" => return Some(SOp::SetRet),
        "csel" => return Some(SOp::Csel),
        "movi" | "lis" | "liu" => return Some(SOp::Immediate(0)),
        "movr" => return Some(SOp::Move),
        "lui" => return Some(SOp::Immediate(if long { 0 } else { 12 })),
        "addtpc" => return Some(SOp::AddTpc),
        "sext" | "zext" => {
            let bits = match *parts.get(1)? {
                "b" => 8,
                "h" => 16,
                _ => 32,
            };
            return Some(SOp::Extend(bits, head == "sext"));
        }
        "maxu" | "minu" => return Some(SOp::MinMaxU(head == "maxu")),
        "fcvt" => return Some(SOp::FloatFloat),
        "fcvta" => return Some(SOp::FloatInt(Some(Rounding::NearestAway))),
        "fcvtm" => return Some(SOp::FloatInt(Some(Rounding::TowardNegative))),
        "fcvtn" => return Some(SOp::FloatInt(Some(Rounding::NearestEven))),
        "fcvtp" => return Some(SOp::FloatInt(Some(Rounding::TowardPositive))),
        "fcvtz" => return Some(SOp::FloatInt(Some(Rounding::TowardZero))),
        "scvtf" => return Some(SOp::IntFloat(true)),
        "ucvtf" => return Some(SOp::IntFloat(false)),
        "swapb" => return Some(SOp::Atomic(Rmw::Swap, 0)),
        "swaph" => return Some(SOp::Atomic(Rmw::Swap, 1)),
        "swapw" => return Some(SOp::Atomic(Rmw::Swap, 2)),
        "swapd" => return Some(SOp::Atomic(Rmw::Swap, 3)),
        "lr" | "sc" => return None,
        _ => {}
    }
    if long {
        match head {
            "mul" | "mulu" => return Some(SOp::MulBoth(head == "mul")),
            "div" | "divu" | "divw" | "divuw" | "rem" | "remu" | "remw" | "remuw" => {
                let kind = &head[3..];
                return Some(SOp::DivBoth(
                    head.starts_with("rem"),
                    !kind.contains('u'),
                    kind.contains('w'),
                ));
            }
            "madd" | "maddw" => return None,
            _ => {}
        }
    }
    if let Some(op) = float(head) {
        return Some(SOp::Float(op));
    }
    if let Some(op) = bits(head) {
        return Some(SOp::Bits(op));
    }
    match head {
        "madd" => return Some(SOp::Madd(false)),
        "maddw" => return Some(SOp::Madd(true)),
        "mulu" => return Some(SOp::Alu(Alu::Mul, false)),
        "muluw" | "mulw" => return Some(SOp::Alu(Alu::Mul, true)),
        "div" | "divu" | "divw" | "divuw" | "rem" | "remu" | "remw" | "remuw" => {
            let kind = &head[3..];
            return Some(SOp::Div(
                head.starts_with("rem"),
                !kind.contains('u'),
                kind.contains('w'),
            ));
        }
        _ => {}
    }
    if plain {
        if let Some(op) = alu(head).or_else(|| alu(without_i)) {
            return Some(SOp::Alu(op, false));
        }
        let narrow = head.strip_suffix('w');
        let stem = narrow.map(|n| n.strip_suffix('i').unwrap_or(n));
        if let Some(op) = narrow.and_then(alu).or_else(|| stem.and_then(alu)) {
            return Some(SOp::Alu(op, true));
        }
    }
    let (load, size, signed) = access(head).or_else(|| access(without_i))?;
    match parts.get(1) {
        None | Some(&"u") => Some(if load { SOp::Load(size, signed) } else { SOp::Store(size) }),
        Some(&"pcr") => Some(if load { SOp::LoadPcr(size, signed) } else { SOp::StorePcr(size) }),
        Some(op) => rmw(op).map(|op| SOp::Atomic(op, size)),
    }
}

fn system(name: &str) -> Action {
    Action::System(match name {
        "ebreak" | "c.ebreak" => System::Ebreak,
        "assert" => System::Assert,
        "acrc" => System::Acrc,
        "acre" => System::Acre,
        "ssrget" | "c.ssrget" | "hl.ssrget" => System::SsrGet,
        "ssrset" | "hl.ssrset" => System::SsrSet,
        "ssrswap" => System::SsrSwap,
        "fence.d" | "fence.i" => System::Fence,
        "setc.tgt" => return Action::Scalar(SOp::SetTgt),
        "lsrget" => return Action::None("its registers are not specified"),
        "bse" | "bwe" | "bwi" | "bwt" => return Action::None("needs other cores and interrupts"),
        _ => return Action::None("there are no caches and no translation"),
    })
}
