//! Scalar forms of 16, 32 and 48 bits.

use simt::arith::Rounding;

use super::super::{Alu, Rmw, SOp};
use super::{access, alu, bits, float, rmw, test};

/// The reason that a scalar form does not execute.
pub(super) fn scalar_reason(name: &str) -> &'static str {
    match name {
        n if n.starts_with("hl.q") => "queues of the manager are not specified",
        _ => "its result is not specified",
    }
}

/// log2 of the size that a suffix names.
fn size(letter: Option<char>) -> Option<u8> {
    "bhwd".find(letter?).map(|at| at as u8)
}

/// Pairs, and accesses that write their base back: `hl.lwp`, `hl.sdip.u`, `hl.lbui.po`.
fn paired_or_indexed(head: &str, parts: &[&str]) -> Option<SOp> {
    let of = |head: &str| access(head).or_else(|| access(head.strip_suffix('i')?));
    match parts.get(1) {
        Some(&("pr" | "po" | "upr" | "upo")) => {
            let (load, size, signed) = of(head)?;
            let before = parts[1].ends_with('r');
            Some(if load {
                SOp::LoadIndexed(size, signed, before)
            } else {
                SOp::StoreIndexed(size, before)
            })
        }
        None | Some(&"u") => {
            let (load, size, signed) = of(head.strip_suffix('p')?)?;
            Some(if load { SOp::LoadPair(size, signed) } else { SOp::StorePair(size) })
        }
        _ => None,
    }
}

pub(super) fn scalar(name: &str) -> Option<SOp> {
    if name == "prf" || name == "prfi.u" || name == "hl.prf" || name == "hl.prfi.u" {
        return Some(SOp::Prefetch);
    }
    if name == "hl.prf.a" || name == "hl.prfi.ua" {
        return Some(SOp::PrefetchAddress);
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
        "lr" => return Some(SOp::LoadReserved(size(parts.get(1)?.chars().next())?)),
        "sc" => return Some(SOp::StoreConditional(size(parts.get(1)?.chars().next())?)),
        "bfi" => return Some(SOp::BitInsert),
        "ccat" | "ccatw" => return Some(SOp::Concat(head == "ccatw")),
        "miadd" | "misub" => return Some(SOp::MulImmediate(head == "misub")),
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
            "madd" | "maddw" => return Some(SOp::MaddBoth(head == "maddw")),
            _ => {}
        }
        if let Some(letters) = head.strip_prefix("cas") {
            return Some(SOp::CompareSwap(size(letters.chars().next())?));
        }
        if let Some(op) = paired_or_indexed(head, &parts) {
            return Some(op);
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
