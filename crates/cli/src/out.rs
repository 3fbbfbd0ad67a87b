//! Standard output and standard error.
//!
//! Results go to standard output, diagnostics and progress to standard error. If the reader closes
//! the pipe (`simtlab list k.ptx | head -1`), the program ends quietly: every write is checked, and
//! nothing is written after a broken pipe.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use isa::{Diagnostic, Diagnostics, SourceMap};
use lab::render::{Paint, render, render_all};

use crate::args::Color;

/// The exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything was as expected.
    Ok,
    /// An expectation is not met.
    Unmet,
    /// The command line or a file is invalid.
    Usage,
    /// A kernel faulted or hung.
    Stopped,
    /// A device cannot be used, or rejects the program.
    NoDevice,
    /// The results of the engines differ.
    Differs,
    /// Checks found defects; the code says of what kind.
    Found(u8),
    /// The user interrupted the run.
    Interrupted,
    /// The exit code of a program that was run.
    Child(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Ok => 0,
            Exit::Unmet => 1,
            Exit::Usage => 2,
            Exit::Stopped => 3,
            Exit::NoDevice => 4,
            Exit::Differs => 5,
            // 128 plus the number of the interrupt signal, as in shells.
            Exit::Interrupted => 130,
            Exit::Found(code) | Exit::Child(code) => code,
        })
    }
}

/// The output streams.
pub(crate) struct Out {
    paint: Paint,
    stdout: io::BufWriter<io::Stdout>,
    /// The first error of standard output; nothing is written after it.
    failed: Option<io::Error>,
}

impl Out {
    pub(crate) fn new(color: Color) -> Self {
        let wanted = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
                !no_color && io::stderr().is_terminal()
            }
        };
        let paint = if wanted { Paint::Colour } else { Paint::Plain };
        Self { paint, stdout: io::BufWriter::new(io::stdout()), failed: None }
    }

    /// Writes bytes to standard output.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        if self.failed.is_none()
            && let Err(error) = self.stdout.write_all(bytes)
        {
            self.failed = Some(error);
        }
    }

    /// Writes text to standard output.
    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Writes text to standard error. Errors of that stream are ignored, as they cannot be
    /// reported.
    pub(crate) fn note(&mut self, text: &str) {
        self.note_bytes(text.as_bytes());
    }

    /// Writes bytes to standard error, like [`Out::note`].
    pub(crate) fn note_bytes(&mut self, bytes: &[u8]) {
        self.flush();
        let _ = io::stderr().write_all(bytes);
    }

    /// Prints diagnostics to standard error.
    pub(crate) fn findings(&mut self, findings: &Diagnostics, sources: &SourceMap) {
        let text = render_all(findings, sources, self.paint);
        self.note(&text);
    }

    /// Prints one diagnostic to standard error.
    pub(crate) fn finding(&mut self, finding: &Diagnostic, sources: &SourceMap) {
        let text = render(finding, sources, self.paint);
        self.note(&text);
    }

    fn flush(&mut self) {
        if self.failed.is_none()
            && let Err(error) = self.stdout.flush()
        {
            self.failed = Some(error);
        }
    }

    /// Flushes the output and returns the exit status. An output that could not be written is a
    /// usage error, unless its reader closed the pipe.
    pub(crate) fn finish(mut self, exit: Exit) -> Exit {
        self.flush();
        match self.failed.take() {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                let _ = writeln!(io::stderr(), "error: cannot write the output: {error}");
                Exit::Usage
            }
            _ => exit,
        }
    }
}
