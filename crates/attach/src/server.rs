//! The end in the process that launches kernels.
//!
//! Always holds: no thread outlives a launch, but for that which reads what an editor sends. One
//! reads what the client sends while a launch is in the debugger, so that it can interrupt what
//! runs, and turns other clients away.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use debug::{After, At, Client, Debugger, EndKind, Reply, Session, Target, View, Wanted};

use crate::{ASKS, EDITORS, EXTENSION, INTERRUPT, VIEW};

/// Time between two looks at the socket.
const PATIENCE: Duration = Duration::from_millis(20);
/// Time that a client may take to receive an answer.
const SLOWEST: Duration = Duration::from_secs(30);
/// Longest line of a client; more is an error of it, and ends the connection.
const LONGEST: usize = 1 << 16;

/// Hands launches of this process to whoever connects.
pub struct Server {
    listener: UnixListener,
    path: PathBuf,
    editors: UnixListener,
    /// The editor that is served.
    editor: Option<dap::Adapter>,
    debugger: Debugger,
    at: At,
    client: Option<UnixStream>,
    /// What the client has sent and nobody has read.
    pending: Vec<u8>,
    /// Whether anybody has been attached yet.
    met: bool,
    /// Whether launches run until something stops them, as the client has said at an earlier one.
    runs: bool,
}

impl Server {
    /// Listens in a folder, under the number of this process.
    ///
    /// # Errors
    /// If the socket cannot be made.
    pub fn open(folder: &Path, at: At) -> io::Result<Self> {
        let path = folder.join(format!("{}.{EXTENSION}", std::process::id()));
        let listener = UnixListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        let editors = UnixListener::bind(path.with_extension(EDITORS))?;
        editors.set_nonblocking(true)?;
        Ok(Self {
            listener,
            path,
            editors,
            editor: None,
            debugger: Debugger::default(),
            at,
            client: None,
            pending: Vec::new(),
            met: false,
            runs: false,
        })
    }

    /// Takes the next editor, if one has connected.
    fn accept_editor(&mut self) -> bool {
        let Ok((stream, _)) = self.editors.accept() else { return false };
        let opened = stream.set_nonblocking(false).and_then(|()| stream.try_clone());
        let Ok(input) = opened else { return false };
        let mut editor = dap::Adapter::new(input, stream);
        let attached = editor.handshake().is_ok();
        if attached {
            self.editor = Some(editor);
            (self.met, self.runs) = (true, false);
        }
        attached
    }

    /// Whether somebody is attached, or is now.
    fn is_attached(&mut self) -> bool {
        self.check();
        if self.editor.as_mut().is_some_and(|editor| !editor.is_attached()) {
            self.editor = None;
        }
        self.client.is_some() || self.editor.is_some() || self.accept() || self.accept_editor()
    }

    /// Takes the next client, if one has connected.
    fn accept(&mut self) -> bool {
        let Ok((stream, _)) = self.listener.accept() else { return false };
        let set = stream.set_nonblocking(false).and_then(|()| {
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(SLOWEST))
        });
        if set.is_ok() {
            self.client = Some(stream);
            self.pending.clear();
            (self.met, self.runs) = (true, false);
        }
        set.is_ok()
    }

    /// Forgets a client that has left.
    fn check(&mut self) {
        let Some(mut client) = self.client.as_ref() else { return };
        let mut bytes = [0; 256];
        loop {
            match client.read(&mut bytes) {
                Ok(0) => break self.client = None,
                // Nothing was asked: what comes is an interrupt that came too late.
                Ok(_) => {}
                Err(error) if is_later(&error) => break,
                Err(_) => break self.client = None,
            }
        }
    }

    /// Serves a launch. `None` if the client has left.
    fn serve(&mut self, session: &mut Session<'_>) -> Option<After> {
        let client = self.client.as_ref()?.try_clone().ok()?;
        let (sender, lines) = channel();
        let done = AtomicBool::new(false);
        let interrupt = session.debugger().interrupt();
        let (listener, pending) = (&self.listener, &mut self.pending);
        let runs = &mut self.runs;
        thread::scope(|scope| {
            let reader = Reader { listener, stream: &client, pending, interrupt: &interrupt };
            // The sender goes with the thread, which ends the conversation.
            let done = &done;
            let read = move || reader.run(&sender, done);
            let reading = thread::Builder::new().spawn_scoped(scope, read);
            let after = match reading {
                Ok(_) => converse(session, &client, &lines, runs),
                Err(_) => None,
            };
            done.store(true, Ordering::Relaxed);
            after
        })
    }

    /// Brings a launch to where it is shown; returns whether it is.
    fn reach(&mut self, session: &mut Session<'_>) -> bool {
        if !self.runs {
            return self.at.reach(session).unwrap_or(true);
        }
        match session.resume(debug::Direction::Forward) {
            Ok(report) => report.reason != debug::Reason::End(EndKind::Done),
            Err(_) => true,
        }
    }
}

