//! The end where the user sits.

use std::io::{self, BufRead, Read as _, Write};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use thiserror::Error;

use crate::{ASKS, EDITORS, EXTENSION, INTERRUPT, VIEW};

/// Time between two looks for something new.
const PATIENCE: Duration = Duration::from_millis(50);
/// What stands before commands.
const PROMPT: &[u8] = b"(simtlab) ";
/// What the names of the folders begin with in which processes listen.
const FOLDER: &str = "simtlab-exec-";

/// Why nothing can be attached to.
#[derive(Debug, Error)]
pub enum AttachError {
    /// No process listens.
    #[error("no program waits for a debugger: start one with `simtlab exec --debug -- COMMAND`")]
    Nobody,
    /// The socket.
    #[error("{}: {error}", path.display())]
    Socket {
        /// The socket or folder.
        path: PathBuf,
        /// What is wrong.
        error: io::Error,
    },
    /// The terminal or a script.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Finds the sockets of processes, those that have listened last first: in a folder of sockets, or
/// in all folders of this user below `temporary`.
#[must_use]
pub fn find(folder: Option<&Path>, temporary: &Path) -> Vec<PathBuf> {
    sockets(folder, temporary, EXTENSION)
}

/// The same for sockets at which editors are served, by the Debug Adapter Protocol.
#[must_use]
pub fn find_editors(folder: Option<&Path>, temporary: &Path) -> Vec<PathBuf> {
    sockets(folder, temporary, EDITORS)
}

fn sockets(folder: Option<&Path>, temporary: &Path, extension: &str) -> Vec<PathBuf> {
    let folders = match folder {
        Some(folder) => vec![folder.to_owned()],
        None => {
            let named = |path: &PathBuf| {
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(FOLDER))
            };
            entries(temporary).into_iter().filter(named).filter(|path| is_private(path)).collect()
        }
    };
    let sockets = folders.iter().flat_map(|folder| entries(folder));
    let sockets = sockets.filter(|path| path.extension().is_some_and(|e| e == extension));
    let age = |path: &PathBuf| path.metadata().and_then(|data| data.modified());
    let mut dated: Vec<(SystemTime, PathBuf)> =
        sockets.filter_map(|path| Some((age(&path).ok()?, path))).collect();
    dated.sort();
    dated.into_iter().rev().map(|(_, path)| path).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

/// Whether only this user can have put something there. A folder of somebody else could hold a
/// socket that pretends to be a program's.
fn is_private(folder: &Path) -> bool {
    let own = std::fs::metadata("/proc/self").map(|data| data.uid());
    let Ok(data) = std::fs::symlink_metadata(folder) else { return false };
    data.is_dir() && data.mode() & 0o077 == 0 && own.map_or(true, |own| own == data.uid())
}

/// What a process says to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A text, after which it wants another one.
    Text(String),
    /// A text, after which it has ended.
    Last(String),
    /// The user does not want to wait any longer.
    Unheard,
}

/// Most bytes of an answer.
const MOST_ANSWER: usize = 64 << 20;

/// A connection to a process, with what shows it.
#[derive(Debug)]
pub struct Terminal {
    stream: UnixStream,
    /// Whether commands are repeated in the output.
    pub echo: bool,
}

impl Terminal {
    /// Connects to a socket.
    ///
    /// # Errors
    /// Returns [`AttachError::Socket`] if nobody listens there.
    pub fn connect(path: &Path) -> Result<Self, AttachError> {
        let failed = |error| AttachError::Socket { path: path.to_owned(), error };
        let stream = UnixStream::connect(path).map_err(failed)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        Ok(Self { stream, echo: false })
    }

    /// Sends a command, and waits for the answer. `interrupt` interrupts what runs; if it is set
    /// once more, nobody waits any longer.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn ask(&mut self, command: &str, interrupt: &AtomicBool) -> io::Result<Answer> {
        let line: String = command.chars().filter(|c| !c.is_control() || *c == VIEW).collect();
        match self.stream.write_all(format!("{line}\n").as_bytes()) {
            Ok(()) => self.listen(interrupt),
            // It has ended; what it has said last is still there.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.listen(interrupt),
            Err(error) => Err(error),
        }
    }

    /// Asks what a screen shows.
    ///
    /// # Errors
    /// If the connection fails, or the process has ended.
    pub fn view(&mut self, wanted: &debug::Wanted) -> io::Result<debug::View> {
        let answer = self.ask(&format!("{VIEW}{}", wanted.encode()), &AtomicBool::new(false))?;
        let view = match answer {
            Answer::Text(text) => debug::View::decode(&text),
            Answer::Last(_) | Answer::Unheard => None,
        };
        view.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Waits until the process wants a command, as [`Terminal::ask`] does.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn listen(&mut self, interrupt: &AtomicBool) -> io::Result<Answer> {
        let (mut said, mut bytes, mut interrupted) = (Vec::new(), [0; 4096], false);
        let text = |said: &[u8]| String::from_utf8_lossy(said).into_owned();
        loop {
            if interrupt.swap(false, Ordering::Relaxed) {
                if interrupted {
                    return Ok(Answer::Unheard);
                }
                interrupted = true;
                // One that has ended hears nothing.
                let _ = self.stream.write_all(&[INTERRUPT]);
            }
            let count = match self.stream.read(&mut bytes) {
                Ok(0) => return Ok(Answer::Last(text(&said))),
                Ok(count) => count,
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => continue,
                    io::ErrorKind::ConnectionReset => return Ok(Answer::Last(text(&said))),
                    _ => return Err(error),
                },
            };
            said.extend_from_slice(&bytes[..count]);
            if let Some(said) = said.strip_suffix(&[ASKS]) {
                return Ok(Answer::Text(text(said)));
            }
            if said.len() > MOST_ANSWER {
                return Err(io::Error::other("an answer has no end"));
            }
        }
    }

    /// Passes commands on and shows answers, until the process ends or the commands do; what runs
    /// then runs on. `interrupt` interrupts what runs.
    ///
    /// # Errors
    /// If commands cannot be read or answers not be written.
    pub fn run(
        &mut self,
        input: &mut dyn BufRead,
        output: &mut dyn Write,
        interrupt: &AtomicBool,
    ) -> Result<(), AttachError> {
        let mut bytes = [0; 4096];
        let mut line = Vec::new();
        loop {
            if interrupt.swap(false, Ordering::Relaxed) {
                self.stream.write_all(&[INTERRUPT])?;
            }
            let count = match self.stream.read(&mut bytes) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => continue,
                    // The process has ended with something unread.
                    io::ErrorKind::ConnectionReset => return Ok(()),
                    _ => return Err(error.into()),
                },
            };
            let text = bytes[..count].strip_suffix(&[ASKS]);
            output.write_all(text.unwrap_or(&bytes[..count]))?;
            if text.is_some() {
                output.write_all(PROMPT)?;
                output.flush()?;
                line.clear();
                if input.read_until(b'\n', &mut line)? == 0 {
                    output.write_all(b"\n")?;
                    return Ok(());
                }
                // A last line may have no end.
                if line.last() != Some(&b'\n') {
                    line.push(b'\n');
                }
                if self.echo {
                    output.write_all(&line)?;
                }
                interrupt.store(false, Ordering::Relaxed);
                // What the user typed while nothing ran means nothing.
                line.retain(|&byte| byte != INTERRUPT);
                if self.stream.write_all(&line).is_err() {
                    return Ok(());
                }
            }
            output.flush()?;
        }
    }
}
