//! Starts workers, reads their answers, stops those that hang, and goes on with the next run.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::error::DeviceError;
use crate::record::{Identity, Record, RunEnd, RunRecord};
use crate::request::{Request, Run};
use crate::worker::Event;

/// How long nothing may happen, and how long a stopped process has to end.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Until the device is there: drivers take seconds to start.
    pub start: Duration,
    /// For loading a program: a driver compiles hundreds of kernels in one.
    pub load: Duration,
    /// For each launch.
    pub step: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(60),
            load: Duration::from_secs(120),
            step: Duration::from_secs(20),
        }
    }
}

/// How long a stopped process has to end: one whose kernel hangs ends when the driver has taken the
/// device from it.
const END: Duration = Duration::from_secs(30);

/// Between two looks at the answers.
const PAUSE: Duration = Duration::from_millis(5);

/// Most bytes that kernels print which are kept.
const PRINTED: u64 = 16 << 20;

/// A command that becomes [`worker::work`](crate::worker::work) when the paths of request and
/// answers are added to it.
#[derive(Clone, Debug)]
pub struct WorkerCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments before the two paths.
    pub arguments: Vec<OsString>,
}

/// What has been run.
#[derive(Debug)]
pub struct Answers {
    /// The device.
    pub device: Identity,
    /// What the kernels printed.
    pub printed: Vec<u8>,
}

/// Runs all that is requested. `each` gets the number of a run and its record as soon as it has
/// ended, in order; it says whether to go on.
///
/// # Errors
/// What keeps the device from running anything. Programs that it refuses, faults and hangs are part
/// of the records.
pub fn run(
    request: &Request,
    command: &WorkerCommand,
    patience: Patience,
    each: &mut dyn FnMut(usize, RunRecord) -> bool,
) -> Result<Answers, DeviceError> {
    let folder = Folder::new().map_err(|e| failed("has no folder for its files", &e))?;
    let mut printed = Vec::new();
    let mut done = 0;
    let mut device = None;
    loop {
        let before = done;
        let rest = Request {
            choice: request.choice.clone(),
            runs: request.runs.get(done..).unwrap_or_default().to_vec(),
        };
        let mut session = Session::start(&rest, command, &folder.0, patience)?;
        let mut go_on = true;
        let end = session.follow(&mut |run, record| {
            done += 1;
            go_on = each(done - 1, record.unwrap_or_else(|end| unfinished(&rest.runs[run], end)));
            go_on
        });
        printed.append(&mut session.printed());
        device = session.device.take().or(device);
        end?;
        if done >= request.runs.len() || !go_on {
            break;
        }
        if done == before {
            return Err(DeviceError::Worker("ended without an answer".to_owned()));
        }
    }
    let device = device.ok_or_else(|| DeviceError::Worker("named no device".to_owned()))?;
    Ok(Answers { device, printed })
}

fn failed(what: &str, error: &std::io::Error) -> DeviceError {
    DeviceError::Worker(format!("{what}: {error}"))
}

/// The record of a run that gave none.
fn unfinished(run: &Run, end: RunEnd) -> RunRecord {
    RunRecord {
        target: run.target.clone(),
        text_hash: run.text_hash(),
        inputs_hash: run.inputs_hash(),
        end,
        launches: Vec::new(),
        buffers: Vec::new(),
        hashes: Vec::new(),
    }
}

/// One worker.
struct Session {
    child: Child,
    replies: std::fs::File,
    /// Bytes of frames that are not whole yet.
    bytes: Vec<u8>,
    patience: Patience,
    deadline: Instant,
    device: Option<Identity>,
    /// The run that has begun, and its launch.
    current: Option<(usize, Option<usize>)>,
    output: Option<std::thread::JoinHandle<Vec<u8>>>,
}

/// Receives the number of a run with its record, or with how it ended without one; returns whether
/// the worker is to continue.
type Sink<'a> = dyn FnMut(usize, Result<RunRecord, RunEnd>) -> bool + 'a;

