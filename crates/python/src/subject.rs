//! What is studied: what a launch file says, or one launch of a program.

use std::path::{Path, PathBuf};

use isa::{Diagnostic, Diagnostics, SourceMap, Span};
use lab::run::{Job, JobParts, Settings};
use pyo3::prelude::*;

use crate::args::{Call, in_python};
use crate::compare::parts;
use crate::launch::Wanted;
use crate::program::Program;
use crate::raise::{Trouble, one};

/// A launch file's path, or a program and a launch, as the package's Python half gives it.
#[derive(FromPyObject)]
pub(crate) enum Subject<'py> {
    Launch((PyRef<'py, Program>, Wanted)),
    File(PathBuf),
}

/// The same without the interpreter.
enum Known<'a> {
    Launch(&'a Program, &'a Wanted),
    File(&'a Path),
}

/// A word of the call: a name and the value, if it was given.
pub(crate) type Word<'a> = (&'static str, Option<&'a str>);

/// Why a study did not come about.
pub(crate) enum At {
    Findings(Diagnostics),
    /// Stopped, with the exception that a handler of a signal has raised.
    Raised(Option<PyErr>),
    /// A launch that faulted or hangs.
    Stopped(Trouble),
}

impl At {
    fn trouble(self, sources: SourceMap) -> Trouble {
        match self {
            Self::Findings(found) => Trouble::Launch(found, sources),
            Self::Raised(Some(raised)) => Trouble::Interrupted(raised),
            Self::Stopped(trouble) => trouble,
            Self::Raised(None) => Trouble::Memory("the run was interrupted".to_owned()),
        }
    }
}

impl From<Diagnostic> for At {
    fn from(finding: Diagnostic) -> Self {
        Self::Findings(one(finding))
    }
}

impl From<Diagnostics> for At {
    fn from(found: Diagnostics) -> Self {
        Self::Findings(found)
    }
}

impl Subject<'_> {
    /// Prepares the job and passes it to `study` with the places of `words` in the call, in the
    /// same order. The call is written out under the name `function`; the interpreter lock is
    /// released.
    pub(crate) fn study<T: Send, const N: usize>(
        &self,
        py: Python<'_>,
        (function, words): (&str, [Word<'_>; N]),
        settings: impl FnOnce([Span; N]) -> Settings + Send,
        study: impl FnOnce(Job, [Span; N], &SourceMap) -> Result<T, At> + Send,
    ) -> PyResult<T> {
        let known = match self {
            Self::Launch((program, wanted)) => Known::Launch(program, wanted),
            Self::File(path) => Known::File(path),
        };
        py.detach(|| known.study((function, words), settings, study))
            .map_err(|trouble| trouble.raise(py))
    }
}

impl Known<'_> {
    fn study<T, const N: usize>(
        self,
        (function, words): (&str, [Word<'_>; N]),
        settings: impl FnOnce([Span; N]) -> Settings,
        study: impl FnOnce(Job, [Span; N], &SourceMap) -> Result<T, At>,
    ) -> Result<T, Trouble> {
        match self {
            Self::Launch(program, wanted) => {
                let mut sources = program.sources.clone();
                let mut call = Call::new(&sources, function);
                let parts = parts(program, wanted, &mut call);
                let places = places(words, &mut call);
                call.enter(&mut sources);
                let done = parts.map_err(At::Findings).and_then(|(parts, kernel, specs)| {
                    let settings = settings(places);
                    Job::prepare_loaded(parts, program.program.clone(), &settings)
                        .map_err(At::Findings)
                        .and_then(|job| study(job, places, &sources))
                        .map_err(|at| match at {
                            At::Findings(found) => At::Findings(in_python(&found, &kernel, &specs)),
                            other => other,
                        })
                });
                done.map_err(|at| at.trouble(sources))
            }
            Self::File(path) => {
                let mut sources = SourceMap::new();
                let mut call = Call::new(&sources, function);
                let places = places(words, &mut call);
                call.enter(&mut sources);
                let done = JobParts::from_launch_file(path, None, &mut sources)
                    .and_then(|parts| Job::prepare(parts, &settings(places), &mut sources))
                    .map_err(At::Findings)
                    .and_then(|job| study(job, places, &sources));
                done.map_err(|at| at.trouble(sources))
            }
        }
    }
}

/// Writes the words into the call; a word that was not given has no place.
fn places<const N: usize>(words: [Word<'_>; N], call: &mut Call) -> [Span; N] {
    words.map(|(name, value)| match value {
        Some(value) => call.option(name, value),
        None => Span::default(),
    })
}
