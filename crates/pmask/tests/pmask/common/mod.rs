//! What the tests share: programs as text, run to their end.
#![allow(dead_code, reason = "not every test file uses all of it")]

use isa::FileId;
use pmask::run::{End, Outcome, run, run_observed};
use pmask::{Config, Launch, Pmask, Program, State};
use simt::memory::{Addr, Width};
use simt::observe::{Access, Events, Observer};

/// Steps that a test program may take.
pub(crate) const LIMIT: u64 = 20_000_000;

pub(crate) fn program(text: &str) -> Program {
    Program::from_text(FileId::default(), text).unwrap_or_else(|found| {
        panic!("{:?}", found.iter().map(|d| (&d.message, d.primary.clone())).collect::<Vec<_>>())
    })
}

pub(crate) fn outcome(text: &str, config: Config) -> Outcome {
    run(&Pmask { config }, &program(text), Launch::default(), LIMIT).unwrap()
}

/// The last state of a program that ends itself with code 0.
pub(crate) fn finish(text: &str, config: Config) -> State {
    let outcome = outcome(text, config);
    assert_eq!(outcome.end, End::Exit(0), "{text}");
    outcome.state
}

/// The same for the default machine, `li a7, 0; ecall` added.
pub(crate) fn ends(text: &str) -> State {
    finish(&format!("{text}\nli a7, 0\necall"), Config::default())
}

/// The trap that ends a program without a handler: cause, mtval, and the state.
pub(crate) fn traps(text: &str, config: Config) -> (u64, u64, State) {
    let outcome = outcome(text, config);
    match outcome.end {
        End::Fault(fault) => match fault.cause {
            pmask::trap::StopCause::Trap { trap, .. } => {
                (trap.cause.number(), trap.value, outcome.state)
            }
            other => panic!("{other}"),
        },
        other => panic!("{other:?}"),
    }
}

pub(crate) fn word(state: &State, addr: u64) -> u64 {
    state.memory.load(Addr(addr), Width::B4).unwrap()
}

/// Every access of a run.
#[derive(Default)]
pub(crate) struct Log(pub(crate) Vec<(u16, u64)>);

impl Observer<1> for Log {
    const EVENTS: Events = Events::ACCESS;
    fn access(&mut self, access: &Access<'_>) {
        self.0.extend_from_slice(access.lanes);
    }
}

/// Lanes and addresses of all accesses of a program.
pub(crate) fn accesses(text: &str) -> (Vec<(u16, u64)>, Outcome) {
    let mut log = Log::default();
    let text = format!("{text}\nli a7, 0\necall");
    let outcome =
        run_observed(&Pmask::default(), &program(&text), Launch::default(), LIMIT, &mut log);
    (log.0, outcome.unwrap())
}
