//! Expectations: prepared before a run, checked after it.

use std::path::Path;

use inputs::array::{Array, shape_text};
use inputs::elem::{self, ElemType, parse_any_integer};
use inputs::launch::{
    Expectation, Expected, ExpectedBuffer, ExpectedContents, ExpectedMemory, ExpectedStatistic,
    ExpectedTrap, Located, NamedBuffer,
};
use inputs::npy;
use inputs::tolerance::Tolerance;
use isa::{Diagnostic, Span};
use machines::{Context as GuestMemory, End, Stop};
use simt::counts::{Unit, metric};

use super::report::{CheckOutcome, FinalBuffer};
use crate::compare::{compare, compare_multisets};
use crate::stats::RunStats;

/// An expectation with all data that it needs.
#[derive(Clone, Debug)]
pub(super) struct Check {
    what: Prepared,
    span: Span,
}

#[derive(Clone, Debug)]
enum Prepared {
    Buffer { expected: ExpectedBuffer, want: Array, start: usize, shown: String },
    Memory { expected: ExpectedMemory, want: Array, shown: String },
    Statistic(ExpectedStatistic),
    Trap(ExpectedTrap),
    Hang { kind: String, launch: Option<u64> },
}

/// Guest memory that an expectation is about, or why it cannot be read; `None` if it is about
/// something else.
pub(super) type MemoryRead = Option<Result<Array, String>>;

/// The inputs of [`prepare`].
pub(super) struct Context<'a> {
    pub(super) directory: &'a Path,
    pub(super) buffers: &'a [(NamedBuffer, Array)],
    pub(super) cap: u64,
}

/// Loads the data that an expectation needs, and checks it against the buffers' types and sizes.
pub(super) fn prepare(
    expectation: &Expectation,
    context: &Context<'_>,
) -> Result<Check, Diagnostic> {
    let what = match &expectation.what {
        Expected::Buffer(expected) => prepare_buffer(expected, context)?,
        Expected::Memory(expected) => prepare_memory(expected, context)?,
        Expected::Statistic(expected) => Prepared::Statistic(expected.clone()),
        Expected::Trap(expected) => Prepared::Trap(expected.clone()),
        Expected::Hang { kind, launch } => {
            Prepared::Hang { kind: kind.value.clone(), launch: *launch }
        }
    };
    Ok(Check { what, span: expectation.span })
}

fn prepare_buffer(
    expected: &ExpectedBuffer,
    context: &Context<'_>,
) -> Result<Prepared, Diagnostic> {
    let name = &expected.buffer;
    let Some((_, buffer)) = context.buffers.iter().find(|(b, _)| b.name.value == name.value) else {
        // The buffer's own diagnostic explains why it could not be built.
        return Err(Diagnostic::error(
            "expect::buffer",
            format!("buffer `{}` is not there", name.value),
        )
        .at(name.span, ""));
    };
    let whole = buffer.len() as u64;
    let [start, count] = expected.range.as_ref().map_or([0, whole], |r| r.value);
    if start.checked_add(count).is_none_or(|end| end > whole) {
        let span = expected.range.as_ref().map_or(name.span, |r| r.span);
        let message = format!("`{}` has {whole} elements", name.value);
        return Err(Diagnostic::error("expect::range", message)
            .at(span, "reaches beyond them")
            .help("range is [first, count]"));
    }
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let ty = buffer.ty();
    let (want, shown) = match &expected.contents {
        ExpectedContents::File(path) => {
            let path_text = path.value.display().to_string();
            let shape = if expected.range.is_some() { None } else { Some(buffer.shape()) };
            (expected_file(path, ty, shape, count, context)?, path_text)
        }
        ExpectedContents::Fill(literal) => filled(ty, literal, count)?,
        ExpectedContents::Values(values) => {
            if values.value.len() != count {
                let message = format!("{} values for {count} elements", values.value.len());
                return Err(Diagnostic::error("expect::count", message)
                    .at(values.span, "")
                    .help("give as many as are compared, or say which with range"));
            }
            literals(ty, values)?
        }
    };
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    Ok(Prepared::Buffer { expected: expected.clone(), want, start, shown })
}