impl Client for Server {
    fn wants_launches(&mut self) -> bool {
        self.is_attached() || !self.met
    }

    fn launch(&mut self, target: &mut dyn Target) -> After {
        if let Some(editor) = &mut self.editor {
            return editor.launch(target);
        }
        let mut debugger = std::mem::take(&mut self.debugger);
        let mut session = Session::new(&mut debugger, target);
        let mut after = Some(After::Run);
        let shown = self.reach(&mut session);
        if shown {
            while !self.is_attached() {
                thread::sleep(PATIENCE);
            }
            if self.client.is_some() {
                after = self.serve(&mut session);
            }
        }
        session.rearm();
        self.debugger = debugger;
        if let Some(editor) = self.editor.as_mut().filter(|_| shown) {
            return editor.launch(target);
        }
        after.unwrap_or_else(|| {
            self.client = None;
            After::Run
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // If the removal fails, the folder's owner removes it.
        let _ = std::fs::remove_file(&self.path);
        let _ = std::fs::remove_file(self.path.with_extension(EDITORS));
    }
}

/// Commands and answers; `None` if the client has left.
fn converse(
    session: &mut Session<'_>,
    mut client: &UnixStream,
    lines: &Receiver<String>,
    runs: &mut bool,
) -> Option<After> {
    let mut say = |text: &str, asks: bool| {
        // What a program has printed may contain anything.
        let mut bytes: Vec<u8> = text.bytes().filter(|&byte| byte != ASKS).collect();
        bytes.extend(asks.then_some(ASKS));
        client.write_all(&bytes).ok()
    };
    *runs = false;
    let mut text = debug::summary(session);
    if session.last_stop().is_some() {
        text += &debug::stopped(session);
    }
    say(&text, true)?;
    loop {
        let line = lines.recv().ok()?;
        if let Some(wanted) = line.strip_prefix(VIEW) {
            let shown = Wanted::decode(wanted).map(|wanted| view(session, &wanted));
            say(&shown.unwrap_or_default(), true)?;
            continue;
        }
        let ended = session.look().end().is_some();
        if ended && ["continue", "c"].contains(&line.trim()) {
            *runs = true;
            say("", false)?;
            return Some(After::Run);
        }
        let Reply { text, after } = session.command(&line);
        say(&text, after.is_none())?;
        if after.is_some() {
            return after;
        }
    }
}

/// What a screen shows, as text.
fn view(session: &mut Session<'_>, wanted: &Wanted) -> String {
    let name = session.look().code().name.clone();
    let view = View::new(session, wanted, Path::new(&name));
    session.rearm();
    view.encode()
}

/// Reads what a client sends while a launch is in the debugger.
struct Reader<'r> {
    listener: &'r UnixListener,
    stream: &'r UnixStream,
    pending: &'r mut Vec<u8>,
    interrupt: &'r AtomicBool,
}

impl Reader<'_> {
    /// Until it is told that it is done, or the client leaves; then the sender is dropped.
    fn run(mut self, lines: &Sender<String>, done: &AtomicBool) {
        let mut bytes = [0; 4096];
        while !done.load(Ordering::Relaxed) {
            if let Ok((mut other, _)) = self.listener.accept() {
                // It is turned away, whether it hears why or not.
                let _ = other.write_all(b"error: another debugger is attached to this process\n");
            }
            let end = match self.stream.read(&mut bytes) {
                Ok(0) => true,
                Ok(count) => !self.take(&bytes[..count], lines),
                Err(error) => !is_later(&error),
            };
            if end {
                // Nobody is there to wait for what runs.
                self.interrupt.store(true, Ordering::Relaxed);
                // Ends the conversation, too.
                let _ = self.stream.shutdown(std::net::Shutdown::Both);
                return;
            }
        }
    }

    /// Passes complete lines on; returns whether the client keeps to the protocol.
    fn take(&mut self, bytes: &[u8], lines: &Sender<String>) -> bool {
        for &byte in bytes {
            match byte {
                INTERRUPT => self.interrupt.store(true, Ordering::Relaxed),
                b'\n' => {
                    let line = String::from_utf8_lossy(self.pending).into_owned();
                    self.pending.clear();
                    if lines.send(line).is_err() {
                        return false;
                    }
                }
                byte => self.pending.push(byte),
            }
        }
        self.pending.len() <= LONGEST
    }
}

/// Whether nothing has come yet.
fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
