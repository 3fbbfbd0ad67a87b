//! Launches in the debugger for editors, by the [Debug Adapter Protocol].
//!
//! [`Adapter::handshake`] reads what the client wants to launch. The launches then come to the
//! adapter, which is a [`Client`], and [`Adapter::finish`] says how the program ended. Threads of
//! the protocol are lanes of the resident blocks. All steps stop all of them; they go backwards,
//! too.
//!
//! [Debug Adapter Protocol]: https://microsoft.github.io/debug-adapter-protocol/

mod answers;
mod base64;
mod channel;
mod points;
mod serve;

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use debug::{After, Client, Debugger, LaunchRecord, Session, Target};
use serde_json::{Value, json};
use thiserror::Error;

use channel::{Channel, Request};

/// Why an editor could not be served.
#[derive(Debug, Error)]
pub enum DapError {
    /// The connection.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The client left before it launched anything.
    #[error("the client left before it launched a program")]
    Gone,
    /// What it wants to launch cannot be understood.
    #[error("{0}")]
    Launch(String),
}

/// What a client wants to launch: the attributes of its launch configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// The program, launch file or folder.
    pub target: PathBuf,
    /// Further arguments, as `simtlab debug` takes them.
    pub arguments: Vec<String>,
    /// Whether launches stop before their first instruction.
    pub stop_on_entry: bool,
    /// Whether launches stop at their end, from where steps can go back.
    pub stop_on_end: bool,
    /// Whether frames have lines of the program also where it has a table of source lines.
    pub program_lines: bool,
    /// Whether launches of a program that runs already are wanted.
    pub attach: bool,
    /// The folder in which that program listens, if not the last one is meant.
    pub folder: Option<PathBuf>,
}

/// Tells a client that it is not served, and why, in answer to its first request.
///
/// # Errors
/// If the connection fails.
pub fn turn_away(stream: impl Read + Write + Send, why: &str) -> io::Result<()> {
    let mut stream = io::BufReader::new(stream);
    let request = channel::read(&mut stream).and_then(|message| channel::request(&message));
    let mut channel = Channel::answering(stream.into_inner());
    if let Some(request) = request {
        channel.refuse(&request, why)?;
    }
    channel.event("terminated", json!({}))
}

/// An adapter that serves one client.
pub struct Adapter {
    channel: Channel<'static>,
    debugger: Debugger,
    launch: Launch,
    /// How the client has introduced itself.
    introduced: Option<Request>,
    /// Whether the client has left.
    gone: bool,
    /// The request that is answered when the launch has begun.
    begun: Option<Request>,
    configured: bool,
    /// Numbers of breakpoints by source, and those of functions, data and events.
    points: BTreeMap<String, Vec<u32>>,
    /// What references to variables stand for, since the last stop.
    references: Vec<answers::Reference>,
    /// Frames by identity, likewise.
    frames: Vec<simt::inspect::FramePlace>,
    /// The program's path, for its own lines.
    program: PathBuf,
}

impl Adapter {
    /// Serves a client that is connected by these streams.
    #[must_use]
    pub fn new(input: impl Read + Send + 'static, output: impl Write + Send + 'static) -> Self {
        let debugger = Debugger::default();
        let channel = Channel::new(input, output, debugger.interrupt());
        Self {
            channel,
            debugger,
            launch: Launch::default(),
            introduced: None,
            gone: false,
            begun: None,
            configured: false,
            points: BTreeMap::new(),
            references: Vec::new(),
            frames: Vec::new(),
            program: PathBuf::new(),
        }
    }

    /// Answers requests until the client launches something.
    ///
    /// # Errors
    /// If the client leaves before, or the connection fails.
    pub fn handshake(&mut self) -> Result<Launch, DapError> {
        loop {
            let request = self.channel.next().ok_or(DapError::Gone)?;
            match request.command.as_str() {
                "initialize" => {
                    self.channel.answer(&request, answers::capabilities())?;
                    self.introduced = Some(request);
                }
                "launch" | "attach" => {
                    let attach = request.command == "attach";
                    let launch = read_launch(&request.arguments, attach);
                    match launch {
                        Ok(launch) => {
                            self.launch = launch.clone();
                            self.begun = Some(request);
                            return Ok(launch);
                        }
                        Err(message) => self.channel.refuse(&request, &message)?,
                    }
                }
                "disconnect" | "terminate" => {
                    self.channel.answer(&request, Value::Null)?;
                    return Err(DapError::Gone);
                }
                _ => self.channel.refuse(&request, "nothing has been launched yet")?,
            }
        }
    }