fn prepare_memory(
    expected: &ExpectedMemory,
    context: &Context<'_>,
) -> Result<Prepared, Diagnostic> {
    let ty = expected.ty;
    let (want, shown) = match &expected.contents {
        ExpectedContents::File(path) => {
            (typed_file(path, ty, context)?, path.value.display().to_string())
        }
        ExpectedContents::Fill(literal) => {
            let count = expected.count.as_ref().map_or(0, |count| count.value);
            filled(ty, literal, usize::try_from(count).unwrap_or(usize::MAX))?
        }
        ExpectedContents::Values(values) => literals(ty, values)?,
    };
    Ok(Prepared::Memory { expected: expected.clone(), want, shown })
}

/// Elements that are all one literal, and words for them.
fn filled(
    ty: ElemType,
    literal: &Located<String>,
    count: usize,
) -> Result<(Array, String), Diagnostic> {
    let bits = parse(ty, literal)?;
    Ok((Array::from_bits(ty, &vec![bits; count]), format!("all {}", literal.value)))
}

/// Elements from literals, and words for them.
fn literals(
    ty: ElemType,
    values: &Located<Vec<Located<String>>>,
) -> Result<(Array, String), Diagnostic> {
    let bits: Vec<u64> = values.value.iter().map(|v| parse(ty, v)).collect::<Result<_, _>>()?;
    Ok((Array::from_bits(ty, &bits), format!("{} values", bits.len())))
}

fn parse(ty: ElemType, literal: &Located<String>) -> Result<u64, Diagnostic> {
    elem::parse_literal(ty, &literal.value).map_err(|error| {
        Diagnostic::error("expect::value", error.to_string())
            .at(literal.span, "")
            .help(error.help())
    })
}

/// Loads an expected array of type `ty`, of the given shape or, without one, of `count` elements.
fn expected_file(
    path: &Located<std::path::PathBuf>,
    ty: ElemType,
    shape: Option<&[u64]>,
    count: usize,
    context: &Context<'_>,
) -> Result<Array, Diagnostic> {
    let shown = path.value.display();
    let want = typed_file(path, ty, context)?;
    let same = match shape {
        Some(shape) => shape == want.shape(),
        None => want.len() == count,
    };
    if !same {
        let wanted = shape.map_or(count.to_string(), shape_text);
        let message =
            format!("{shown} has shape [{}], [{wanted}] is compared", shape_text(want.shape()));
        return Err(Diagnostic::error("expect::shape", message)
            .at(path.span, "another shape")
            .help("save an array of the buffer's shape"));
    }
    Ok(want)
}

/// Loads an expected array of type `ty`.
fn typed_file(
    path: &Located<std::path::PathBuf>,
    ty: ElemType,
    context: &Context<'_>,
) -> Result<Array, Diagnostic> {
    let shown = path.value.display();
    let want = npy::load(&context.directory.join(&path.value), context.cap).map_err(|error| {
        Diagnostic::error("expect::npy", format!("cannot read {shown}: {error}"))
            .at(path.span, "named here")
            .help(error.help())
    })?;
    if !ty.accepts(want.ty()) {
        let message = format!("{shown} holds {}, not {ty}", want.ty());
        return Err(Diagnostic::error("expect::type", message)
            .at(path.span, "another element type")
            .help(format!("save the array as {ty}")));
    }
    Ok(want.with_type(ty).unwrap_or_else(|same| same))
}

impl Check {
    /// Returns the buffer that this compares as a multiset, if it does.
    pub(super) fn multiset(&self) -> Option<&str> {
        match &self.what {
            Prepared::Buffer { expected, .. } if expected.multiset => Some(&expected.buffer.value),
            _ => None,
        }
    }

