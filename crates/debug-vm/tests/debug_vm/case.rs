//! Kernels, ready to be launched in the debugger.

use std::sync::Arc;

use checks::probe::Place;
use debug::{Code, Execution, Instruction};
use debug_vm::{Begin, Begun, Kernel};
use isa::{FileId, SourceFile};
use simt::Pc;
use simt::inspect::Inspect as _;
use simt::machine::{Machine as _, Step};
use simt::memory::MemoryMap;
use simt::observe::{AnyObserver, Observer};
use vm::{Engine, Launch, Program, State, catalogued};

pub(crate) const ENGINE: Engine<1> = Engine;
pub(crate) const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// A program with one kernel `k` and one parameter, the address of a buffer.
pub(crate) struct Case {
    pub(crate) program: Program,
    pub(crate) places: Arc<[Place]>,
    pub(crate) text: SourceFile,
    grid: u32,
    block: [u32; 3],
    bytes: u64,
    /// Most issues of a block.
    pub(crate) limit: u64,
}

impl Case {
    pub(crate) fn new(text: &str, (grid, block): (u32, [u32; 3]), bytes: u64) -> Self {
        let text = SourceFile::new("k.ptx", format!("{HEAD}{text}"));
        let (tree, _) = ptx::parse(FileId(0), text.text());
        let (module, found) = ptx::lower(&tree, ptx::Select::Kernel("k"));
        assert!(!found.has_errors(), "{found:?}\n{}", text.text());
        let program = Program::link(module.expect("lowered")).expect("linked");
        let places = checks::code::places(&program, &|_| Some(&text));
        Self { program, places, text, grid, block, bytes, limit: 100_000 }
    }

    /// The launch before its first issue, with its memory.
    pub(crate) fn state(&self, mechanism: &str) -> State<1> {
        let kernel = self.program.module().function("k").expect("kernel");
        let entry = converge::Entry::find(mechanism).expect("mechanism");
        let mut memory = MemoryMap::new();
        let out = memory.allocate("out", self.bytes).expect("room").0;
        let launch = Launch {
            grid: [self.grid, 1, 1],
            block: self.block,
            width: 32,
            params: out.to_le_bytes().to_vec(),
            scope: entry.scope,
            limit: self.limit,
            ..Launch::new(kernel, catalogued(entry))
        };
        let mut state = vm::begin_bare(&self.program, launch).expect("launched");
        *state.memory_mut() = memory;
        state
    }

    /// The launch under another mechanism.
    pub(crate) fn begin(&self, mechanism: &str) -> Result<Begun<'_, 1>, String> {
        let mut state = self.state(mechanism);
        *state.memory_mut() = MemoryMap::new();
        Ok(Begun { program: &self.program, places: &self.places, state })
    }

    pub(crate) fn kernel<'c>(&'c self, mechanism: &'c str, begin: Begin<'c, 1>) -> Kernel<'c, 1> {
        Kernel {
            program: &self.program,
            places: &self.places,
            text: Some(&self.text),
            kernel: self.program.module().function("k").expect("kernel"),
            mechanism,
            grid: [self.grid.into(), 1, 1],
            block: self.block.map(u64::from),
            begin,
        }
    }

    /// The launch in the debugger.
    pub(crate) fn execution<'c>(&'c self, kernel: &Kernel<'c, 1>) -> Execution<'c, Engine<1>, 1> {
        let instruction = |(pc, place): (u64, &Place)| Instruction {
            pc: Pc(pc),
            text: Arc::clone(&place.text),
            line: place.line,
            source: None,
        };
        let code = (0..).zip(self.places.iter()).map(instruction).collect();
        let code = Code::new("k.ptx", self.text.text(), code, Vec::new());
        let explain = |cause: &vm::Cause| cause.to_string();
        let state = self.state(kernel.mechanism);
        Execution::new(&ENGINE, &self.program, state, explain, code)
            .with_companion(debug_vm::companion(kernel))
    }

    /// Runs without the debugger and calls back before each issue.
    pub(crate) fn run<O: Observer<1>>(
        &self,
        mechanism: &str,
        observer: &mut O,
        mut each: impl FnMut(u64, Option<Pc>, &State<1>, &mut O),
    ) {
        let mut state = self.state(mechanism);
        for issue in 0.. {
            // Blocks that have ended go before the next issue.
            let next = ENGINE.upcoming(&self.program, &mut state);
            each(issue, next.as_ref().ok().map(|next| next.pc), &state, observer);
            if next.is_err()
                || ENGINE.run_observed(
                    &self.program,
                    &mut state,
                    &mut AnyObserver::new(observer),
                    1,
                ) != Step::Issued
            {
                return;
            }
        }
    }
}
