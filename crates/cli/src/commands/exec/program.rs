//! The program that `exec` runs: its environment, its signals, its exit status.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};

use super::setup::{Folder, Libraries};
use super::{build, signals};
use crate::args::{EngineName, Exec};

/// The exit status of the program.
pub(super) struct ExitOutcome(ExitStatus);

impl ExitOutcome {
    /// Returns the program's exit code; for a program that a signal ended, 128 plus the signal's
    /// number, as in shells.
    pub(super) fn code(&self) -> u8 {
        match (self.0.code(), self.signal()) {
            (Some(code), _) => code as u8,
            (None, Some(signal)) => (128 + signal) as u8,
            (None, None) => 1,
        }
    }

    /// Returns the signal that ended the program, if one did.
    pub(super) fn signal(&self) -> Option<signals::Signal> {
        #[cfg(unix)]
        {
            std::os::unix::process::ExitStatusExt::signal(&self.0)
        }
        #[cfg(not(unix))]
        {
            None
        }
    }
}

/// A running program.
pub(super) struct Program {
    child: Child,
    /// Whether it leads a process group of its own, which its child processes join.
    leads: bool,
}

impl Program {
    pub(super) fn start(
        args: &Exec,
        folder: &Folder,
        libraries: &Libraries,
    ) -> Result<Self, String> {
        let Some((program, rest)) = args.command.split_first() else {
            return Err("no program is given".to_owned());
        };
        let mut command = Command::new(program);
        command.args(rest);
        environment(&mut command, args, folder);
        build::environment(&mut command, libraries, args.capability.as_deref());
        let leads = lead_group(&mut command);
        let child =
            command.spawn().map_err(|e| format!("{} cannot be run: {e}", program.display()))?;
        Ok(Self { child, leads })
    }

    /// Waits for the end of the program, and forwards signals to it meanwhile.
    pub(super) fn wait(self) -> Result<ExitOutcome, String> {
        let failed = |e: std::io::Error| format!("the program cannot be waited for: {e}");
        #[cfg(unix)]
        {
            supervised::wait(self).map(ExitOutcome).map_err(failed)
        }
        #[cfg(not(unix))]
        {
            let Self { mut child, .. } = self;
            child.wait().map(ExitOutcome).map_err(failed)
        }
    }
}

/// Makes the program the leader of a process group, unless there is a terminal. The terminal's
/// foreground job is one group, which receives the terminal's signals and may read from it.
#[cfg(unix)]
fn lead_group(command: &mut Command) -> bool {
    use std::io::IsTerminal as _;
    use std::os::unix::process::CommandExt as _;
    let terminal = std::io::stdin().is_terminal()
        || std::io::stdout().is_terminal()
        || std::io::stderr().is_terminal();
    if !terminal {
        command.process_group(0);
    }
    !terminal
}

#[cfg(not(unix))]
fn lead_group(_: &mut Command) -> bool {
    false
}

#[cfg(unix)]
mod supervised {
    use std::io;
    use std::process::ExitStatus;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::Program;
    use super::signals::{self, KILL};

    /// Interval between polls of signals.
    const POLL_INTERVAL: Duration = Duration::from_millis(20);

    /// Time that remaining processes of the group have to end after a signal.
    const GRACE_PERIOD: Duration = Duration::from_secs(2);

    pub(super) fn wait(mut program: Program) -> io::Result<ExitStatus> {
        let id = program.child.id().cast_signed();
        let leads = program.leads;
        let (ended, signalled) = (AtomicBool::new(false), AtomicBool::new(false));
        let status = thread::scope(|scope| {
            scope.spawn(|| {
                while !ended.load(Ordering::SeqCst) {
                    for signal in signals::take() {
                        signalled.store(true, Ordering::SeqCst);
                        // A group with a terminal has already received the signal from it.
                        if leads || !signals::is_of_terminals(signal) {
                            signals::send(if leads { -id } else { id }, signal);
                        }
                    }
                    thread::sleep(POLL_INTERVAL);
                }
            });
            let status = program.child.wait();
            ended.store(true, Ordering::SeqCst);
            status
        })?;
        if leads && signalled.load(Ordering::SeqCst) {
            end_group(id);
        }
        Ok(status)
    }

