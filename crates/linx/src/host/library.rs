//! Functions of the C library and of the compiler's run-time library that no object defines: the
//! host computes them, as code at an address of its own calls it.
//!
//! A function has a block that names its number and returns. Arguments are in `a0` to `a7`, those
//! of variadic functions on the stack, where upstream's compiler puts all of them, each aligned to
//! its own size of 4 or 8 bytes.

use simt::arith::{Cmp, Flags};
use simt::memory::Addr;

use super::format;
use crate::action::Float;
use crate::compute::{self, FloatType, float_op};
use crate::state::State;

/// What a function does. `None`: memory that it needs is not mapped.
type Function = fn(&mut State, [u64; 8]) -> Option<u64>;

/// A function of the host.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    run: Function,
}

const fn entry(name: &'static str, run: Function) -> Entry {
    Entry { name, run }
}

/// All functions, in the order of their numbers.
pub(crate) static FUNCTIONS: [Entry; 63] = [
    entry("exit", |s, a| {
        s.exit(i64::from(a[0] as i32));
        Some(0)
    }),
    entry("_Exit", |s, a| {
        s.exit(i64::from(a[0] as i32));
        Some(0)
    }),
    entry("abort", |s, _| {
        s.exit(134);
        Some(0)
    }),
    entry("atexit", |_, _| Some(0)),
    entry("malloc", |s, a| Some(s.allocate(a[0]))),
    entry("calloc", |s, a| match a[0].checked_mul(a[1]) {
        Some(bytes) => {
            let at = s.allocate(bytes);
            if at != 0 && bytes > 0 {
                s.memory.fill(Addr(at), bytes, 0).ok()?;
            }
            Some(at)
        }
        None => Some(0),
    }),
    entry("realloc", realloc),
    entry("free", |s, a| {
        s.release(a[0]);
        Some(0)
    }),
    entry("memcpy", copy),
    entry("memmove", copy),
    entry("memset", |s, a| {
        if a[2] > 0 {
            s.memory.fill(Addr(a[0]), a[2], a[1] as u8).ok()?;
        }
        Some(a[0])
    }),
    entry("memcmp", |s, a| {
        let (x, y) = (s.bytes(a[0], a[2])?, s.bytes(a[1], a[2])?);
        Some(order(&x, &y))
    }),
    entry("strlen", |s, a| s.string(a[0]).map(|t| t.len() as u64)),
    entry("strcmp", |s, a| Some(order(&s.string(a[0])?, &s.string(a[1])?))),
    entry("strncmp", |s, a| {
        let cut = |mut text: Vec<u8>| {
            text.truncate(usize::try_from(a[2]).unwrap_or(usize::MAX));
            text
        };
        Some(order(&cut(s.string(a[0])?), &cut(s.string(a[1])?)))
    }),
    entry("strcpy", |s, a| {
        let mut text = s.string(a[1])?;
        text.push(0);
        s.write_guest(a[0], &text)?;
        Some(a[0])
    }),
    entry("strncpy", |s, a| {
        let mut text = s.string(a[1])?;
        text.resize(usize::try_from(a[2]).ok().filter(|&n| n <= 1 << 20)?, 0);
        s.write_guest(a[0], &text)?;
        Some(a[0])
    }),
    entry("strcat", |s, a| {
        let end = a[0].wrapping_add(s.string(a[0])?.len() as u64);
        let mut text = s.string(a[1])?;
        text.push(0);
        s.write_guest(end, &text)?;
        Some(a[0])
    }),
    entry("strchr", |s, a| {
        let mut text = s.string(a[0])?;
        text.push(0);
        let at = text.iter().position(|&b| b == a[1] as u8);
        Some(at.map_or(0, |at| a[0].wrapping_add(at as u64)))
    }),
    entry("putchar", |s, a| {
        s.host.console.print(&[a[0] as u8]);
        Some(u64::from(a[0] as u8))
    }),
    entry("puts", |s, a| {
        let mut text = s.string(a[0])?;
        text.push(b'\n');
        s.host.console.print(&text);
        Some(text.len() as u64)
    }),
    entry("printf", |s, _| {
        let text = formatted(s, 0)?;
        s.host.console.print(&text);
        Some(text.len() as u64)
    }),
    entry("sprintf", |s, _| {
        let at = s.word(s.gpr[1])?;
        let mut text = formatted(s, 1)?;
        text.push(0);
        s.write_guest(at, &text)?;
        Some(text.len() as u64 - 1)
    }),
    entry("snprintf", |s, _| {
        let (at, room) = (s.word(s.gpr[1])?, s.word(s.gpr[1].wrapping_add(8))?);
        let text = formatted(s, 2)?;
        if room > 0 {
            let fits = text.len().min(usize::try_from(room - 1).unwrap_or(usize::MAX));
            let mut kept = text[..fits].to_vec();
            kept.push(0);
            s.write_guest(at, &kept)?;
        }
        Some(text.len() as u64)
    }),
    entry("time", |s, a| {
        let now = s.nanoseconds() / 1_000_000_000;
        if a[0] != 0 {
            s.write_guest(a[0], &now.to_le_bytes())?;
        }
        Some(now)
    }),
    // CLOCKS_PER_SEC is a million.
    entry("clock", |s, _| Some(s.nanoseconds() / 1000)),
    entry("atoi", |s, a| {
        let text = s.string(a[0])?;
        Some(i64::from(integer(&text) as i32) as u64)
    }),
    entry("atol", |s, a| Some(integer(&s.string(a[0])?) as u64)),
    entry("abs", |_, a| Some(i64::from((a[0] as i32).wrapping_abs()) as u64)),
    entry("__adddf3", |s, a| Some(float(s, Float::Add, 64, a))),
    entry("__subdf3", |s, a| Some(float(s, Float::Sub, 64, a))),
    entry("__muldf3", |s, a| Some(float(s, Float::Mul, 64, a))),
    entry("__divdf3", |s, a| Some(float(s, Float::Div, 64, a))),
    entry("__addsf3", |s, a| Some(float(s, Float::Add, 32, a))),
    entry("__subsf3", |s, a| Some(float(s, Float::Sub, 32, a))),
    entry("__mulsf3", |s, a| Some(float(s, Float::Mul, 32, a))),
    entry("__divsf3", |s, a| Some(float(s, Float::Div, 32, a))),
    entry("sqrt", |s, a| Some(float(s, Float::Sqrt, 64, a))),
    entry("sqrtf", |s, a| Some(float(s, Float::Sqrt, 32, a))),
    entry("fabs", |s, a| Some(float(s, Float::Abs, 64, a))),
    // Less, equal, greater as -1, 0, 1; what unordered operands give is the failing answer.
    entry("__eqdf2", |s, a| Some(compare(s, 64, a, 1))),
    entry("__nedf2", |s, a| Some(compare(s, 64, a, 1))),
    entry("__ltdf2", |s, a| Some(compare(s, 64, a, 1))),
    entry("__ledf2", |s, a| Some(compare(s, 64, a, 1))),
    entry("__gtdf2", |s, a| Some(compare(s, 64, a, -1))),
    entry("__gedf2", |s, a| Some(compare(s, 64, a, -1))),
    entry("__eqsf2", |s, a| Some(compare(s, 32, a, 1))),
    entry("__nesf2", |s, a| Some(compare(s, 32, a, 1))),
    entry("__ltsf2", |s, a| Some(compare(s, 32, a, 1))),
    entry("__lesf2", |s, a| Some(compare(s, 32, a, 1))),
    entry("__gtsf2", |s, a| Some(compare(s, 32, a, -1))),
    entry("__gesf2", |s, a| Some(compare(s, 32, a, -1))),
    entry("__extendsfdf2", |s, a| Some(narrow(s, a[0], FloatType::Fp32, FloatType::Fp64))),
    entry("__truncdfsf2", |s, a| Some(narrow(s, a[0], FloatType::Fp64, FloatType::Fp32))),
    entry("__floatsidf", |s, a| Some(from_int(s, a[0], 32, true, FloatType::Fp64))),
    entry("__floatunsidf", |s, a| Some(from_int(s, a[0], 32, false, FloatType::Fp64))),
    entry("__floatdidf", |s, a| Some(from_int(s, a[0], 64, true, FloatType::Fp64))),
    entry("__floatundidf", |s, a| Some(from_int(s, a[0], 64, false, FloatType::Fp64))),
    entry("__floatsisf", |s, a| Some(from_int(s, a[0], 32, true, FloatType::Fp32))),
    entry("__fixdfsi", |s, a| Some(to_int(s, a[0], 32, true))),
    entry("__fixdfdi", |s, a| Some(to_int(s, a[0], 64, true))),
    entry("__fixunsdfsi", |s, a| Some(to_int(s, a[0], 32, false))),
    entry("__fixunsdfdi", |s, a| Some(to_int(s, a[0], 64, false))),
];