    /// Reads the guest memory that this expects something of; `None` if it expects something else.
    pub(super) fn read_memory(&self, context: &dyn GuestMemory) -> MemoryRead {
        let Prepared::Memory { expected, want, .. } = &self.what else { return None };
        let place = &expected.place.value;
        let number = parse_any_integer(place).and_then(|at| u64::try_from(at).ok());
        let Some(address) = number.or_else(|| context.symbol(place)) else {
            return Some(Err("it is no address, and the program has no such symbol".to_owned()));
        };
        let shape = vec![want.len() as u64];
        let read = context.read(address, want.data().len()).and_then(|bytes| {
            Array::new(want.ty(), shape, bytes).map_err(|error| error.to_string())
        });
        Some(read)
    }

    /// Returns whether this checks a statistic.
    pub(super) fn is_statistic(&self) -> bool {
        matches!(self.what, Prepared::Statistic(_))
    }

    /// Returns whether buffers hold what this expects of one; `None` if it expects something else.
    pub(super) fn accepts(&self, buffers: &[FinalBuffer]) -> Option<bool> {
        match &self.what {
            Prepared::Buffer { expected, want, start, shown } => {
                Some(judge_buffer(expected, want, *start, shown, buffers).0)
            }
            _ => None,
        }
    }

    /// Returns whether this expects exactly `end` of launch number `index`.
    pub(super) fn expects_end(&self, index: usize, end: &End) -> bool {
        match (&self.what, end) {
            (Prepared::Trap(trap), End::Fault(stop)) => {
                launch_matches(trap.launch, index) && trap_mismatch(trap, stop).is_none()
            }
            (Prepared::Hang { kind, launch }, End::Hang(stop)) => {
                launch_matches(*launch, index) && *kind == stop.code
            }
            _ => false,
        }
    }

    /// Checks the results of a run.
    pub(super) fn judge(
        &self,
        ends: &[End],
        (buffers, memory): (&[FinalBuffer], &MemoryRead),
        stats: &RunStats,
    ) -> CheckOutcome {
        let (passed, text) = match &self.what {
            Prepared::Buffer { expected, want, start, shown } => {
                judge_buffer(expected, want, *start, shown, buffers)
            }
            Prepared::Memory { expected, want, shown } => {
                judge_memory(expected, want, shown, memory)
            }
            Prepared::Statistic(expected) => judge_statistic(expected, stats),
            Prepared::Trap(trap) => judge_trap(trap, ends),
            Prepared::Hang { kind, launch } => judge_hang(kind, *launch, ends),
        };
        CheckOutcome { passed, text, span: self.span }
    }
}

fn launch_matches(wanted: Option<u64>, index: usize) -> bool {
    wanted.is_none_or(|launch| launch == index as u64)
}

fn judge_buffer(
    expected: &ExpectedBuffer,
    want: &Array,
    start: usize,
    shown: &str,
    buffers: &[FinalBuffer],
) -> (bool, String) {
    let name = &expected.buffer.value;
    let Some(buffer) = buffers.iter().find(|b| b.name == *name) else {
        return (false, format!("{name}: the buffer is gone"));
    };
    let got = &buffer.contents;
    if expected.multiset {
        let got: Vec<u64> = got.iter().skip(start).take(want.len()).collect();
        let want: Vec<u64> = want.iter().collect();
        return match compare_multisets(name, buffer.contents.ty(), &got, &want) {
            None => (true, format!("{name} holds the elements of {shown} ({})", want.len())),
            Some(text) => (false, text),
        };
    }
    compared(name, got, (start, want, shown), expected.tolerance)
}

fn judge_memory(
    expected: &ExpectedMemory,
    want: &Array,
    shown: &str,
    memory: &MemoryRead,
) -> (bool, String) {
    let name = format!("memory at {}", expected.place.value);
    match memory {
        Some(Ok(got)) => compared(&name, got, (0, want, shown), expected.tolerance),
        Some(Err(why)) => (false, format!("{name} cannot be read: {why}")),
        None => (false, format!("{name} was not read")),
    }
}

