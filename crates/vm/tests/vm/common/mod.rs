//! What the tests of the passes share: reading a module, running a kernel, and random kernels.

pub(crate) mod graphs;

use converge::{Entry, Knobs, Policy};
pub(crate) use graphs::{ends, graph};
use ir::{FuncId, Module, VerifiedModule};
use simt::machine::{Machine, Step};
use vm::{Counts, Engine, Launch, Program, catalogued, load_variables};

/// Threads of a launch.
pub(crate) const THREADS: u32 = 40;

/// Reads and verifies a module in text form.
pub(crate) fn verified(text: &str) -> VerifiedModule {
    let module = ir::text::parse(isa::FileId::default(), text)
        .unwrap_or_else(|d| panic!("{text}\n{:#?}", d.iter().collect::<Vec<_>>()));
    VerifiedModule::new(module).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

/// A kernel whose parameter is where its words go, and how it is launched.
pub(crate) struct Run<'a> {
    pub(crate) module: &'a Module,
    pub(crate) kernel: FuncId,
    pub(crate) words: usize,
    pub(crate) mechanism: &'a str,
    pub(crate) grid: u32,
    pub(crate) block: u32,
    pub(crate) width: u32,
    pub(crate) policy: Policy,
    pub(crate) knobs: Knobs,
    pub(crate) limit: u64,
}

impl<'a> Run<'a> {
    /// One block of kernel `k`, with one word for each thread and two more.
    pub(crate) fn new(module: &'a Module, mechanism: &'a str, width: u32) -> Self {
        Self::of(module, module.function("k").unwrap(), mechanism, width)
    }

    /// As [`Run::new`], of another kernel.
    pub(crate) fn of(module: &'a Module, kernel: FuncId, mechanism: &'a str, width: u32) -> Self {
        Self {
            module,
            kernel,
            words: THREADS as usize + 2,
            mechanism,
            grid: 1,
            block: THREADS,
            width,
            policy: Policy::First,
            knobs: Knobs::default(),
            limit: 4_000_000,
        }
    }

    /// Its words at the end and what it took; `None` if it hangs.
    pub(crate) fn end(&self) -> Option<(Vec<u32>, Counts)> {
        let text =
            || format!("{} {}\n{}", self.mechanism, self.width, ir::text::print(self.module));
        let program = Program::link(self.module.clone()).unwrap_or_else(|e| panic!("{e:#?}"));
        let entry = Entry::find(self.mechanism).unwrap();
        let mut launch = Launch::<1>::new(self.kernel, catalogued(entry));
        let out = launch.memory.allocate("out", 4 * self.words as u64).unwrap();
        launch.variables = load_variables(&program, &mut launch.memory).unwrap();
        launch.params = out.0.to_le_bytes().to_vec();
        (launch.grid, launch.block) = ([self.grid, 1, 1], [self.block, 1, 1]);
        (launch.width, launch.policy, launch.knobs) = (self.width, self.policy, self.knobs);
        launch.limit = self.limit;
        let engine = Engine::<1>;
        let mut state = engine.launch(&program, launch).unwrap();
        match engine.run_unobserved(&program, &mut state, u64::MAX) {
            Step::Done => {}
            Step::Hang(_) => return None,
            other => panic!("{other:?} {}", text()),
        }
        assert!(state.stats().slots.identity_holds());
        let mut bytes = vec![0; 4 * self.words];
        state.memory().read_bytes(out, &mut bytes).unwrap();
        let words = bytes.chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect();
        Some((words, *state.stats()))
    }

    /// As [`Run::end`], of a kernel that must not hang.
    #[track_caller]
    pub(crate) fn done(&self) -> (Vec<u32>, Counts) {
        self.end().unwrap_or_else(|| {
            panic!("hangs under {}\n{}", self.mechanism, ir::text::print(self.module))
        })
    }
}