impl State {
    /// Runs the function whose number is in `t#1`. A function whose memory is not mapped ends the
    /// program as a fault would: with code 139 and a line on the console.
    pub(super) fn host_call(&mut self) {
        let number = self.t[0];
        let found = usize::try_from(number).ok().and_then(|n| FUNCTIONS.get(n));
        let arguments = std::array::from_fn(|k| self.gpr[2 + k]);
        match found.map(|f| (f, (f.run)(self, arguments))) {
            Some((_, Some(value))) => self.gpr[2] = value,
            Some((function, None)) => {
                let words = format!("{}: memory that is not mapped\n", function.name);
                self.host.console.print(words.as_bytes());
                self.exit(139);
            }
            None => self.exit(139),
        }
    }
}

fn copy(s: &mut State, a: [u64; 8]) -> Option<u64> {
    if a[2] > 0 {
        s.memory.copy(Addr(a[0]), Addr(a[1]), a[2]).ok()?;
    }
    Some(a[0])
}

fn realloc(s: &mut State, a: [u64; 8]) -> Option<u64> {
    let old = s.host.heap.sizes.get(&a[0]).copied().unwrap_or(0);
    let at = s.allocate(a[1]);
    if at != 0 && old.min(a[1]) > 0 {
        s.memory.copy(Addr(at), Addr(a[0]), old.min(a[1])).ok()?;
    }
    if at != 0 {
        s.release(a[0]);
    }
    Some(at)
}