/// Compares elements from `start` on with those that are wanted.
fn compared(
    name: &str,
    got: &Array,
    (start, want, shown): (usize, &Array, &str),
    tolerance: Tolerance,
) -> (bool, String) {
    let result = compare(got, start, want, tolerance);
    if result.passes() {
        let exactly = if result.max_abs.is_some() || result.max_ulp.is_some() {
            " within tolerance"
        } else {
            ""
        };
        return (true, format!("{name} equals {shown}{exactly} ({} elements)", result.compared));
    }
    (false, result.describe(name, got))
}

fn judge_statistic(expected: &ExpectedStatistic, stats: &RunStats) -> (bool, String) {
    let name = &expected.name.value;
    let launch = expected.launch.and_then(|l| usize::try_from(l).ok());
    let (Some(metric), Some(value)) = (metric(name), stats.value(name, launch)) else {
        return (false, format!("{name}: launch {} did not run", launch.unwrap_or(0)));
    };
    let equals = expected.equals.is_none_or(|e| metric.equals(value, e));
    let passed = equals
        && expected.min.is_none_or(|min| value >= min)
        && expected.max.is_none_or(|max| value <= max);
    let value = match metric.unit {
        Unit::Count => format!("{value}"),
        Unit::Mean | Unit::Percent => format!("{value:.2}"),
    };
    let bounds: Vec<String> = [
        expected.equals.map(|v| format!("equal to {v}")),
        expected.min.map(|v| format!("at least {v}")),
        expected.max.map(|v| format!("at most {v}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let bounds = bounds.join(" and ");
    if passed {
        (true, format!("{name} is {value}, {bounds}"))
    } else {
        (false, format!("{name}: expected {bounds}, got {value}"))
    }
}

/// Describes in what a fault differs from an expected trap; `None` if it does not.
fn trap_mismatch(trap: &ExpectedTrap, stop: &Stop) -> Option<String> {
    if trap.code.value != stop.code {
        return Some(format!("expected trap {}, got {}", trap.code.value, stop.code));
    }
    if let Some(line) = trap.line
        && stop.line != Some(line)
    {
        let got = stop.line.map_or("an unknown line".to_owned(), |l| format!("line {l}"));
        return Some(format!("expected trap {} at line {line}, got it at {got}", stop.code));
    }
    match &trap.message {
        Some(text) if !stop.report.message.contains(text) => Some(format!(
            "expected the message of trap {} to contain `{text}`, got `{}`",
            stop.code, stop.report.message
        )),
        _ => None,
    }
}

fn judge_trap(trap: &ExpectedTrap, ends: &[End]) -> (bool, String) {
    let code = &trap.code.value;
    let at = trap.launch.map_or(String::new(), |l| format!(" in launch {l}"));
    for (index, end) in ends.iter().enumerate() {
        match end {
            End::Fault(stop) if launch_matches(trap.launch, index) => {
                return match trap_mismatch(trap, stop) {
                    None => (true, format!("trap {code}{at}, as expected")),
                    Some(text) => (false, text),
                };
            }
            _ => {}
        }
    }
    (false, format!("expected trap {code}{at}, but nothing faulted"))
}

fn judge_hang(kind: &str, launch: Option<u64>, ends: &[End]) -> (bool, String) {
    let at = launch.map_or(String::new(), |l| format!(" in launch {l}"));
    for (index, end) in ends.iter().enumerate() {
        match end {
            End::Hang(stop) if launch_matches(launch, index) => {
                return match stop.code == kind {
                    true => (true, format!("hang {kind}{at}, as expected")),
                    false => (false, format!("expected hang {kind}{at}, got {}", stop.code)),
                };
            }
            _ => {}
        }
    }
    (false, format!("expected hang {kind}{at}, but nothing hung"))
}
