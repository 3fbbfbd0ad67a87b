//! Who debugs: receivers of launches.

use std::io::{BufRead, Write};

use crate::commands::{Reply, summary};
use crate::session::{Debugger, Session};
use crate::target::{EndKind, Target};

/// What becomes of a launch after a client has had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// It runs on to its end, from where it stands.
    Run,
    /// It stops where it stands.
    Stop,
    /// It begins again, in the debugger, under the mechanism that [`Target::retry`] was given.
    Again,
}

/// Receives launches to be debugged, one after another.
pub trait Client {
    /// Returns whether the next launch is to be debugged. One that is not runs at full speed.
    fn wants_launches(&mut self) -> bool {
        true
    }

    /// Called with a launch before its first issue.
    fn launch(&mut self, target: &mut dyn Target) -> After;
}

/// Where a launch is first shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum At {
    /// Before its first issue.
    #[default]
    Start,
    /// At its fault; launches that do not fault run to their end.
    Fault,
    /// Where it hangs, likewise.
    Hang,
    /// At a location; launches that do not come there run to their end.
    Location(String),
}

impl At {
    /// Reads `fault`, `hang`, or a location.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text.to_ascii_lowercase().as_str() {
            "start" => Self::Start,
            "fault" => Self::Fault,
            "hang" => Self::Hang,
            _ => Self::Location(text.to_owned()),
        }
    }

    /// Brings a launch to where it is first shown; returns whether it is to be shown.
    ///
    /// # Errors
    /// If there is no such location.
    pub fn reach(&self, session: &mut Session<'_>) -> Result<bool, String> {
        use crate::session::motion::{Direction, Reason};
        if std::mem::take(&mut session.debugger.again) {
            return Ok(true);
        }
        let location = match self {
            Self::Start => return Ok(true),
            Self::Fault | Self::Hang => None,
            Self::Location(text) => Some(text),
        };
        let own = match location {
            None => None,
            Some(text) => {
                let found = crate::session::breakpoint::locate(session.look(), text)?;
                let what = crate::session::breakpoint::What::Place { places: found.places };
                Some(session.add_point(what, text, None, true))
            }
        };
        loop {
            let report = session.resume(Direction::Forward).map_err(|error| error.to_string())?;
            return Ok(match (report.reason, self) {
                (Reason::Breakpoint { number }, _) if Some(number) == own => true,
                (Reason::Breakpoint { .. } | Reason::Told { .. }, _) => continue,
                (Reason::End(EndKind::Fault), Self::Fault)
                | (Reason::End(EndKind::Hang), Self::Hang)
                | (Reason::Interrupted, _) => true,
                _ => {
                    if let Some(number) = own {
                        session.delete_points(|point| point.number == number);
                    }
                    false
                }
            });
        }
    }
}

/// Whether a launch is shown at its begin.
pub enum Shown {
    /// It is, with a text about where it stands.
    Yes(String),
    /// It is not; what becomes of it.
    No(After),
}

impl At {
    /// Brings a launch to where it is first shown, or where the recording that is opened has it.
    ///
    /// # Errors
    /// If there is no such place; the launch is to be shown where it stands.
    pub fn show(&self, session: &mut Session<'_>) -> Result<Shown, String> {
        let left = match session.reopen() {
            Some(reopened) => reopened?,
            None => (!self.reach(session)?).then_some(After::Run),
        };
        Ok(match left {
            Some(after) => Shown::No(after),
            None if session.last_stop().is_none() => Shown::Yes(String::new()),
            None => Shown::Yes(crate::commands::stopped(session)),
        })
    }
}

/// A client that reads commands and writes answers: from a script, or a terminal line by line.
#[derive(Debug)]
pub struct Console<R, W> {
    /// What outlives launches.
    pub debugger: Debugger,
    /// Where launches are first shown.
    pub at: At,
    /// Whether commands are repeated in the output, behind the prompt.
    pub echo: bool,
    /// Whether a prompt is written before each command is read.
    pub prompt: bool,
    input: R,
    output: W,
}

/// What stands before commands.
const PROMPT: &str = "(simtlab) ";

impl<R: BufRead, W: Write> Console<R, W> {
    /// A client without prompt and echo.
    pub fn new(input: R, output: W) -> Self {
        let (debugger, at) = Default::default();
        Self { debugger, at, echo: false, prompt: false, input, output }
    }

    /// Returns the output.
    #[must_use]
    pub fn into_output(self) -> W {
        self.output
    }

    /// Reads a command; none at the end of the input or when it cannot be read.
    fn read(&mut self) -> Option<String> {
        let mut line = Vec::new();
        loop {
            line.clear();
            if self.prompt {
                self.write(PROMPT)?;
            }
            if self.input.read_until(b'\n', &mut line).ok()? == 0 {
                return None;
            }
            let text = String::from_utf8_lossy(&line).trim().to_owned();
            if !text.is_empty() && !text.starts_with('#') {
                return Some(text);
            }
        }
    }

    fn write(&mut self, text: &str) -> Option<()> {
        self.output.write_all(text.as_bytes()).ok()?;
        self.output.flush().ok()
    }

    /// Serves one launch; none when input or output has ended.
    fn serve(&mut self, session: &mut Session<'_>) -> Option<After> {
        self.write(&summary(session))?;
        match self.at.show(session) {
            Ok(Shown::No(after)) => return Some(after),
            Ok(Shown::Yes(text)) => self.write(&text)?,
            Err(error) => self.write(&format!("error: {error}\n"))?,
        }
        loop {
            let command = self.read()?;
            if self.echo {
                self.write(&format!("{PROMPT}{command}\n"))?;
            }
            let Reply { text, after } = session.command(&command);
            self.write(&text)?;
            if after.is_some() {
                return after;
            }
        }
    }
}

impl<R: BufRead, W: Write> Client for Console<R, W> {
    fn launch(&mut self, target: &mut dyn Target) -> After {
        let mut debugger = std::mem::take(&mut self.debugger);
        let mut session = Session::new(&mut debugger, target);
        let after = self.serve(&mut session);
        let ended = session.look().end().is_some_and(|end| end.kind == EndKind::Done);
        session.keep_record();
        self.debugger = debugger;
        after.unwrap_or(if ended { After::Run } else { After::Stop })
    }
}
