//! The command `debug`.

use std::io::{BufRead, BufReader, Cursor, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::dap::Adapter;
use ::debug::{At, Client, Console, LaunchRecord};
use clap::Parser as _;
use inputs::file::read_input;
use isa::{Diagnostic, Diagnostics, SourceMap};
use lab::render::{Paint, render_all};
use lab::run::{Job, Report, Verdict};
use lab::show;
use machines::{DebuggedMonitor, LaunchMonitor, Progress, Unmonitored};

use super::recording::{self, Unpacked};
use super::run::{Words, files, prepare, print};
use super::target::one;
use crate::args::debug::{Attach, Dap, Debug};
use crate::args::{Args, Command, Stats};
use crate::out::{Exit, Out};

/// Longest script in bytes.
const MOST_SCRIPT: u64 = 16 << 20;

/// Debugs the launches of a program, a launch file or a recording.
pub(crate) fn debug(args: &Debug, out: &mut Out) -> Exit {
    let opened = match recording::read(&args.target.subject.path) {
        Ok(None) => return session(args, Vec::new(), out),
        Ok(Some(recording)) => open(args, &recording),
        Err(error) => Err(error),
    };
    match opened {
        Ok((args, launches, _folder)) => session(&args, launches, out),
        Err(error) => {
            let path = args.target.subject.path.display();
            let message = format!("{path} cannot be opened: {error}");
            super::refuse(&Diagnostic::error("cli::recording", message), &SourceMap::new(), out)
        }
    }
}

/// The arguments and launches of a recording, with the folder that holds its files.
fn open(
    args: &Debug,
    recording: &::recording::Recording,
) -> Result<(Debug, Vec<LaunchRecord>, Unpacked), String> {
    let folder = Unpacked::new().map_err(|error| error.to_string())?;
    let words = recording.unpack(folder.path()).map_err(|error| error.to_string())?;
    let words = ["simtlab".to_owned(), "debug".to_owned()].into_iter().chain(words);
    let parsed = Args::try_parse_from(words).map_err(|error| error.to_string())?;
    let Command::Debug(recorded) = parsed.command else {
        return Err("it is not of a run".to_owned());
    };
    let mut own = *recorded;
    // Where it stood holds for the recorded settings alone.
    let other = args.mechanism.is_some() || args.warp_size.is_some() || args.at.is_some();
    let launches = if other { Vec::new() } else { recording.launches.clone() };
    own.mechanism = args.mechanism.clone().or(own.mechanism);
    own.warp_size = args.warp_size.clone().or(own.warp_size);
    (own.at, own.script, own.plain) = (args.at.clone(), args.script.clone(), args.plain);
    (own.gdb, own.record, own.memory) = (args.gdb.clone(), args.record.clone(), args.memory);
    Ok((own, launches, folder))
}

/// Debugs the launches of a program or a launch file, which may stand where a recording has them.
fn session(args: &Debug, reopened: Vec<LaunchRecord>, out: &mut Out) -> Exit {
    let mut sources = SourceMap::new();
    let ready =
        ready(args, &mut sources).and_then(|job| Ok((job, script(args.script.as_deref())?)));
    let (job, input) = match ready {
        Ok(ready) => ready,
        Err(found) => {
            out.findings(&found, &sources);
            return Exit::Usage;
        }
    };
    if let Some(address) = &args.gdb {
        return gdb(&job, address, &sources, out);
    }
    let terminal = args.script.is_none() && std::io::stdin().is_terminal();
    if terminal && !args.plain && std::io::stdout().is_terminal() {
        return screen((args, reopened), &job, &sources, out);
    }
    let mut console = Console::new(input, std::io::stdout());
    console.echo = !terminal;
    console.prompt = terminal;
    console.at = args.at.as_deref().map(At::parse).unwrap_or_default();
    console.debugger.budget = args.memory.map(|mib| mib as usize * (1 << 20));
    console.debugger.reopened = reopened.into();
    let flag = console.debugger.interrupt();
    let exit = run(&job, &mut console, &flag, &sources, out);
    record(args, console.debugger.records, exit, out)
}

/// Writes the recording, if one was asked for.
fn record(args: &Debug, launches: Vec<LaunchRecord>, exit: Exit, out: &mut Out) -> Exit {
    let Some(path) = &args.record else { return exit };
    let settings = (args.mechanism.as_deref(), args.warp_size.as_deref());
    let written = recording::of(&args.target, settings).and_then(|mut recording| {
        recording.launches = launches;
        std::fs::write(path, recording.to_json()).map_err(|error| error.to_string())
    });
    match written {
        Ok(()) => exit,
        Err(error) => {
            let message = format!("{} cannot be written: {error}", path.display());
            super::refuse(&Diagnostic::error("cli::output", message), &SourceMap::new(), out)
        }
    }
}

/// Shows launches in the whole terminal.
fn screen(
    (args, reopened): (&Debug, Vec<LaunchRecord>),
    job: &Job,
    sources: &SourceMap,
    out: &mut Out,
) -> Exit {
    let mut screen = match tui::Screen::open() {
        Ok(screen) => screen,
        Err(error) => {
            let message = format!("the terminal cannot be used: {error}");
            let finding = Diagnostic::error("cli::terminal", message)
                .help("use `--plain`, which reads commands line by line");
            return super::refuse(&finding, sources, out);
        }
    };
    screen.at = args.at.as_deref().map(At::parse).unwrap_or_default();
    screen.debugger.budget = args.memory.map(|mib| mib as usize * (1 << 20));
    screen.debugger.reopened = reopened.into();
    screen.program = job.module_path().into();
    let flag = screen.debugger.interrupt();
    let report = launches(job, &mut screen, &flag);
    let records = std::mem::take(&mut screen.debugger.records);
    // What is printed now goes to the terminal as it was.
    drop(screen);
    let exit = tell(report, sources, out);
    record(args, records, exit, out)
}

/// Debugs launches of another process.
#[cfg(unix)]
pub(crate) fn attach(args: &Attach, out: &mut Out) -> Exit {
    let refused = |message: String, out: &mut Out| {
        super::refuse(&Diagnostic::error("cli::attach", message), &SourceMap::new(), out)
    };
    let mut input = match script(args.script.as_deref()) {
        Ok(input) => input,
        Err(found) => {
            out.findings(&found, &SourceMap::new());
            return Exit::Usage;
        }
    };
    let connected = connect(args.folder.as_deref());
    let mut terminal = match connected {
        Ok(terminal) => terminal,
        Err(error) => return refused(error.to_string(), out),
    };
    let lines = args.script.is_some() || !std::io::stdin().is_terminal();
    if !lines && !args.plain && std::io::stdout().is_terminal() {
        return match super::attached::screen(terminal) {
            Ok(said) => {
                out.text(&said);
                Exit::Ok
            }
            Err(error) => refused(error.to_string(), out),
        };
    }
    let flag = Arc::default();
    interruptible(&flag);
    terminal.echo = lines;
    match terminal.run(&mut input, &mut std::io::stdout(), &flag) {
        Ok(()) => Exit::Ok,
        Err(error) => refused(error.to_string(), out),
    }
}

/// Connects to the process that has listened last. One in a folder that was named is waited for.
#[cfg(unix)]
fn connect(folder: Option<&Path>) -> Result<attach::Terminal, attach::AttachError> {
    loop {
        let mut error = attach::AttachError::Nobody;
        for socket in attach::find(folder, &std::env::temp_dir()) {
            match attach::Terminal::connect(&socket) {
                Ok(terminal) => return Ok(terminal),
                Err(found) => error = found,
            }
        }
        // The program has not come to its first call yet.
        if !folder.is_some_and(Path::is_dir) {
            return Err(error);
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

#[cfg(not(unix))]
pub(crate) fn attach(_: &Attach, out: &mut Out) -> Exit {
    let finding = Diagnostic::error("cli::attach", "this host has no Unix sockets");
    super::refuse(&finding, &SourceMap::new(), out)
}

/// Serves GDB.
fn gdb(job: &Job, address: &str, sources: &SourceMap, out: &mut Out) -> Exit {
    let refused = |error: &dyn std::fmt::Display, out: &mut Out| {
        let message = format!("GDB cannot be served at {address}: {error}");
        super::refuse(&Diagnostic::error("cli::gdb", message), sources, out)
    };
    let listening = ::gdb::Server::listen(address).and_then(|s| Ok((s.address()?, s)));
    let (place, mut server) = match listening {
        Ok(listening) => listening,
        Err(error) => return refused(&error, out),
    };
    out.note(&format!("waiting for GDB: target remote {place}\n"));
    let exit = run(job, &mut server, &Arc::default(), sources, out);
    match server.take_error() {
        Some(error) => refused(&error, out),
        None => exit,
    }
}

/// Serves an editor.
pub(crate) fn dap(args: &Dap, out: &mut Out) -> Exit {
    let opened = match args.port {
        None => Ok(Adapter::new(std::io::stdin(), std::io::stdout())),
        Some(port) => accept(port, out),
    };
    let served = opened.map_err(dap::DapError::from).and_then(|mut adapter| {
        let launch = adapter.handshake()?;
        if launch.attach {
            return forward(&mut adapter, &launch);
        }
        let code = launched(&mut adapter, &launch);
        match code {
            Ok(code) => adapter.finish(code)?,
            Err(message) => adapter.refuse(&message)?,
        }
        Ok(())
    });
    match served {
        Ok(()) | Err(dap::DapError::Gone) => Exit::Ok,
        Err(error) => {
            let finding = Diagnostic::error("cli::dap", format!("the editor is lost: {error}"));
            super::refuse(&finding, &SourceMap::new(), out)
        }
    }
}

/// Connects an editor with the process that it wants to attach to.
#[cfg(unix)]
fn forward(adapter: &mut Adapter, launch: &dap::Launch) -> Result<(), dap::DapError> {
    let sockets = attach::find_editors(launch.folder.as_deref(), &std::env::temp_dir());
    let mut streams = sockets.iter().map(std::os::unix::net::UnixStream::connect);
    match streams.find_map(Result::ok) {
        Some(stream) => adapter.forward(&stream),
        None => adapter.refuse(&attach::AttachError::Nobody.to_string()),
    }
}

#[cfg(not(unix))]
fn forward(adapter: &mut Adapter, _: &dap::Launch) -> Result<(), dap::DapError> {
    adapter.refuse("this host has no Unix sockets")
}

/// Waits for a client at a port of this host.
fn accept(port: u16, out: &mut Out) -> std::io::Result<Adapter> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", port))?;
    out.note(&format!("waiting for an editor at {}\n", listener.local_addr()?));
    let (stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    // Ends with the process.
    std::thread::spawn(move || {
        for other in listener.incoming().flatten() {
            // It is turned away, whether it hears why or not.
            let _ = ::dap::turn_away(other, "another editor is served");
        }
    });
    Ok(Adapter::new(stream.try_clone()?, stream))
}

/// Runs what a client has launched; returns the exit code, or what is wrong with it.
fn launched(adapter: &mut Adapter, launch: &dap::Launch) -> Result<u8, String> {
    let mut words = vec!["simtlab".into(), "debug".into(), launch.target.clone().into_os_string()];
    words.extend(launch.arguments.iter().map(std::ffi::OsString::from));
    let args = Args::try_parse_from(words).map_err(|error| error.to_string())?;
    let Command::Debug(args) = args.command else {
        return Err("the launch configuration is none of a debugger".to_owned());
    };
    let mut sources = SourceMap::new();
    let text = |found: &Diagnostics, sources: &SourceMap| render_all(found, sources, Paint::Plain);
    let (args, launches, _folder) = match recording::read(&args.target.subject.path)? {
        None => (*args, Vec::new(), None),
        Some(recording) => {
            let (args, launches, folder) = open(&args, &recording)?;
            (args, launches, Some(folder))
        }
    };
    let job = ready(&args, &mut sources).map_err(|found| text(&found, &sources))?;
    adapter.set_program(job.module_path());
    adapter.reopen(launches);
    let mut monitor = Unmonitored;
    let report = job.run(false, &mut DebuggedMonitor { monitor: &mut monitor, client: adapter });
    let report = report.map_err(|found| text(&found, &sources))?;
    let findings = text(&report.findings(), &sources);
    let output = String::from_utf8_lossy(&report.output).into_owned();
    for said in [output, show::check_lines(&report), findings] {
        if !said.is_empty() {
            adapter.say(&said).map_err(|error| error.to_string())?;
        }
    }
    Ok(match report.verdict() {
        Verdict::Met | Verdict::Interrupted => 0,
        Verdict::Unmet => 1,
        Verdict::Stopped => 3,
        Verdict::Differs => 5,
    })
}

/// Runs a job under a debugger, and reports how it ended.
fn run(
    job: &Job,
    client: &mut dyn Client,
    flag: &Arc<AtomicBool>,
    sources: &SourceMap,
    out: &mut Out,
) -> Exit {
    tell(launches(job, client, flag), sources, out)
}

/// Runs the launches of a job under a debugger.
fn launches(
    job: &Job,
    client: &mut dyn Client,
    flag: &Arc<AtomicBool>,
) -> Result<Report, Diagnostics> {
    interruptible(flag);
    let mut monitor = UntilInterrupted(Arc::clone(flag));
    job.run(false, &mut DebuggedMonitor { monitor: &mut monitor, client })
}

/// Reports how a job ended.
fn tell(report: Result<Report, Diagnostics>, sources: &SourceMap, out: &mut Out) -> Exit {
    match report {
        Ok(report) => match print(&report, (Stats::None, false), sources, out) {
            // The user has left.
            Exit::Interrupted => Exit::Ok,
            exit => exit,
        },
        Err(found) => {
            out.findings(&found, sources);
            Exit::Usage
        }
    }
}

fn ready(args: &Debug, sources: &mut SourceMap) -> Result<Job, Diagnostics> {
    let mut run = args.target.as_run();
    run.mechanism.clone_from(&args.mechanism);
    run.warp_size.clone_from(&args.warp_size);
    let mut words = Words::new("debug", &run, &[], sources);
    files(&mut words.options).map_err(one)?;
    Ok(prepare(&words, sources)?.0)
}

/// Opens a script, or standard input.
fn script(path: Option<&Path>) -> Result<Box<dyn BufRead>, Diagnostics> {
    match path {
        None => Ok(Box::new(BufReader::new(std::io::stdin()))),
        Some(path) => {
            let text = read_input(path, MOST_SCRIPT, None).map_err(one)?;
            Ok(Box::new(Cursor::new(text)))
        }
    }
}

/// The first Ctrl-C interrupts what runs, the second one ends the process.
fn interruptible(flag: &Arc<AtomicBool>) {
    let flag = Arc::clone(flag);
    // Without a handler Ctrl-C ends the process, which is acceptable.
    let _ = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::SeqCst) {
            let _ = std::io::stdout().flush();
            std::process::exit(130);
        }
    });
}

/// Lets a launch run until it is interrupted.
struct UntilInterrupted(Arc<AtomicBool>);

impl LaunchMonitor for UntilInterrupted {
    fn poll(&mut self, _: Progress) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}
