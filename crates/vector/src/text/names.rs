//! The words of operations: one table a type. A variant without a word does not compile.

use super::parts::{Found, Part, Parts, number};
use crate::op::{Arith, Conversion, Counter, LaneOp, MaskOp, Op, Rounding, Shape, StackOp};
use fast::ops::{Logic, Native, Op32, Op64, Rel, Test};
use ir::mods::{self, AtomOp, BoolOp, Cmp, Space};

/// Defines the words of an enum's variants, whose fields follow in order.
macro_rules! parts {
    ($ty:ty { $($variant:ident $(($($field:ident),+))? $word:literal,)+ }) => {
        impl Part for $ty {
            fn put(&self, to: &mut Parts) {
                match self {
                    $(Self::$variant $(($($field),+))? => {
                        to.words.push($word);
                        $($($field.put(to);)+)?
                    })+
                }
            }

            fn take(from: &mut Found<'_>) -> Option<Self> {
                Some(match from.words.next()? {
                    $($word => {
                        $($(let $field = Part::take(from)?;)+)?
                        Self::$variant $(($($field),+))?
                    })+
                    _ => return None,
                })
            }
        }
    };
}

/// Numbers behind the arguments; great ones are hexadecimal.
macro_rules! numbers {
    ($($ty:ty),+) => {
        $(impl Part for $ty {
            fn put(&self, to: &mut Parts) {
                to.numbers.push(match i128::from(*self) {
                    great if great > 0xffff => format!("{self:#x}"),
                    _ => self.to_string(),
                });
            }

            fn take(from: &mut Found<'_>) -> Option<Self> {
                number(from.numbers.next()?)?.try_into().ok()
            }
        })+
    };
}

numbers!(u8, u32, u64, i64);

/// Enums that have words.
macro_rules! words {
    ($($ty:ty),+) => {
        $(impl Part for $ty {
            fn put(&self, to: &mut Parts) {
                to.words.push(self.word());
            }

            fn take(from: &mut Found<'_>) -> Option<Self> {
                Self::from_word(from.words.next()?)
            }
        })+
    };
}

words!(AtomOp, Cmp, BoolOp, Space, mods::Barrier);

impl<T: Part> Part for Box<T> {
    fn put(&self, to: &mut Parts) {
        (**self).put(to);
    }

    fn take(from: &mut Found<'_>) -> Option<Self> {
        T::take(from).map(Self::new)
    }
}

parts! { Op {
    Const(bits) "const",
    MaskConst(bits) "maskconst",
    Splat "splat",
    Line(factor) "line",
    Sreg(register) "sreg",
    Lanes(op) "lanes",
    Test(test) "test",
    Unordered "unordered",
    Select "select",
    Convert(conversion) "convert",
    Low "low",
    ZeroExtend "zeroextend",
    SignExtend "signextend",
    RowOfMask "rowofmask",
    MaskOfScalar "maskofscalar",
    Mask(op) "mask",
    First "first",
    LaneConst(lanes) "laneconst",
    Permute "permute",
    Reduce(op) "reduce",
    Match "match",
    Live "live",
    LowestBit "lowestbit",
    Population "population",
    PopulationIfAny "populationifany",
    IsNonzero "isnonzero",
    Bits "bits",
    MaskOfBits "maskofbits",
    Scalar(native) "scalar",
    Wraps(signed, factor) "wraps",
    Load(access) "load",
    Store(access) "store",
    Atomic(atomic) "atomic",
    AtomicTotal(atomic) "atomictotal",
    Copy(copy) "copy",
    Interpret(step) "interpret",
    InterpretEnd(end) "interpretend",
    Stack(op) "stack",
    Barrier(barrier) "barrier",
    LoadHome(home) "loadhome",
    StoreHome(home) "storehome",
    Await(wait) "await",
    FirstLane "firstlane",
    BackEdge(standing) "backedge",
    Exit "exit",
    Count(counts) "count",
    Clock(ahead) "clock",
    CountOff(step) "countoff",
    CountEndOff(steps) "countendoff",
    Bump(counter, by) "bump",
    BumpBy(counter) "bumpby",
    Height(known) "height",
    Depth(known) "depth",
} }

parts! { LaneOp {
    And "and",
    Or "or",
    Xor "xor",
    AndNot "andnot",
    Add "add",
    Sub "sub",
    Mul "mul",
    MulLowU "mullowu",
    MulLowS "mullows",
    MulHighU "mulhighu",
    MulHighS "mulhighs",
    Table(table) "table",
    Shl "shl",
    Shr "shr",
    Sar "sar",
    MinU "minu",
    MaxU "maxu",
    MinS "mins",
    MaxS "maxs",
    Rotl "rotl",
    Popc "popc",
    Clz "clz",
    Reverse "reverse",
    Bytes "bytes",
    Add16 "add16",
    MinS16 "mins16",
    MaxS16 "maxs16",
    MinU16 "minu16",
    MaxU16 "maxu16",
    Dot16 "dot16",
    Float(op, rounding) "float",
    FMin "fmin",
    FMax "fmax",
    FLeast "fleast",
    FGreatest "fgreatest",
    Integral(rounding) "integral",
    FloatOfS(rounding) "floatofs",
    FloatOfU(rounding) "floatofu",
    SignedOf(rounding) "signedof",
    UnsignedOf(rounding) "unsignedof",
    SingleOfHalf "singleofhalf",
    HalfOfSingle(rounding) "halfofsingle",
} }

