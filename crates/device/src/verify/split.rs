//! Smaller cases in place of one that a part of it keeps from running.

use std::collections::BTreeSet;

use crate::error::DeviceError;
use crate::record::RunEnd;

/// What is known of the part that is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blame<'a> {
    /// Lines that the messages of a compiler name.
    Lines(&'a str),
    /// The launch that did not end well.
    Launch(usize),
    /// Nothing.
    Unknown,
}

impl<'a> Blame<'a> {
    /// The blame for an end; none if all has run.
    pub(super) fn of(end: &'a RunEnd) -> Option<Self> {
        match end {
            RunEnd::Refused { error: DeviceError::Compile { log, .. } } => Some(Self::Lines(log)),
            RunEnd::Fault { launch, .. } | RunEnd::Hang { launch: Some(launch), .. } => {
                Some(Self::Launch(*launch))
            }
            RunEnd::Hang { launch: None, .. } | RunEnd::Lost { .. } => Some(Self::Unknown),
            RunEnd::Done | RunEnd::Refused { .. } => None,
        }
    }
}

/// The numbers of the kernels of both parts: those not to blame, and those to blame; halves, if
/// none is. None if nothing is left to part. In the program, a line that begins with `mark` begins
/// each kernel; launches are in the order of kernels.
pub(super) fn parted(
    program: &str,
    mark: &str,
    kernels: usize,
    blame: Blame<'_>,
) -> Option<[Vec<usize>; 2]> {
    if kernels < 2 {
        return None;
    }
    let named: BTreeSet<usize> = match blame {
        Blame::Lines(log) => log
            .lines()
            .filter(|line| line.contains("error"))
            .filter_map(line_of)
            .filter_map(|line| kernel_at(program, mark, line))
            .collect(),
        Blame::Launch(launch) => [launch].into(),
        Blame::Unknown => BTreeSet::new(),
    };
    let named: BTreeSet<usize> = named.into_iter().filter(|&kernel| kernel < kernels).collect();
    if named.len() == kernels {
        return None;
    }
    if named.is_empty() {
        return Some([(0..kernels / 2).collect(), (kernels / 2..kernels).collect()]);
    }
    let others = (0..kernels).filter(|kernel| !named.contains(kernel)).collect();
    Some([others, named.into_iter().collect()])
}

/// The line that a message names.
fn line_of(message: &str) -> Option<usize> {
    let digits = message.split("line ").nth(1)?.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// The kernel in which a line is, counted from 1.
fn kernel_at(program: &str, mark: &str, line: usize) -> Option<usize> {
    let before = program.lines().take(line).filter(|line| line.starts_with(mark));
    before.count().checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "head\n\n// one\nadd\n// two\nsub\n";

    fn parts(log: &str) -> Option<[Vec<usize>; 2]> {
        parted(PROGRAM, "// ", 2, Blame::Lines(log))
    }

    #[test]
    fn what_a_compiler_refuses_is_parted() {
        let log = "ptxas application ptx input, line 6; error   : Feature 'x'";
        assert_eq!(parts(log), Some([vec![0], vec![1]]));
        assert_eq!(parts("error without a place"), Some([vec![0], vec![1]]));
        assert_eq!(parted(PROGRAM, "// ", 1, Blame::Lines(log)), None);
        let both = format!("{log}\nptxas application ptx input, line 4; error   : also");
        assert_eq!(parts(&both), None);
    }

    #[test]
    fn a_launch_that_fails_is_set_apart() {
        assert_eq!(parted(PROGRAM, "// ", 3, Blame::Launch(1)), Some([vec![0, 2], vec![1]]));
        assert_eq!(parted(PROGRAM, "// ", 3, Blame::Launch(9)), Some([vec![0], vec![1, 2]]));
        assert_eq!(parted(PROGRAM, "// ", 2, Blame::Unknown), Some([vec![0], vec![1]]));
    }
}
