//! Runs kernels: output, faults.

use cuda_abi::{Outcome, Status};
use runtime::{
    Check, Context, Event, Failure, Faults, LaunchTotals, Launched, Report, Shape, ToleratedAccess,
};

use super::Step;
use super::pinned::{Pinned, unmap};
use crate::errors::{of_context, of_launch, of_stop};
use crate::failure;
use crate::profile;
use crate::state::Driver;
use crate::state::action::Launch;
use crate::state::memory::Allocation;
use crate::state::pending::{HeldLaunch, Work};
use crate::state::usage::USAGE;

/// Runs a launch in its kernel's context, or that of its stream if the kernel has none. A launch
/// that waits for memory that others can change is kept.
pub(super) fn run(d: &mut Driver, context: u64, launch: &Launch) -> Outcome<Step> {
    let context = d.kernel_context(launch.function, context)?;
    if let Some(failed) = d.context(context)?.failed {
        return Err(failed);
    }
    let f = d.functions.get(&launch.function).ok_or(Status::INVALID_HANDLE)?;
    if launch.shape.shared > f.most_dynamic(d.settings.device(), launch.shared_mode) {
        return Err(Status::INVALID_VALUE);
    }
    let shape = Shape { cluster: f.cluster_of(launch.shape.cluster)?, ..launch.shape };
    let (id, kernel) = (f.id, f.kernel);
    let name = f.code.function(kernel).map_or_else(String::new, |f| f.name.clone());
    d.allocate_for(context)?;
    let keeps = others_can_change_memory(d, context);
    let mut pinned = Pinned::map(d, (id, kernel), &launch.params);
    let begun = profile::now();
    let end = loop {
        let end = on_device(d, context, |device| {
            device.launch_until_wait((id, kernel), shape, &launch.params, keeps)
        })?;
        match end {
            Err(Failure::Unmapped(address)) => pinned.map_missed(d, address),
            end => break end,
        }
    };
    let shown = pinned.end(d);
    let launch = Ran { function: launch.function, name, shape, shown, begun };
    conclude(d, context, launch, end)
}

/// Goes on with a launch that was kept.
pub(super) fn resume(d: &mut Driver, context: u64, held: HeldLaunch) -> Outcome<Step> {
    let HeldLaunch { waiting, function, name, shape, shown, begun } = held;
    let context = d.kernel_context(function, context)?;
    d.allocate_for(context)?;
    let end = on_device(d, context, |device| device.resume(*waiting))?;
    conclude(d, context, Ran { function, name, shape, shown, begun }, end)
}

/// Runs a kernel of a context, with its device heap, on the memory that its device may access.
fn on_device<T>(d: &mut Driver, context: u64, run: impl FnOnce(&mut Context) -> T) -> Outcome<T> {
    let accessing = d.accessing(context)?;
    swap_heap(d, context);
    d.device.set_accessing(Some(accessing));
    let end = USAGE.during(|| run(&mut d.device));
    d.device.set_accessing(None);
    swap_heap(d, context);
    Ok(end)
}

/// Makes a context fail because a launch that was kept waits forever.
pub(super) fn hang(d: &mut Driver, context: u64, held: &HeldLaunch) {
    let stop = Box::new(held.waiting.stop().clone());
    unmap(d, held.shown.iter().copied());
    fail(d, context, &held.name, &Failure::Stopped(stop));
    // The launch has returned, so that its context fails whatever faults do.
    if let Some(context) = d.contexts.get_mut(&context) {
        context.failed.get_or_insert(Status::LAUNCH_TIMEOUT);
    }
}

/// A launch that has run.
struct Ran {
    function: u64,
    name: String,
    shape: Shape,
    /// Host memory that is mapped for it.
    shown: Vec<u64>,
    /// When it began, as the listener of a profiling tool says.
    begun: u64,
}

fn conclude(
    d: &mut Driver,
    context: u64,
    launch: Ran,
    end: Result<Launched, Failure>,
) -> Outcome<Step> {
    let Ran { function, name, shape, shown, begun } = launch;
    d.log_findings();
    log_heap(d, context, &name);
    let end = match end {
        Ok(Launched::Waits(waiting)) => {
            let held = HeldLaunch { waiting, function, name, shape, shown, begun };
            return Ok(Step::Waits(Work::Launch(held)));
        }
        Ok(Launched::Ended(report)) => Ok(report),
        Err(failure) => Err(failure),
    };
    unmap(d, shown);
    profile::launched(d, context, (d.functions.get(&function), &shape), &name, begun);
    match end {
        Ok(report) => {
            tell(d, &name, &shape, &report);
            for child in &report.children {
                tell(d, &child.kernel, &child.shape, &child.report);
            }
            Ok(Step::Done)
        }
        Err(failure) => Err(fail(d, context, &name, &failure)),
    }
}

