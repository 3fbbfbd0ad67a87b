//! Logic, shifts and bit fields. Predicates are 64-bit values 0 and 1.

use crate::{LaneFn, by_int, lane, lane2};
use ir::mods::{BoolOp, Flag};
use ir::{Inst, Op, Ty};
use simt::arith::int::{self, FunnelShift, Int, Overshift};

pub(super) fn resolve(inst: &Inst, ty: Ty) -> Option<LaneFn> {
    if ty == Ty::Pred {
        return predicate(inst.op);
    }
    match inst.op {
        Op::Lop3 if inst.results.len() == 2 => Some(lop3_predicate()),
        Op::Dp4a | Op::Dp2a => dot(inst, ty),
        Op::MbarPending => Some(lane!(|_e, a| u64::from(simt::mbarrier::pending_count(a)))),
        op => by_int!(ty, plain(op)).flatten(),
    }
}

fn predicate(op: Op) -> Option<LaneFn> {
    Some(match op {
        Op::And => lane!(|_e, a, b| a & b),
        Op::Or => lane!(|_e, a, b| a | b),
        Op::Xor => lane!(|_e, a, b| a ^ b),
        Op::Not => lane!(|_e, a| a ^ 1),
        Op::AndNot => lane!(|_e, a, b| a & (b ^ 1)),
        _ => return None,
    })
}

fn overshift(e: &crate::Settings) -> Overshift {
    if e.mods.flags.has(Flag::Wrap) { Overshift::Wrap } else { Overshift::Clamp }
}

fn plain<T: Int>(op: Op) -> Option<LaneFn> {
    Some(match op {
        Op::And => lane!([T: Int]; |_e, a, b| int::and::<T>(a, b)),
        Op::Or => lane!([T: Int]; |_e, a, b| int::or::<T>(a, b)),
        Op::Xor => lane!([T: Int]; |_e, a, b| int::xor::<T>(a, b)),
        Op::Not => lane!([T: Int]; |_e, a| int::not::<T>(a)),
        Op::AndNot => lane!([T: Int]; |_e, a, b| int::and::<T>(a, int::not::<T>(b))),
        Op::Cnot => lane!([T: Int]; |_e, a| int::cnot::<T>(a)),
        Op::Lop3 => lane!([T: Int]; |_e, a, b, c, table| int::lop3::<T>(a, b, c, table as u8)),
        Op::Shl => lane!([T: Int]; |_e, a, n| int::shl::<T>(a, n, Overshift::Clamp)),
        Op::Shr => lane!([T: Int]; |_e, a, n| int::shr::<T>(a, n, Overshift::Clamp)),
        Op::ShfL => lane!(|e, a, b, n| int::funnel_shift(a, b, n, FunnelShift::Left, overshift(e))),
        Op::ShfR => {
            lane!(|e, a, b, n| int::funnel_shift(a, b, n, FunnelShift::Right, overshift(e)))
        }
        Op::Bfe => lane!([T: Int]; |_e, a, start, len| int::bfe::<T>(a, start, len)),
        Op::Bfi => lane!([T: Int]; |_e, a, b, start, len| int::bfi::<T>(a, b, start, len)),
        Op::Bfind => lane!([T: Int]; |e, a| int::bfind::<T>(a, e.mods.flags.has(Flag::ShiftAmt))),
        Op::Brev => lane!([T: Int]; |_e, a| int::brev::<T>(a)),
        Op::Popc => lane!([T: Int]; |_e, a| int::popc::<T>(a)),
        Op::Clz => lane!([T: Int]; |_e, a| int::clz::<T>(a)),
        Op::Prmt => lane!(|e, a, b, c| int::prmt(a, b, c, e.mods.permute)),
        Op::Bmsk => lane!(|e, a, b| int::bmsk(a, b, overshift(e))),
        Op::Szext => lane!([T: Int]; |e, a, b| int::szext::<T>(a, b, overshift(e))),
        Op::Fns => lane!(|_e, mask, base, offset| int::fns(mask, base, offset)),
        _ => return None,
    })
}

/// `lop3` whose second result is (result != 0) combined with a predicate.
fn lop3_predicate() -> LaneFn {
    lane2!(|e, a, b, c, table, p| {
        let value = int::lop3::<u32>(a, b, c, table as u8);
        let nonzero = u64::from(value != 0);
        let combined = match e.mods.bool_op {
            Some(BoolOp::And) => nonzero & p,
            Some(BoolOp::Or) => nonzero | p,
            Some(BoolOp::Xor) => nonzero ^ p,
            None => nonzero,
        };
        (value, combined)
    })
}

fn dot(inst: &Inst, ty: Ty) -> Option<LaneFn> {
    fn dp<A: Int, B: Int>(op: Op) -> LaneFn {
        match op {
            Op::Dp4a => lane!([A: Int, B: Int]; |_e, a, b, c| int::dp4a::<A, B>(a, b, c)),
            _ => {
                lane!([A: Int, B: Int]; |e, a, b, c| {
                    int::dp2a::<A, B>(a, b, c, e.mods.flags.has(Flag::Upper))
                })
            }
        }
    }
    let (a_signed, b_signed) = (ty.is_signed(), inst.ty2?.is_signed());
    let wide = inst.op == Op::Dp2a;
    Some(match (wide, a_signed, b_signed) {
        (false, false, false) => dp::<u8, u8>(inst.op),
        (false, false, true) => dp::<u8, i8>(inst.op),
        (false, true, false) => dp::<i8, u8>(inst.op),
        (false, true, true) => dp::<i8, i8>(inst.op),
        (true, false, false) => dp::<u16, u8>(inst.op),
        (true, false, true) => dp::<u16, i8>(inst.op),
        (true, true, false) => dp::<i16, u8>(inst.op),
        (true, true, true) => dp::<i16, i8>(inst.op),
    })
}