    /// Ends the remaining processes of the program's group, which have received the signal too.
    fn end_group(id: i32) {
        let begun = Instant::now();
        while signals::send(-id, 0) {
            if begun.elapsed() > GRACE_PERIOD {
                signals::send(-id, KILL);
                return;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Sets the environment variables that configure clients.
fn environment(command: &mut Command, args: &Exec, folder: &Folder) {
    if let Some(joined) = search_path(folder.path(), std::env::var_os("LD_LIBRARY_PATH")) {
        command.env("LD_LIBRARY_PATH", joined);
    }
    // Frameworks are prepared for the device when Python imports them.
    if let Some(joined) = search_path(&folder.python(), std::env::var_os("PYTHONPATH")) {
        command.env("PYTHONPATH", joined);
    }
    command.env("SIMTLAB_RUN_LIBRARIES", folder.path());
    if args.preload {
        // Elements are separated by colons or spaces; the folder is named without them.
        let mut all: Vec<OsString> = folder.runtimes().map(PathBuf::into_os_string).collect();
        all.extend(std::env::var_os("LD_PRELOAD").filter(|before| !before.is_empty()));
        command.env("LD_PRELOAD", all.join(std::ffi::OsStr::new(":")));
    }
    command.env("SIMTLAB_JOURNAL", folder.journal());
    // Triton: the assemblers that it calls, for capabilities below 9.0 and from 9.0 on, the driver
    // that it links against, and the library that its profiler takes from a folder.
    let ptxas = folder.ptxas();
    command.env("TRITON_PTXAS_PATH", &ptxas).env("TRITON_PTXAS_BLACKWELL_PATH", &ptxas);
    command.env("TRITON_LIBCUDA_PATH", folder.path());
    if folder.has_profiler() {
        command.env("TRITON_CUPTI_LIB_PATH", folder.path());
    }
    // CuPy: PTX instead of machine code, and no closed-source libraries for sums and sorting.
    command.env("CUPY_COMPILE_WITH_PTX", "1").env("CUPY_ACCELERATORS", "");
    if let Some(capability) = &args.capability {
        command.env("SIMTLAB_COMPUTE_CAPABILITY", capability);
    }
    if let Some(limit) = args.limit {
        command.env("SIMTLAB_LIMIT", limit.to_string());
    }
    if let Some(threads) = args.jobs {
        command.env("SIMTLAB_JOBS", threads.to_string());
    }
    match args.engine {
        EngineName::Fast => {}
        EngineName::Interpreted => drop(command.env("SIMTLAB_ENGINE", "interpreted")),
        EngineName::Compiled => drop(command.env("SIMTLAB_ENGINE", "compiled")),
        EngineName::Exact => drop(command.env("SIMTLAB_ENGINE", "exact")),
        EngineName::Both => drop(command.env("SIMTLAB_ENGINE", "both")),
    }
    if let Some(faults) = &args.faults {
        command.env("SIMTLAB_FAULTS", faults);
    }
    if let Some(order) = &args.asynchrony {
        command.env("SIMTLAB_ASYNC", order);
    }
    if let Some(rule) = &args.matrix_sums {
        command.env("SIMTLAB_MATRIX_SUMS", rule);
    }
    if args.trace {
        command.env("SIMTLAB_TRACE", "1");
    }
    if args.debug {
        command.env("SIMTLAB_DEBUG", folder.path());
        if let Some(at) = &args.at {
            command.env("SIMTLAB_DEBUG_AT", at);
        }
    }
    if let Some(checks) = &args.check {
        command.env("SIMTLAB_CHECK", checks);
    }
}

/// Returns a search path with the folder `first` in front. Drops empty elements, which loaders and
/// linkers would take for the current directory; a variable that is set but empty contains one.
pub(super) fn search_path(first: &std::path::Path, before: Option<OsString>) -> Option<OsString> {
    let before = before.unwrap_or_default();
    let others = std::env::split_paths(&before).filter(|path| !path.as_os_str().is_empty());
    std::env::join_paths([PathBuf::from(first)].into_iter().chain(others)).ok()
}

#[cfg(all(test, unix))]
mod tests {
    use super::search_path;
    use std::path::Path;

    #[test]
    fn empty_elements_are_left_out() {
        for (before, after) in [
            (None, "/run"),
            (Some(""), "/run"),
            (Some(":"), "/run"),
            (Some("/a::/b:"), "/run:/a:/b"),
            (Some("/a"), "/run:/a"),
        ] {
            let made = search_path(Path::new("/run"), before.map(Into::into));
            assert_eq!(made.as_deref(), Some(after.as_ref()), "{before:?}");
        }
    }
}
