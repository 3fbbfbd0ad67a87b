//! Operations of PTX as sequences of operations on lanes.
//!
//! [`of`] is the table from an instruction to its recipe: a function that adds the sequence to a
//! block and returns the results. `simt::arith` defines what an instruction computes; a recipe
//! yields the same bits. Recipes are the same on all levels of vector instructions: what a level
//! lacks is in its patterns.

mod approx;
mod bits;
mod build;
mod compare;
mod convert;
mod divide;
mod float;
mod integer;

pub(crate) use approx::NEAR;
pub(crate) use build::{Arg, Build, Results};

use crate::function::{Block, Function, Type, Value};
use fast::code::{Dst, Generic, Src};
use fast::ops::Rare;
use ir::{Inst, Op, Ty};

/// Adds the operations of an instruction; `None` if there is no recipe for its types and modifiers.
type Recipe = fn(&mut Build<'_>) -> Option<Results>;

/// Returns the recipe of an operation.
fn of(inst: &Inst, ty: Ty) -> Option<Recipe> {
    if ty == Ty::Pred {
        return None;
    }
    Some(match inst.op {
        Op::Mov | Op::Pack | Op::Unpack if ty == Ty::B128 => bits::pair,
        Op::Setp | Op::Set if matches!(ty, Ty::F16x2 | Ty::Bf16x2) => compare::packed,
        Op::Setp | Op::Set => compare::relation,
        Op::Selp => compare::select,
        Op::Slct => compare::by_sign,
        Op::Testp => compare::property,
        Op::Copysign => compare::copysign,
        Op::Cvt => convert::recipe,
        Op::CvtPack => convert::pack_integers,
        Op::CvtaTo | Op::CvtaFrom => bits::window,
        _ if ty.is_float() => float::recipe,
        Op::Min | Op::Max | Op::Add if matches!(ty, Ty::U16x2 | Ty::S16x2) => integer::packed,
        Op::Add | Op::Sub | Op::Mul | Op::Mad => integer::plain,
        Op::Min | Op::Max => integer::extreme,
        Op::Abs => integer::magnitude,
        Op::Neg => integer::negative,
        Op::Sad => integer::distance,
        Op::Div | Op::Rem => divide::recipe,
        Op::MulWide | Op::MadWide => integer::wide_product,
        Op::MulHi | Op::MadHi => integer::high_product,
        Op::Mul24 | Op::Mad24 | Op::Mul24Hi | Op::Mad24Hi => integer::product24,
        Op::AddCarry | Op::SubCarry | Op::MadCarry | Op::MadHiCarry => integer::carry,
        Op::Mov | Op::And | Op::Or | Op::Xor | Op::Not | Op::AndNot => bits::logic,
        Op::Cnot => bits::is_zero,
        Op::Lop3 => bits::lop3,
        Op::Shl | Op::Shr => bits::shift,
        Op::ShfL | Op::ShfR => bits::funnel,
        Op::Bfe => bits::extract,
        Op::Bfi => bits::insert,
        Op::Bfind => bits::find,
        Op::Clz | Op::Popc | Op::Brev => bits::count,
        Op::Prmt => bits::permute,
        Op::Bmsk => bits::mask,
        Op::Szext => bits::extend,
        Op::Dp4a | Op::Dp2a => bits::dot,
        Op::Pack => bits::pack,
        Op::Unpack => bits::unpack,
        _ => return None,
    })
}

/// Adds the operations of an instruction to a block. Returns its results, or `None` if it has no
/// recipe.
pub(crate) fn build(
    function: &mut Function,
    block: Block,
    generic: &Generic,
    args: &[Arg],
) -> Option<Results> {
    let inst = &generic.inst;
    let ty = inst.ty.unwrap_or(Ty::B32);
    let recipe = of(inst, ty)?;
    let results = recipe(&mut Build::new(function, block, (inst, ty, generic.bits), args))?;
    (results.len() == generic.dst.len()).then_some(results)
}

/// Adds a rare operation to a block.
pub(crate) fn rare(function: &mut Function, block: Block, op: Rare, args: &[Arg]) -> Value {
    let inst = Inst::new(Op::Nop);
    let b = &mut Build::new(function, block, (&inst, Ty::B32, 32), args);
    match op {
        Rare::FunnelL => bits::funnel_of(b, true, false),
        Rare::FunnelLWrap => bits::funnel_of(b, true, true),
        Rare::FunnelR => bits::funnel_of(b, false, false),
        Rare::FunnelRWrap => bits::funnel_of(b, false, true),
        Rare::FMin => float::lesser(b, false),
        Rare::FMax => float::lesser(b, true),
        Rare::DivU => divide::words(b, false, false),
        Rare::RemU => divide::words(b, false, true),
        Rare::DivS => divide::words(b, true, false),
        Rare::RemS => divide::words(b, true, true),
    }
}

/// Returns whether an instruction has a recipe, and its results can be put where they go.
pub(crate) fn has(generic: &Generic) -> bool {
    let scalar = generic.dst.iter().any(|d| matches!(d, Dst::Scalar(_)));
    let rows = |s: &Src| !matches!(s, Src::Const(_) | Src::Line(..));
    if scalar && generic.src.iter().any(rows)
        || generic.dst.iter().any(|d| matches!(d, Dst::Pair(..)))
        || generic.src.iter().any(|s| matches!(s, Src::Pair(..) | Src::ConstPair(..)))
    {
        return false;
    }
    let mut function = Function::default();
    let block = function.add_block();
    let mut arg = |src: &Src| match *src {
        Src::Const(bits) => Arg::Const(bits),
        Src::Wide(_) => Arg::Row(function.add_param(block, Type::Row64), false),
        Src::Pred(_) => Arg::Mask(function.add_param(block, Type::Mask)),
        _ => Arg::Row(function.add_param(block, Type::Row32), false),
    };
    let args: Vec<Arg> = generic.src.iter().map(&mut arg).collect();
    build(&mut function, block, generic, &args).is_some()
}
