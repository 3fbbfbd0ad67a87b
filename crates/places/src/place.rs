//! Places of a launch: where in the grid, where in the program.

use std::fmt;

use crate::{Site, Source};

/// A line of the program's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextLine {
    /// The name that the text was loaded under.
    pub name: String,
    /// The line, from 1.
    pub line: u32,
    /// The line itself, without the space around it.
    pub text: String,
}

/// `k.ptx:12: st.global.u32 [%rd1], %r1;`
impl fmt::Display for TextLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.name, self.line, self.text)
    }
}

/// Where lanes are: in the grid and in the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Block, warp, lanes, threads.
    pub site: Site,
    /// The instruction.
    pub text: Option<TextLine>,
    /// The source line behind it.
    pub source: Option<Source>,
}

impl Place {
    /// Writes the places in the program, each on a line of its own that begins with a line feed and
    /// this indentation.
    ///
    /// # Errors
    /// If the formatter refuses the text.
    pub fn write_lines(&self, f: &mut fmt::Formatter<'_>, indentation: &str) -> fmt::Result {
        if let Some(text) = &self.text {
            write!(f, "\n{indentation}at {text}")?;
        }
        match &self.source {
            Some(source) => write!(f, "\n{indentation}compiled from {source}"),
            None => Ok(()),
        }
    }
}
