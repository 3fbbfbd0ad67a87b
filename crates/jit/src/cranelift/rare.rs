//! Operations on rows that the host executes lane by lane: those that round otherwise than to
//! nearest, for which there is no mode of the processor to set, and half precision.

use super::Lowering;
use simt::arith::{F16, F32, F64, FpEnv, Rounding as Mode, float};
use std::sync::OnceLock;
use vector::{Arith, Conversion, LaneOp, Rounding, Type, Value};

/// Bytes of the room of an operand.
const ROW: i64 = 256;

/// Such an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RareOperation {
    /// An operation on lanes, and whether these have 64 bits.
    Lanes(LaneOp, bool),
    Convert(Conversion),
}

use RareOperation::{Convert, Lanes};

/// All of them, in the order of their numbers.
fn all() -> &'static [RareOperation] {
    static ALL: OnceLock<Vec<RareOperation>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut list = vec![Lanes(LaneOp::SingleOfHalf, false)];
        for rounding in [Rounding::Nearest, Rounding::Zero, Rounding::Down, Rounding::Up] {
            list.push(Lanes(LaneOp::HalfOfSingle(rounding), false));
            list.push(Convert(Conversion::SingleOfDouble(rounding)));
            list.push(Convert(Conversion::SingleOfS(rounding)));
            list.push(Convert(Conversion::SingleOfU(rounding)));
            for wide in [false, true] {
                use Arith::{Add, Div, Fma, Mul, Sqrt, Sub};
                for arith in [Add, Sub, Mul, Div, Fma, Sqrt] {
                    list.push(Lanes(LaneOp::Float(arith, rounding), wide));
                }
                list.push(Lanes(LaneOp::FloatOfS(rounding), wide));
                list.push(Lanes(LaneOp::FloatOfU(rounding), wide));
            }
        }
        list
    })
}

fn environment(rounding: Rounding) -> FpEnv {
    FpEnv::PTX.with_rounding(match rounding {
        Rounding::Nearest => Mode::NearestEven,
        Rounding::Zero => Mode::TowardZero,
        Rounding::Down => Mode::TowardNegative,
        Rounding::Up => Mode::TowardPositive,
    })
}

impl RareOperation {
    pub(crate) fn numbered(number: u32) -> Option<Self> {
        all().get(number as usize).copied()
    }

    /// Executes the operation on rows of 64 words each, the first of which it replaces.
    pub(crate) fn execute(self, room: &mut [[u32; 32]; 10]) {
        let (operands, [from, to]) = match self {
            Lanes(op, wide) => (op.operands(), [wide; 2]),
            Convert(conversion) => (1, conversion.types().map(|ty| ty == Type::Row64)),
        };
        let words = room.as_flattened_mut();
        let mut results = [0; 32];
        for (lane, result) in results.iter_mut().enumerate() {
            let operand = |i: usize| match from {
                true => {
                    let at = 64 * i + 2 * lane;
                    u64::from(words[at]) | u64::from(words[at + 1]) << 32
                }
                false => u64::from(words[64 * i + lane]),
            };
            let mut list = [0; 3];
            (0..operands).for_each(|i| list[i] = operand(i));
            *result = self.lane(list);
        }
        for (lane, result) in results.into_iter().enumerate() {
            if to {
                words[2 * lane] = result as u32;
                words[2 * lane + 1] = (result >> 32) as u32;
            } else {
                words[lane] = result as u32;
            }
        }
    }

    /// Computes a lane.
    fn lane(self, [a, b, c]: [u64; 3]) -> u64 {
        match self {
            Lanes(LaneOp::SingleOfHalf, _) => float::convert::<F16, F32>(a & 0xffff, FpEnv::PTX),
            Lanes(LaneOp::HalfOfSingle(r), _) => float::convert::<F32, F16>(a, environment(r)),
            Lanes(LaneOp::FloatOfS(r), false) => float::from_int::<i32, F32>(a, environment(r)),
            Lanes(LaneOp::FloatOfU(r), false) => float::from_int::<u32, F32>(a, environment(r)),
            Lanes(LaneOp::FloatOfS(r), true) => float::from_int::<i64, F64>(a, environment(r)),
            Lanes(LaneOp::FloatOfU(r), true) => float::from_int::<u64, F64>(a, environment(r)),
            Lanes(LaneOp::Float(arith, r), false) => arithmetic::<F32>(arith, [a, b, c], r),
            Lanes(LaneOp::Float(arith, r), true) => arithmetic::<F64>(arith, [a, b, c], r),
            Convert(Conversion::SingleOfDouble(r)) => float::convert::<F64, F32>(a, environment(r)),
            Convert(Conversion::SingleOfS(r)) => float::from_int::<i64, F32>(a, environment(r)),
            Convert(Conversion::SingleOfU(r)) => float::from_int::<u64, F32>(a, environment(r)),
            Lanes(..) | Convert(_) => 0,
        }
    }
}

fn arithmetic<F: simt::arith::Format>(arith: Arith, [a, b, c]: [u64; 3], r: Rounding) -> u64 {
    let environment = environment(r);
    match arith {
        Arith::Add => float::add::<F>(a, b, environment),
        Arith::Sub => float::sub::<F>(a, b, environment),
        Arith::Mul => float::mul::<F>(a, b, environment),
        Arith::Div => float::div::<F>(a, b, environment),
        Arith::Fma => float::fma::<F>(a, b, c, environment),
        Arith::Sqrt => float::sqrt::<F>(a, environment),
    }
}

impl Lowering<'_> {
    /// Returns whether the host executes an operation.
    pub(super) fn is_rare(&self, op: LaneOp, wide: bool) -> bool {
        let rounding = match op {
            LaneOp::Float(_, rounding)
            | LaneOp::FloatOfS(rounding)
            | LaneOp::FloatOfU(rounding) => rounding,
            LaneOp::SingleOfHalf | LaneOp::HalfOfSingle(_) => Rounding::Up,
            _ => Rounding::Nearest,
        };
        rounding != Rounding::Nearest && all().contains(&Lanes(op, wide))
    }

    pub(super) fn rare_lanes(&mut self, op: LaneOp, args: &[Value], result: Option<Value>) {
        let wide = result.is_some_and(|row| self.is_wide(row));
        self.rare(Lanes(op, wide), args, result);
    }

    pub(super) fn rare_conversion(&mut self, of: Conversion, row: Value, result: Option<Value>) {
        self.rare(Convert(of), &[row], result);
    }

    /// Has the host execute an operation.
    fn rare(&mut self, operation: RareOperation, args: &[Value], result: Option<Value>) {
        let (Some(row), Some(number)) = (result, all().iter().position(|&o| o == operation)) else {
            return;
        };
        for (i, &arg) in args.iter().enumerate() {
            let list = self.row(arg);
            self.store_room(&list, ROW * i as i64);
        }
        let number = self.iconst32(number as u32);
        self.call_helper(self.helpers.rare, &[number]);
        let list = self.load_room(0, self.is_wide(row));
        self.put_row(result, &list);
    }
}
