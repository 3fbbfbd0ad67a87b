//! The command `debug`.

use std::io::{BufRead, BufReader, Cursor, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::dap::Adapter;
use ::debug::{At, Client, Console};
use clap::Parser as _;
use inputs::file::read_input;
use isa::{Diagnostic, Diagnostics, SourceMap};
use lab::render::{Paint, render_all};
use lab::run::{Job, Verdict};
use lab::show;
use machines::{DebuggedMonitor, LaunchMonitor, Progress, Unmonitored};

use super::run::{Words, files, prepare, print};
use super::target::one;
use crate::args::debug::{Dap, Debug};
use crate::args::{Args, Command, Stats};
use crate::out::{Exit, Out};

/// Longest script in bytes.
const MOST_SCRIPT: u64 = 16 << 20;

/// Debugs the launches of a program or a launch file.
pub(crate) fn debug(args: &Debug, out: &mut Out) -> Exit {
    let mut sources = SourceMap::new();
    let ready = ready(args, &mut sources).and_then(|job| Ok((job, input(args)?)));
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
    let mut console = Console::new(input, std::io::stdout());
    console.echo = !terminal;
    console.prompt = terminal;
    console.at = args.at.as_deref().map(At::parse).unwrap_or_default();
    console.debugger.budget = args.memory.map(|mib| mib as usize * (1 << 20));
    let flag = console.debugger.interrupt();
    run(&job, &mut console, &flag, &sources, out)
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

/// Waits for a client at a port of this host.
fn accept(port: u16, out: &mut Out) -> std::io::Result<Adapter> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", port))?;
    out.note(&format!("waiting for an editor at {}\n", listener.local_addr()?));
    let (stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
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
    let job = ready(&args, &mut sources).map_err(|found| text(&found, &sources))?;
    adapter.set_program(job.module_path());
    let mut monitor = Unmonitored;
    let report = job.run(false, &mut DebuggedMonitor { monitor: &mut monitor, client: adapter });
    let report = report.map_err(|found| text(&found, &sources))?;
    let findings = text(&show::findings(&report), &sources);
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
    interruptible(flag);
    let mut monitor = UntilInterrupted(Arc::clone(flag));
    let report = job.run(false, &mut DebuggedMonitor { monitor: &mut monitor, client });
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

/// Opens the script, or standard input.
fn input(args: &Debug) -> Result<Box<dyn BufRead>, Diagnostics> {
    match &args.script {
        None => Ok(Box::new(BufReader::new(std::io::stdin()))),
        Some(path) => {
            let text = read_input(Path::new(path), MOST_SCRIPT, None).map_err(one)?;
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