parts! { Conversion {
    DoubleOfSingle "doubleofsingle",
    DoubleOfS "doubleofs",
    DoubleOfU "doubleofu",
    SingleOfDouble(rounding) "singleofdouble",
    SingleOfS(rounding) "singleofs",
    SingleOfU(rounding) "singleofu",
    SignedOfDouble "signedofdouble",
    UnsignedOfDouble "unsignedofdouble",
} }

parts! { Arith { Add "add", Sub "sub", Mul "mul", Div "div", Fma "fma", Sqrt "sqrt", } }
parts! { Rounding { Nearest "rn", Zero "rz", Down "rm", Up "rp", } }
parts! { MaskOp { And "and", Or "or", Xor "xor", AndNot "andnot", Not "not", } }
parts! { Shape { One "one", Adjacent "adjacent", Any "any", Indexed(scale) "indexed", } }
parts! { StackOp {
    Top "top",
    Pop "pop",
    Wait(block) "wait",
    Push(block) "push",
    Height "height",
} }
parts! { Counter {
    SplitBranches "splitbranches",
    Pushes "pushes",
    Merges "merges",
    Emptied "emptied",
    Memory "memory",
    MorePaths "morepaths",
    SplitReturns "splitreturns",
    Collectives "collectives",
    UnnamedCollectives "unnamedcollectives",
} }
parts! { Test { U(rel) "u", S(rel) "s", F(cmp) "f", } }
parts! { Rel { Eq "eq", Ne "ne", Lt "lt", Le "le", Gt "gt", Ge "ge", } }
parts! { Logic { Mov "mov", And "and", Or "or", Xor "xor", Not "not", AndNot "andnot", } }
parts! { Op32 {
    Mov "mov", Add "add", Sub "sub", Mul "mul", Mad "mad", MulHiU "mulhiu", MulHiS "mulhis",
    And "and", Or "or", Xor "xor", Not "not", Neg "neg", Shl "shl", ShrU "shru", ShrS "shrs",
    MinU "minu", MaxU "maxu", MinS "mins", MaxS "maxs", AbsS "abss", Popc "popc", Clz "clz",
    FAdd "fadd", FSub "fsub", FMul "fmul", FFma "ffma", FDiv "fdiv", FRcp "frcp", FSqrt "fsqrt",
    FAbs "fabs", FNeg "fneg", FFromU "ffromu", FFromS "ffroms",
} }
parts! { Op64 {
    Mov "mov", Add "add", Sub "sub", Mul "mul", Mad "mad", And "and", Or "or", Xor "xor",
    Not "not", Neg "neg", Shl "shl", ShrU "shru", ShrS "shrs", MinU "minu", MaxU "maxu",
    MinS "mins", MaxS "maxs", MulWideU "mulwideu", MulWideS "mulwides", MadWideU "madwideu",
    MadWideS "madwides", Zext32 "zext32", Sext32 "sext32", DAdd "dadd", DSub "dsub", DMul "dmul",
    DFma "dfma", DDiv "ddiv",
} }

impl Part for bool {
    fn put(&self, to: &mut Parts) {
        to.words.push(if *self { "signed" } else { "unsigned" });
    }

    fn take(from: &mut Found<'_>) -> Option<Self> {
        match from.words.next()? {
            "signed" => Some(true),
            "unsigned" => Some(false),
            _ => None,
        }
    }
}

/// The width of an operation on scalars.
fn width(wide: bool) -> &'static str {
    if wide { "64" } else { "32" }
}

fn take_width(from: &mut Found<'_>) -> Option<bool> {
    match from.words.next()? {
        "64" => Some(true),
        "32" => Some(false),
        _ => None,
    }
}

impl Part for Native {
    fn put(&self, to: &mut Parts) {
        match self {
            Self::Narrow(op) => {
                to.words.push("32");
                op.put(to);
            }
            Self::Wide(op) => {
                to.words.push("64");
                op.put(to);
            }
            Self::Test { test, wide, combine } => {
                to.words.extend(["test", width(*wide)]);
                test.put(to);
                if let Some(combine) = combine {
                    combine.put(to);
                }
            }
            Self::Select { wide } => to.words.extend(["select", width(*wide)]),
            Self::Logic(op) => {
                to.words.push("logic");
                op.put(to);
            }
            Self::Low => to.words.push("low"),
        }
    }

    fn take(from: &mut Found<'_>) -> Option<Self> {
        Some(match from.words.next()? {
            "32" => Self::Narrow(Part::take(from)?),
            "64" => Self::Wide(Part::take(from)?),
            "test" => {
                let (wide, test) = (take_width(from)?, Part::take(from)?);
                let more = !from.words.as_slice().is_empty();
                let combine = if more { Some(Part::take(from)?) } else { None };
                Self::Test { test, wide, combine }
            }
            "select" => Self::Select { wide: take_width(from)? },
            "logic" => Self::Logic(Part::take(from)?),
            "low" => Self::Low,
            _ => return None,
        })
    }
}
