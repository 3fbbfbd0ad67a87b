//! The debugger in a terminal: the program, the lanes, registers and the mechanism side by side.
//!
//! A [`Screen`] is a [`debug::Client`] that takes the whole terminal; it shows launches of other
//! processes, too ([`Screen::show`]). Its command line takes the commands of the debugger; keys
//! step and run in both directions. `draw` lays out a [`debug::View`] on a `canvas`, which
//! `terminal` shows; `keys` says what keys mean.

mod canvas;
mod draw;
mod keys;
mod terminal;

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use debug::{
    After, At, Client, Debugger, EndKind, Pane, Reply, Session, Shown, Target, View, Wanted,
};

use keys::{Action, Line};
use terminal::Terminal;

/// Time between two looks for keys while something runs.
const PATIENCE: Duration = Duration::from_millis(10);
/// Lines of answers that are kept.
const MOST_ANSWERS: usize = 10_000;

/// A launch that is shown, in this process or another.
pub trait Launch {
    /// What is shown of it now.
    ///
    /// # Errors
    /// If it has gone.
    fn view(&mut self, wanted: &Wanted) -> io::Result<View>;

    /// Executes a command.
    ///
    /// # Errors
    /// If it has gone.
    fn command(&mut self, command: &str) -> io::Result<Reply>;

    /// A flag that interrupts what runs.
    fn interrupt(&self) -> Arc<AtomicBool>;
}

/// A launch of this process.
struct Own<'o, 's> {
    session: &'o mut Session<'s>,
    /// The program's path.
    program: &'o Path,
}

impl Launch for Own<'_, '_> {
    fn view(&mut self, wanted: &Wanted) -> io::Result<View> {
        Ok(View::new(self.session, wanted, self.program))
    }

    fn command(&mut self, command: &str) -> io::Result<Reply> {
        let reply = self.session.command(command);
        self.session.rearm();
        Ok(reply)
    }

    fn interrupt(&self) -> Arc<AtomicBool> {
        self.session.debugger().interrupt()
    }
}

/// What is shown beside the launch.
pub(crate) struct Typed<'t> {
    answers: &'t VecDeque<String>,
    /// Lines by which answers are scrolled back.
    scrolled: usize,
    input: &'t str,
    /// Whether a command is executed.
    runs: bool,
}

/// The terminal as a client.
pub struct Screen {
    terminal: Terminal,
    /// What outlives launches.
    pub debugger: Debugger,
    /// Where launches are first shown.
    pub at: At,
    /// The program's path: source files are looked for beside it.
    pub program: PathBuf,
    line: Line,
    answers: VecDeque<String>,
    scrolled: usize,
    wanted: Wanted,
    /// What was shown last.
    view: View,
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
            terminal: Terminal::open()?,
            debugger: Debugger::default(),
            at: At::Start,
            program: PathBuf::new(),
            line: Line::default(),
            answers: VecDeque::new(),
            scrolled: 0,
            wanted: Wanted { pane: Pane::default(), source: true, moved: 0 },
            view: View::default(),
            early: VecDeque::new(),
        })
    }

    /// Adds a text to the answers.
    pub fn say(&mut self, text: &str) {
        self.answers.extend(text.lines().map(str::to_owned));
        let surplus = self.answers.len().saturating_sub(MOST_ANSWERS);
        self.answers.drain(..surplus);
        self.scrolled = 0;
    }

    fn draw(&mut self, runs: bool) -> io::Result<()> {
        let (answers, scrolled) = (&self.answers, self.scrolled);
        let typed = Typed { answers, scrolled, input: self.line.text(), runs };
        self.terminal.draw(|canvas| draw::draw(canvas, &self.view, &typed))
    }

    /// Does something while keys interrupt it.
    ///
    /// # Errors
    /// If the terminal cannot be written.
    pub fn watched<T>(&mut self, flag: &AtomicBool, work: impl FnOnce() -> T) -> io::Result<T> {
        self.draw(true)?;
        let done = AtomicBool::new(false);
        let early = &mut self.early;
        Ok(thread::scope(|scope| {
            let watch = || watch_keys(&done, flag, early);
            // Without the thread nothing can be interrupted.
            let watching = thread::Builder::new().spawn_scoped(scope, watch);
            let result = work();
            done.store(true, Ordering::Relaxed);
            drop(watching);
            result
        }))
    }

    /// Executes a command, while keys interrupt it.
    fn command(&mut self, launch: &mut dyn Launch, command: &str) -> io::Result<Option<After>> {
        let flag = launch.interrupt();
        let reply = self.watched(&flag, || launch.command(command))??;
        self.wanted.moved = 0;
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

    /// Shows a launch until a command leaves it.
    ///
    /// # Errors
    /// If the terminal or the launch has gone.
    pub fn show(&mut self, launch: &mut dyn Launch) -> io::Result<After> {
        loop {
            self.view = launch.view(&self.wanted)?;
            self.draw(false)?;
            let Some(key) = self.key()? else { continue };
            match keys::action(key, &mut self.line, &self.view) {
                Action::None => {}
                Action::Leave(after) => return Ok(after),
                Action::Pane => self.wanted.pane = self.wanted.pane.next(),
                Action::Source => {
                    (self.wanted.source, self.wanted.moved) = (!self.wanted.source, 0);
                }
                Action::Program(lines) => self.wanted.moved += lines,
                Action::Answers(lines) => {
                    let most = self.answers.len();
                    self.scrolled = self.scrolled.saturating_add_signed(lines).min(most);
                }
                Action::Command(command) => {
                    if let Some(after) = self.command(launch, &command)? {
                        return Ok(after);
                    }
                }
            }
        }
    }

    fn serve(&mut self, session: &mut Session<'_>) -> io::Result<After> {
        self.say(&debug::summary(session));
        match self.at.show(session) {
            Ok(Shown::No(after)) => return Ok(after),
            Ok(Shown::Yes(text)) => self.say(&text),
            Err(error) => self.say(&format!("error: {error}")),
        }
        let program = self.program.clone();
        self.show(&mut Own { session, program: &program })
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