impl Session {
    fn start(
        request: &Request,
        command: &WorkerCommand,
        folder: &Path,
        patience: Patience,
    ) -> Result<Self, DeviceError> {
        let (asked, replies) = (folder.join("request"), folder.join("replies"));
        let bytes = request.to_bytes().map_err(|e| DeviceError::Request(e.to_string()))?;
        std::fs::write(&asked, bytes).map_err(|e| failed("cannot be given its request", &e))?;
        std::fs::write(&replies, b"").map_err(|e| failed("cannot answer", &e))?;
        let file = std::fs::File::open(&replies).map_err(|e| failed("cannot answer", &e))?;
        let mut program = Command::new(&command.program);
        // Ctrl-C is for this process, which then stops the worker.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut program, 0);
        let mut child = program
            .args(&command.arguments)
            .args([&asked, &replies])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| failed("cannot be started", &e))?;
        // What kernels print comes from the driver, which writes to standard output.
        let output = child.stdout.take().map(|mut out| {
            std::thread::spawn(move || {
                let mut kept = Vec::new();
                let _ = out.by_ref().take(PRINTED).read_to_end(&mut kept);
                let _ = std::io::copy(&mut out, &mut std::io::sink());
                kept
            })
        });
        Ok(Self {
            child,
            replies: file,
            bytes: Vec::new(),
            patience,
            deadline: Instant::now() + patience.start,
            device: None,
            current: None,
            output,
        })
    }

    /// Reads answers until the worker ends or has to be stopped.
    fn follow(&mut self, sink: &mut Sink<'_>) -> Result<(), DeviceError> {
        loop {
            // Asked first: whatever a process has written before it ended is there after that.
            let ended = self.child.try_wait().map_err(|e| failed("cannot be watched", &e))?;
            while let Some(frame) = self.next_frame()? {
                if !self.take(&frame, sink)? {
                    return self.stop();
                }
            }
            if let Some(status) = ended {
                return self.ended(status, sink);
            }
            if Instant::now() >= self.deadline {
                return self.overdue(sink);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// The next whole frame, if there is one.
    fn next_frame(&mut self) -> Result<Option<Vec<u8>>, DeviceError> {
        let read = self.replies.read_to_end(&mut self.bytes);
        read.map_err(|e| failed("wrote answers that cannot be read", &e))?;
        let Some(head) = self.bytes.first_chunk::<8>() else { return Ok(None) };
        let length = usize::try_from(u64::from_le_bytes(*head)).unwrap_or(usize::MAX);
        let Some(end) = length.checked_add(8).filter(|&end| end <= self.bytes.len()) else {
            return Ok(None);
        };
        let frame = self.bytes[8..end].to_vec();
        self.bytes.drain(..end);
        Ok(Some(frame))
    }

    /// Takes a frame; gives whether to go on.
    fn take(&mut self, frame: &[u8], sink: &mut Sink<'_>) -> Result<bool, DeviceError> {
        self.deadline = Instant::now() + self.patience.step;
        let unread = |why: String| DeviceError::Worker(format!("gave an answer unread: {why}"));
        if frame.first() != Some(&b'{') {
            let record = Record::from_bytes(frame).map_err(|e| unread(e.to_string()))?;
            let run = record.runs.into_iter().next();
            let run = run.ok_or_else(|| unread("a record without a run".to_owned()))?;
            let index = self.current.take().map_or(0, |(index, _)| index);
            let go_on = sink(index, Ok(run));
            // The sink may have taken long; the worker was not waited for in that time.
            self.deadline = Instant::now() + self.patience.step;
            return Ok(go_on);
        }
        match serde_json::from_slice(frame).map_err(|e| unread(e.to_string()))? {
            Event::Ready { device } => self.device = Some(device),
            Event::Begin { run } => {
                self.current = Some((run, None));
                self.deadline = Instant::now() + self.patience.load;
            }
            Event::Launch { launch } => {
                if let Some(current) = &mut self.current {
                    current.1 = Some(launch);
                }
            }
            Event::Failed { error } => {
                self.stop()?;
                return Err(error);
            }
        }
        Ok(true)
    }

    /// The worker has ended.
    fn ended(&mut self, status: ExitStatus, sink: &mut Sink<'_>) -> Result<(), DeviceError> {
        match self.current.take() {
            Some((run, _)) => {
                sink(run, Err(RunEnd::Lost { how: format!("ended: {status}") }));
                Ok(())
            }
            None if status.success() && self.device.is_some() => Ok(()),
            None => Err(DeviceError::Worker(format!("ended: {status}"))),
        }
    }

    /// The worker gives no answer in time.
    fn overdue(&mut self, sink: &mut Sink<'_>) -> Result<(), DeviceError> {
        self.stop()?;
        match self.current.take() {
            Some((run, launch)) => {
                let loading = launch.is_none();
                let most = if loading { self.patience.load } else { self.patience.step };
                let seconds = most.as_secs_f64();
                sink(run, Err(RunEnd::Hang { launch, seconds }));
                Ok(())
            }
            None => {
                let seconds = self.patience.start.as_secs_f64();
                Err(DeviceError::Worker(format!("did not find the device within {seconds} s")))
            }
        }
    }

    /// Stops the worker and waits for its end.
    fn stop(&mut self) -> Result<(), DeviceError> {
        // A process that has ended by itself cannot be stopped, which is as well.
        let _ = self.child.kill();
        let since = Instant::now();
        while since.elapsed() < END {
            match self.child.try_wait() {
                Ok(Some(_)) => return Ok(()),
                Ok(None) => std::thread::sleep(PAUSE),
                Err(error) => return Err(failed("cannot be watched", &error)),
            }
        }
        let process = self.child.id();
        let seconds = END.as_secs();
        Err(DeviceError::Worker(format!(
            "({process}) does not end {seconds} s after it was stopped: its kernel still holds \
             the device"
        )))
    }

    /// What the kernels have printed.
    fn printed(&mut self) -> Vec<u8> {
        // A process that does not end keeps its output open: then there is no waiting for it.
        let over = matches!(self.child.try_wait(), Ok(Some(_)));
        self.output.take().filter(|_| over).and_then(|o| o.join().ok()).unwrap_or_default()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.try_wait();
    }
}

/// A folder that goes away at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> std::io::Result<Self> {
        let mut last = std::io::Error::other("no name is free");
        for n in 0..1000 {
            let name = format!("simtlab-device-{}-{n}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed stays for the system to clear away.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
