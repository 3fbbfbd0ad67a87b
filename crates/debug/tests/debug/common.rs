//! Random kernels, ready to be launched.

use converge::Policy;
use converge::catalogue::CATALOGUE;
use debug::{Code, Execution, Function, Instruction};
use generate::flow::{self, FlowKernel};
use ir::LocId;
use ir::testing::Rng;
use isa::{FileId, SourceFile};
use simt::Pc;
use simt::inspect::Inspect as _;
use simt::machine::{Machine, Step};
use simt::memory::MemoryMap;
use simt::observe::{AnyObserver, Observer};
use vm::{Engine, Launch, Program, State, catalogued, load_variables};

pub(crate) const ENGINE: Engine<1> = Engine;

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// A program with the first state of a launch.
pub(crate) struct Case {
    pub(crate) program: Program,
    pub(crate) text: SourceFile,
    pub(crate) state: State<1>,
    pub(crate) out: u64,
    pub(crate) bytes: u64,
}

/// The kernel of a seed under one of the mechanisms that need no pass.
pub(crate) fn random(seed: u64) -> Case {
    let FlowKernel { text, shape } = flow::kernel(seed, "k");
    let text = format!("{HEAD}{text}");
    let mut rng = Rng::new(seed);
    let threads = u64::from(shape.grid * shape.block.iter().product::<u32>());
    let names: Vec<&str> = CATALOGUE.iter().filter(|e| e.pass.is_none()).map(|e| e.name).collect();
    let names: Vec<&str> = names.into_iter().filter(|name| *name != "uniform").collect();
    let mechanism = names[rng.below(names.len())];
    let width = [8, 16, 32, 64][rng.below(4)];
    let bytes = threads * FlowKernel::BYTES as u64;
    let policy = match rng.below(3) {
        0 => Policy::Random { state: seed },
        _ => Policy::First,
    };
    case_with(&text, mechanism, (shape.grid, shape.block, width), bytes, (policy, 100_000))
}

/// A kernel `k` with one parameter, the address of so many bytes.
fn case_with(
    text: &str,
    mechanism: &str,
    (grid, block, width): (u32, [u32; 3], u32),
    bytes: u64,
    (policy, limit): (Policy, u64),
) -> Case {
    let (tree, _) = ptx::parse(FileId(0), text);
    let (module, found) = ptx::lower(&tree, ptx::Select::Kernel("k"));
    assert!(!found.has_errors(), "{found:?}\n{text}");
    let program = Program::link(module.expect("lowered")).expect("linked");
    let kernel = program.module().function("k").expect("kernel");
    let entry = converge::Entry::find(mechanism).expect("mechanism");
    let mut memory = MemoryMap::new();
    let out = memory.allocate("out", bytes).expect("room").0;
    let variables = load_variables(&program, &mut memory).expect("room");
    let launch = Launch {
        grid: [grid, 1, 1],
        block,
        width,
        memory,
        variables,
        params: out.to_le_bytes().to_vec(),
        scope: entry.scope,
        limit,
        policy,
        ..Launch::new(kernel, catalogued(entry))
    };
    // Mechanisms of whole blocks see more lanes than these masks hold.
    let threads: u32 = block.iter().product();
    let launch = match entry.scope {
        converge::Scope::Cta if threads > 64 => Launch { block: [64, 1, 1], ..launch },
        _ => launch,
    };
    let state = ENGINE.launch(&program, launch).expect("launched");
    Case { program, text: SourceFile::new("k.ptx", text), state, out, bytes }
}

impl Case {
    /// The launch in the debugger.
    pub(crate) fn execution(&self) -> Execution<'_, Engine<1>, 1> {
        let explain = |cause: &vm::Cause| cause.to_string();
        let code = self.code();
        Execution::new(&ENGINE, &self.program, self.state.clone(), explain, code)
    }

    /// The text of an instruction.
    pub(crate) fn written(&self, pc: Pc) -> &str {
        let loc = self.program.at(pc).map_or(LocId(0), vm::Code::loc);
        self.text.text().get(self.program.module().loc(loc).span.range()).unwrap_or("")
    }

    fn code(&self) -> Code {
        let module = self.program.module();
        let instructions = self.program.code().iter().zip(0..).map(|(code, pc)| {
            let span = module.loc(code.loc()).span;
            let line = Some(self.text.line_col(span.start).line);
            Instruction { pc: Pc(pc), text: self.written(Pc(pc)).into(), line, source: None }
        });
        let entries: Vec<Pc> =
            (0..module.functions.len()).filter_map(|f| self.program.entry(f)).collect();
        let end = Pc(self.program.code().len() as u64);
        let functions = module.functions.iter().zip(&entries).map(|(function, &entry)| Function {
            name: function.name.clone(),
            entry,
            end: entries.iter().copied().filter(|&e| e > entry).min().unwrap_or(end),
        });
        Code::new("k.ptx", self.text.text(), instructions.collect(), functions.collect())
    }

    /// Runs without the debugger, calls back with each state, and returns the number of issues.
    pub(crate) fn run<O: Observer<1>>(
        &self,
        observer: &mut O,
        most: u64,
        mut each: impl FnMut(u64, &State<1>, &mut O),
    ) -> u64 {
        let mut state = self.state.clone();
        for issue in 0..most {
            // Blocks that have ended go before the next issue.
            let next = ENGINE.upcoming(&self.program, &mut state);
            each(issue, &state, observer);
            if next.is_err()
                || ENGINE.run_observed(
                    &self.program,
                    &mut state,
                    &mut AnyObserver::new(observer),
                    1,
                ) != Step::Issued
            {
                return issue;
            }
        }
        most
    }
}
