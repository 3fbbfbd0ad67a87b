//! The debugger in a terminal: the program, the lanes, registers and the mechanism side by side.
//!
//! A [`Screen`] is a [`debug::Client`] that takes the whole terminal. Its command line takes the
//! commands of the debugger; keys step and run in both directions. `view` makes what is shown
//! from a session, `draw` lays it out, `keys` says what keys mean.

mod draw;
mod keys;
mod view;

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use debug::{After, At, Client, Debugger, EndKind, Session, Target};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};

use keys::{Action, Line};
use view::{Pane, View};

/// Time between two looks for keys while something runs.
const PATIENCE: Duration = Duration::from_millis(10);
/// Lines of answers that are kept.
const MOST_ANSWERS: usize = 10_000;

/// The terminal as a client.
pub struct Screen {
    terminal: DefaultTerminal,
    /// What outlives launches.
    pub debugger: Debugger,
    /// Where launches are first shown.
    pub at: At,
    /// The program's path: source files are looked for beside it.
    pub program: PathBuf,
    line: Line,
    answers: VecDeque<String>,
    /// Lines by which answers are scrolled back.
    scrolled: usize,
    /// Lines by which the program is scrolled from the present one.
    moved: i64,
    pane: Pane,
    /// Whether source lines are shown, where the program has them.
    source: bool,
    /// Keys that came while something ran.
    early: VecDeque<KeyEvent>,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// If standard output is none, or cannot be set up.
    pub fn open() -> io::Result<Self> {
        Ok(Self {
            terminal: ratatui::try_init()?,
            debugger: Debugger::default(),
            at: At::Start,
            program: PathBuf::new(),
            line: Line::default(),
            answers: VecDeque::new(),
            scrolled: 0,
            moved: 0,
            pane: Pane::default(),
            source: true,
            early: VecDeque::new(),
        })
    }

    fn say(&mut self, text: &str) {
        self.answers.extend(text.lines().map(str::to_owned));
        let surplus = self.answers.len().saturating_sub(MOST_ANSWERS);
        self.answers.drain(..surplus);
        self.scrolled = 0;
    }

    fn draw(&mut self, session: &mut Session<'_>, runs: bool) -> io::Result<()> {
        let mut view = View::new(session, self.pane, (self.source, &self.program), self.moved);
        view.answers = self.answers.iter().cloned().collect();
        view.scrolled = self.scrolled;
        view.input = self.line.text().to_owned();
        view.runs = runs;
        self.terminal.draw(|frame| draw::draw(frame, &view)).map(drop)
    }

    /// Executes a command, while keys interrupt it.
    fn command(&mut self, session: &mut Session<'_>, command: &str) -> io::Result<Option<After>> {
        self.draw(session, true)?;
        let (done, flag) = (AtomicBool::new(false), session.debugger().interrupt());
        let early = &mut self.early;
        let reply = thread::scope(|scope| {
            let watch = || watch_keys(&done, &flag, early);
            // Without the thread nothing can be interrupted.
            let watching = thread::Builder::new().spawn_scoped(scope, watch);
            let reply = session.command(command);
            done.store(true, Ordering::Relaxed);
            drop(watching);
            reply
        });
        session.rearm();
        self.moved = 0;
        self.say(&format!("(simtlab) {command}"));
        self.say(&reply.text);
        Ok(reply.after)
    }

    /// The next key.
    fn key(&mut self) -> io::Result<Option<KeyEvent>> {
        if let Some(key) = self.early.pop_front() {
            return Ok(Some(key));
        }
        Ok(match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => Some(key),
            // The size may have changed: what is shown is drawn again.
            _ => None,
        })
    }

    fn serve(&mut self, session: &mut Session<'_>) -> io::Result<After> {
        self.say(&debug::summary(session));
        let (reached, shows) = match session.reopen() {
            Some(reopened) => (reopened, true),
            None => (self.at.reach(session), self.at != At::Start),
        };
        match reached {
            Ok(false) => return Ok(After::Run),
            Ok(true) if shows => self.say(&debug::stopped(session)),
            Ok(true) => {}
            Err(error) => self.say(&format!("error: {error}")),
        }
        loop {
            self.draw(session, false)?;
            let Some(key) = self.key()? else { continue };
            match keys::action(key, &mut self.line, session) {
                Action::None => {}
                Action::Leave(after) => return Ok(after),
                Action::Pane => self.pane = self.pane.next(),
                Action::Source => (self.source, self.moved) = (!self.source, 0),
                Action::Program(lines) => self.moved += lines,
                Action::Answers(lines) => {
                    let most = self.answers.len();
                    self.scrolled = self.scrolled.saturating_add_signed(lines).min(most);
                }
                Action::Command(command) => {
                    if let Some(after) = self.command(session, &command)? {
                        return Ok(after);
                    }
                }
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

impl Client for Screen {
    fn launch(&mut self, target: &mut dyn Target) -> After {
        let mut debugger = std::mem::take(&mut self.debugger);
        let mut session = Session::new(&mut debugger, target);
        // A terminal that cannot be read or written has gone.
        let after = self.serve(&mut session);
        let ended = session.look().end().is_some_and(|end| end.kind == EndKind::Done);
        let after = after.unwrap_or(if ended { After::Run } else { After::Stop });
        session.keep_record();
        self.debugger = debugger;
        after
    }
}

/// Looks for keys that interrupt until it is told that what runs is done; others are kept.
fn watch_keys(done: &AtomicBool, interrupt: &AtomicBool, early: &mut VecDeque<KeyEvent>) {
    while !done.load(Ordering::Relaxed) {
        match event::poll(PATIENCE) {
            Ok(false) => continue,
            Ok(true) => {}
            Err(_) => return,
        }
        match event::read() {
            Ok(Event::Key(key)) if keys::interrupts(key) => {
                interrupt.store(true, Ordering::Relaxed);
            }
            Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => early.push_back(key),
            Ok(_) => {}
            Err(_) => return,
        }
    }
}
