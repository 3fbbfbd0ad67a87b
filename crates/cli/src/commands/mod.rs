//! The commands, one file each.

mod assemble;
#[cfg(unix)]
mod attached;
mod bench;
mod checks;
mod compare;
mod conform;
mod debug;
pub(crate) mod device;
mod exec;
mod explore;
mod inspect;
mod list_machines;
mod lower;
mod memory;
mod predicate;
mod ptxas;
mod recording;
mod run;
mod study;
mod sweep;
mod target;

use std::path::Path;

use clap::CommandFactory;
use isa::{Diagnostic, SourceMap, Span};
use machines::Isa;

use crate::args::{Args, Command};
use crate::out::{Exit, Out};

/// Runs a command and returns its exit status.
pub(crate) fn dispatch(command: Command, out: &mut Out) -> Exit {
    match command {
        Command::Run(run) => run::run(&run, out),
        Command::Bench(bench) => bench::bench(&bench, out),
        Command::Explore(args) => explore::explore(&args, out),
        Command::Compare(compare) => compare::compare(&compare, out),
        Command::Sweep(args) => sweep::sweep(&args, out),
        Command::Explain(explain) => study::explain(&explain, out),
        Command::Diff(diff) => study::diff(&diff, out),
        Command::Trace(trace) => study::trace(&trace, out),
        Command::Debug(args) => debug::debug(&args, out),
        Command::Attach(args) => debug::attach(&args, out),
        Command::Dap(args) => debug::dap(&args, out),
        Command::Mechanisms => {
            out.text(&lab::show::catalogue_text());
            Exit::Ok
        }
        Command::Check(check) => inspect::check(&check, out),
        Command::List(list) => inspect::list(&list, out),
        Command::Cfg(cfg) => inspect::cfg(&cfg, out),
        Command::Predicate(args) => predicate::predicate(&args, out),
        Command::Lower(args) => lower::lower(&args, out),
        Command::Asm(asm) => assemble::asm(&asm, out),
        Command::Disasm(disasm) => assemble::disasm(&disasm, out),
        Command::Conform(conform) => conform::conform(&conform, out),
        Command::Exec(args) => exec::exec(&args, out),
        Command::Device(args) => device::device(&args, out),
        Command::Ptxas { args } => ptxas::ptxas(&args, out),
        Command::Machines(args) => list_machines::list_machines(&args, out),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "simtlab", &mut script);
            out.bytes(&script);
            Exit::Ok
        }
    }
}

/// Returns the machine for an option that changes how programs are read, given the option's value
/// and span.
fn reading(
    isa: &'static Isa,
    option: &str,
    given: Option<(&str, Span)>,
) -> Result<&'static Isa, Diagnostic> {
    let Some((value, span)) = given else { return Ok(isa) };
    if !isa.options.iter().copied().flatten().any(|o| o.name == option) {
        let message = format!("{} has no option `{option}`", isa.name);
        return Err(Diagnostic::error("isa::option", message).at(span, ""));
    }
    match (isa.variant)(option, value) {
        Ok(found) => Ok(found.unwrap_or(isa)),
        Err(why) => Err(Diagnostic::error("isa::option", why).at(span, "")),
    }
}

/// Prints a diagnostic; returns the exit status of usage errors.
fn refuse(finding: &Diagnostic, sources: &SourceMap, out: &mut Out) -> Exit {
    out.finding(finding, sources);
    Exit::Usage
}

/// Returns the machine that `--isa` names, or else that of the file name extension.
fn choose_isa(
    named: Option<(&str, Span)>,
    path: &Path,
    path_span: Span,
) -> Result<&'static Isa, Diagnostic> {
    if let Some((name, span)) = named {
        return machines::find(name).map_err(|finding| finding.at(span, "unknown machine"));
    }
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    machines::by_extension(extension).ok_or_else(|| {
        let known: Vec<String> = machines::all()
            .iter()
            .flat_map(|m| m.extensions.iter().map(move |e| format!(".{e} ({})", m.name)))
            .collect();
        Diagnostic::error("cli::isa", "the file's name does not tell the machine it is for")
            .at(path_span, "unknown extension")
            .help(format!("add --isa NAME; known extensions are {}", known.join(", ")))
    })
}