    /// Says that nothing can be launched.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn refuse(&mut self, message: &str) -> Result<(), DapError> {
        if let Some(request) = self.begun.take() {
            self.channel.refuse(&request, message)?;
        }
        self.channel.event("terminated", json!({}))?;
        Ok(())
    }

    /// Answers what can be answered between two launches of a program that was attached to; returns
    /// whether the client is still there.
    pub fn is_attached(&mut self) -> bool {
        while let Some(request) = self.channel.waiting() {
            let answered = match request.command.as_str() {
                "disconnect" | "terminate" => {
                    self.gone = true;
                    self.channel.answer(&request, Value::Null)
                }
                "threads" => self.channel.answer(&request, json!({"threads": []})),
                _ => self.channel.refuse(&request, "no launch is in the debugger"),
            };
            self.gone |= answered.is_err();
        }
        !self.gone
    }

    /// Connects the client with the adapter at the other end of a socket, which has the launches of
    /// another process, until one of them leaves.
    ///
    /// # Errors
    /// If a connection fails.
    #[cfg(unix)]
    pub fn forward(&mut self, stream: &std::os::unix::net::UnixStream) -> Result<(), DapError> {
        let mut to = stream.try_clone()?;
        let first = [self.introduced.take(), self.begun.take()];
        for request in first.into_iter().flatten() {
            channel::write_message(&mut to, &request.message())?;
        }
        let requests = self.channel.take_requests();
        std::thread::spawn(move || {
            while let Ok(request) = requests.recv() {
                if channel::write_message(&mut to, &request.message()).is_err() {
                    return;
                }
            }
            // The client has gone. Nothing can be done if the other end has, too.
            let _ = to.shutdown(std::net::Shutdown::Both);
        });
        let mut from = io::BufReader::new(stream);
        while let Some(message) = channel::read(&mut from) {
            // The client has an answer to this one.
            if message["command"] != "initialize" {
                self.channel.pass(&message)?;
            }
        }
        Ok(self.channel.event("terminated", json!({}))?)
    }

    /// Says where the program is, whose lines are those of instructions without source lines.
    pub fn set_program(&mut self, path: impl Into<PathBuf>) {
        let path = path.into();
        self.program = std::path::absolute(&path).unwrap_or(path);
    }

    /// Passes text on that the user should see.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn say(&mut self, text: &str) -> Result<(), DapError> {
        Ok(self.channel.event("output", json!({"category": "console", "output": text}))?)
    }

    /// Says how all ended, and serves the client until it leaves.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn finish(&mut self, code: u8) -> Result<(), DapError> {
        if let Some(request) = self.begun.take() {
            self.channel.answer(&request, Value::Null)?;
        }
        self.channel.event("exited", json!({"exitCode": code}))?;
        self.channel.event("terminated", json!({}))?;
        while let Some(request) = self.channel.next() {
            match request.command.as_str() {
                "disconnect" | "terminate" => {
                    self.channel.answer(&request, Value::Null)?;
                    return Ok(());
                }
                "threads" => self.channel.answer(&request, json!({"threads": []}))?,
                _ => self.channel.refuse(&request, "the program has ended")?,
            }
        }
        Ok(())
    }
}

/// Reads the attributes of a launch configuration.
fn read_launch(arguments: &Value, attach: bool) -> Result<Launch, String> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let flag = |name: &str| arguments.get(name).and_then(Value::as_bool).unwrap_or(false);
    let target = match text("program") {
        Some(target) => target,
        None if attach => "",
        None => return Err("the launch configuration has no `program`".to_owned()),
    };
    let list = match arguments.get("args") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(list)) => {
            let word = |value: &Value| value.as_str().map(str::to_owned);
            let words: Option<Vec<String>> = list.iter().map(word).collect();
            words.ok_or("`args` is a list of texts")?
        }
        Some(_) => return Err("`args` is a list of texts".to_owned()),
    };
    let mut arguments = list;
    if let Some(mechanism) = text("mechanism") {
        arguments.extend(["--mechanism".to_owned(), mechanism.to_owned()]);
    }
    Ok(Launch {
        target: target.into(),
        arguments,
        stop_on_entry: flag("stopOnEntry"),
        stop_on_end: flag("stopOnEnd"),
        program_lines: text("lines") == Some("program"),
        attach,
        folder: text("folder").map(PathBuf::from),
    })
}

impl Adapter {
    /// Opens a recording: the next launches stand where it has them.
    pub fn reopen(&mut self, launches: Vec<LaunchRecord>) {
        self.debugger.reopened = launches.into();
    }
}

impl Client for Adapter {
    fn launch(&mut self, target: &mut dyn Target) -> After {
        let mut debugger = std::mem::take(&mut self.debugger);
        let mut session = Session::new(&mut debugger, target);
        let left = if self.launch.attach { After::Run } else { After::Stop };
        // A client that cannot be reached has left.
        let after = self.serve(&mut session).unwrap_or_else(|_| {
            self.gone = true;
            left
        });
        session.rearm();
        self.debugger = debugger;
        after
    }
}
