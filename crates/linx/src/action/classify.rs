//! From a form's name and context in the table to its operation.

mod scalar;

use isa::table::Form;
use simt::arith::Cmp;

use super::{
    Action, Alu, Bits, Branch, Convert, Descriptor, Float, Maintenance, Marker, Reduce, Rmw, SOp,
    Shuffle, Simt, System, Template, Test, Transfer, VOp,
};
use scalar::{scalar, scalar_reason};

pub(super) fn classify(form: &Form) -> Action {
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
            "fentry" => Action::Template(Template::FEntry),
            "fexit" => Action::Template(Template::FExit),
            "fret.ra" => Action::Template(Template::FRetRa),
            "fret.stk" => Action::Template(Template::FRetStk),
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
        // The formal model reads the system register of this number.
        "lsrget" => System::SsrGet,
        "tlb.iv" | "tlb.iav" => System::Maintain(Maintenance::Address),
        "tlb.ia" => System::Maintain(Maintenance::AddressSpace),
        "bse" | "bwe" | "bwi" | "bwt" => return Action::None("needs other cores and interrupts"),
        _ => System::Maintain(Maintenance::Unchecked),
    })
}
