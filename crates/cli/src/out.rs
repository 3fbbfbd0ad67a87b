//! Standard output and standard error.
//!
//! Results go to standard output, findings and progress to standard error. A reader that goes away (`simtlab list k.ptx |
//! head -1`) ends the program quietly: every write is checked, and after a broken pipe nothing more is written.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use isa::{Diagnostic, Diagnostics, SourceMap};
use lab::render::{Paint, render, render_all};

use crate::args::Color;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// As expected.
    Ok,
    /// An expectation is not met.
    Unmet,
    /// The command line or a file is wrong.
    Usage,
    /// A kernel faulted or hung.
    Stopped,
    /// A device cannot be used, or does not take the program.
    NoDevice,
    /// The engines, run side by side, differ.
    Differs,
    /// The user stopped it.
    Interrupted,
    /// As a program that was run has ended.
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
            // 128 and the number of the interrupt signal, as shells have it.
            Exit::Interrupted => 130,
            Exit::Child(code) => code,
        })
    }
}

/// Where text goes.
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

    /// Writes text to standard error. If that is closed there is nobody to tell.
    pub(crate) fn note(&mut self, text: &str) {
        self.flush();
        let _ = io::stderr().write_all(text.as_bytes());
    }

    /// Shows findings on standard error.
    pub(crate) fn findings(&mut self, findings: &Diagnostics, sources: &SourceMap) {
        let text = render_all(findings, sources, self.paint);
        self.note(&text);
    }

    /// Shows one finding on standard error.
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

    /// The exit code, after everything is written: an output that could not be written is an error, unless its reader went
    /// away.
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