/// -1, 0 or 1.
fn order(x: &[u8], y: &[u8]) -> u64 {
    x.cmp(y) as i64 as u64
}

fn integer(text: &[u8]) -> i64 {
    let text = text.trim_ascii_start();
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let digits = digits.iter().take_while(|b| b.is_ascii_digit());
    let value = digits.fold(0i64, |v, b| v.wrapping_mul(10).wrapping_add(i64::from(b - b'0')));
    if negative { value.wrapping_neg() } else { value }
}

/// The text of a format that is the `skip`-th word of the stack, with the arguments behind it.
fn formatted(s: &State, skip: u64) -> Option<Vec<u8>> {
    let stack = s.gpr[1].wrapping_add(8 * skip);
    let format = s.string(s.word(stack)?)?;
    let mut next = stack.wrapping_add(8);
    let mut argument = |bytes: u64| {
        let at = next.wrapping_add(next.wrapping_neg() % bytes);
        next = at.wrapping_add(bytes);
        let mut value = [0; 8];
        s.memory.read_bytes(Addr(at), value.get_mut(..bytes as usize)?).ok()?;
        Some(u64::from_le_bytes(value))
    };
    format::format(&format, &mut argument, &|at| s.string(at))
}

fn float(s: &mut State, op: Float, bits: u32, a: [u64; 8]) -> u64 {
    let mut flags = Flags::NONE;
    let cut = |value| compute::extend(value, bits, false);
    let value = float_op(op, bits, cut(a[0]), cut(a[1]), 0, s.env(), &mut flags);
    s.raise(flags);
    value
}

fn compare(s: &mut State, bits: u32, a: [u64; 8], unordered: i64) -> u64 {
    let mut holds = |cmp| float(s, Float::Compare(cmp, false), bits, a) != 0;
    let result = if holds(Cmp::Eq) {
        0
    } else if holds(Cmp::Lt) {
        -1
    } else if holds(Cmp::Gt) {
        1
    } else {
        unordered
    };
    result as u64
}

fn narrow(s: &mut State, value: u64, from: FloatType, to: FloatType) -> u64 {
    let mut flags = Flags::NONE;
    let value = compute::float_to_float(value, from, to, s.env(), &mut flags);
    s.raise(flags);
    value
}

fn from_int(s: &mut State, value: u64, bits: u32, signed: bool, to: FloatType) -> u64 {
    let mut flags = Flags::NONE;
    let value = compute::extend(value, bits, signed);
    let value = compute::int_to_float(value, signed, to, s.env(), &mut flags);
    s.raise(flags);
    value
}

fn to_int(s: &mut State, value: u64, bits: u32, signed: bool) -> u64 {
    let mut flags = Flags::NONE;
    let env = s.env().with_rounding(simt::arith::Rounding::TowardZero);
    let value = compute::float_to_int(value, FloatType::Fp64, bits, signed, env, &mut flags);
    s.raise(flags);
    compute::extend(value, bits, true)
}