/// Returns whether something besides a launch can change what it sees: the host, through memory
/// that both see, other streams of its context, or peers. Where a hang undoes its launch, nothing
/// waits: the client goes on with what was there before.
fn others_can_change_memory(d: &Driver, context: u64) -> bool {
    let is_shared = |a: &Allocation| a.context == context && !a.is_on_device();
    let can_wait = !d.settings.synchronous && d.settings.faults != Faults::Launch;
    let has_streams = d.streams.values().any(|stream| stream.context == context);
    let has_peers = d.contexts.values().any(|c| !c.peers.is_empty());
    can_wait && (has_streams || has_peers || d.memory.live.values().any(is_shared))
}

/// Swaps a context's device heap into the device, or out of it.
fn swap_heap(d: &mut Driver, context: u64) {
    if let Some(context) = d.contexts.get_mut(&context) {
        std::mem::swap(d.device.heap_mut(), &mut context.heap);
    }
}

/// Writes what kernels hold of a context's device heap after a launch of one of them.
fn log_heap(d: &mut Driver, context: u64, kernel: &str) {
    if !d.settings.checks.has(Check::Leak) {
        return;
    }
    let Some(held_by) = d.contexts.get_mut(&context) else { return };
    for (kernel, blocks, bytes) in held_by.heap_owners.note_launch(&held_by.heap, kernel) {
        let kernel = kernel.to_string();
        d.log_for_leaks(|process| Event::HeapHeld { process, context, kernel, blocks, bytes });
    }
}

/// Writes a kernel's output to the standard output stream.
fn print(output: &[u8]) {
    use std::io::Write as _;
    if !output.is_empty() {
        let mut out = std::io::stdout();
        // The client may have closed the stream.
        let _ = out.write_all(output).and_then(|()| out.flush());
    }
}

/// Reports a launch that has ended, and prints its output.
fn tell(d: &mut Driver, name: &str, shape: &Shape, report: &Report) {
    d.log(&report.event(name, shape));
    report.tolerated.iter().for_each(|access| tell_tolerated(d, access));
    d.totals.add(&LaunchTotals::of(&report.stats));
    print(&report.output);
}

/// Reports accesses from which a launch went on; prints the first of each instruction.
fn tell_tolerated(d: &mut Driver, access: &ToleratedAccess) {
    d.log(&access.event());
    let first = &access.first;
    let line = first.place.text.as_ref().map_or(0, |text| text.line);
    if d.tolerated.insert((first.kernel.clone(), line)) {
        d.print_error(&format!("the launch goes on: {first}"));
    }
}

/// Returns the status of a failed launch. A fault or hang makes the context fail, unless its launch
/// alone is to fail.
fn fail(d: &mut Driver, context: u64, name: &str, failure: &Failure) -> Status {
    let status = match failure {
        Failure::Stopped(stop) => {
            d.log(&stop.event());
            d.print_error(&stop.to_string());
            let status = of_stop(stop.kind, stop.code);
            if d.settings.faults != Faults::Launch
                && let Some(context) = d.contexts.get_mut(&context)
            {
                context.failed = Some(status);
            }
            return status;
        }
        Failure::Debugger => {
            if let Some(context) = d.contexts.get_mut(&context) {
                context.failed = Some(Status::LAUNCH_FAILED);
            }
            return Status::LAUNCH_FAILED;
        }
        Failure::Context(error) => of_context(error),
        Failure::Compare(_) => Status::OUT_OF_MEMORY,
        // The launch would have been repeated.
        Failure::Unmapped(_) => Status::ILLEGAL_ADDRESS,
        Failure::Refused(error) => {
            failure::explain(error.to_string());
            of_launch(error)
        }
    };
    if d.settings.trace {
        d.print_error(&format!("the launch of `{name}` cannot begin: {failure}"));
    }
    status
}
