//! The toy machine: its conformance table, and the proofs that the contracts carry.

use isa::FileId;
use simt::LaneMask;
use simt::machine::{Machine, Step};
use simt::memory::{Addr, MemoryMap, Width};
use simt::observe::{Access, Branch, Events, Issue, Observer};
use simt::slots::{Domain, LaneSlots, SlotCause};
use toy::{Launch, LaunchError, LoadError, Program, State, Toy};

/// Each thread `i` sums the numbers up to `i` and stores the sum at `s0 + 4 * i`; `s1` holds 0x40.
const SUMS: &str = "
        tid r1
        li r2, 0
        li r3, 0
loop:   slt p1, r2, r1
        addi r4, r2, 1
        mov r2, r4 if p1
        add r4, r3, r2
        mov r3, r4 if p1
        s.addi s2, s2, 1
        bany p1, loop
        li r5, 4
        mul r5, r5, r1
        splat r6, s0
        add r5, r5, r6
        sw r3, 0(r5)
        halt
";

fn load(text: &str) -> Program {
    let image = toy::assemble(FileId(0), text).unwrap();
    Toy.load(&toy::binary(&image).unwrap()).unwrap()
}

fn launch(program: &Program, threads: u32, width: u32) -> (State, Addr) {
    let mut memory = MemoryMap::new();
    let out = memory.allocate("out", 4 * u64::from(threads)).unwrap();
    let launch = Launch { threads, width, arguments: vec![out.0], memory };
    (Toy.launch(program, launch).unwrap(), out)
}

fn words(state: &State, out: Addr, n: u32) -> Vec<u64> {
    (0..u64::from(n)).map(|i| state.memory.load(Addr(out.0 + 4 * i), Width::B4).unwrap()).collect()
}

fn finish(program: &Program, state: &mut State) -> LaneSlots {
    assert_eq!(Toy.run_unobserved(program, state, 100_000), Step::Done);
    *Toy.slots(state)
}

#[test]
fn the_conformance_table_holds() {
    let report = toy::conform(toy::CONFORM_TABLE);
    assert!(report.ok(), "{report}");
    let facts = toy::CONFORM_TABLE.lines().filter(|l| !l.is_empty() && !l.starts_with('#'));
    assert_eq!(report.passed(), facts.count());
}

#[test]
fn a_wrong_table_is_told_line_by_line() {
    let table = "both\t8204\tadd r1, r1, r1\nboth\t82\tx\nnonsense\nrun\tj 0\t1\t1\tend\n\
                 run\thalt\t1\t0\tend\nrun\thalt\t1\t1\tend on=2\nnot-code\t1400\nasm\t8204\tadd r1, r1, r0";
    let report = toy::conform(table);
    let reasons: Vec<String> =
        report.failures().map(|(line, reason)| format!("{line}: {reason}")).collect();
    assert_eq!(
        reasons,
        [
            "1: `add r1, r1, r1` assembles to 8224, not 8204",
            "2: `x` does not assemble: toy has no instruction `x`",
            "3: `nonsense` is not a kind of fact, or has too few columns",
            "4: has not ended after 1000000 issues",
            "5: groups of 0 lanes; possible are 1 to 64",
            "6: `on=2` is 1",
            "7: 1400 is `halt`",
        ]
    );
    assert_eq!(report.passed(), 1);
}

/// The binary of a program, disassembled and assembled again, is the same binary.
#[test]
fn binaries_go_round() {
    for text in [
        SUMS,
        "halt",
        "j 8\nhalt\nhalt\nhalt\n.data\nx: .ascii \"some data, and more of it\", \"\\0\"",
    ] {
        let binary = toy::binary(&toy::assemble(FileId(0), text).unwrap()).unwrap();
        let source = toy::source(&binary);
        let again = toy::assemble(FileId(0), &source).unwrap();
        assert_eq!(toy::binary(&again), Ok(binary), "{source}");
    }
    let far = toy::assemble(FileId(0), "halt\n.org 1 << 40\nhalt").unwrap();
    assert_eq!(toy::binary(&far), Err(LoadError::TooLong((1 << 40) + 2)));
    let code = toy::assemble(FileId(0), ".org 0xfffe\nli r1, 1").unwrap();
    assert_eq!(toy::binary(&code), Err(LoadError::CodeInData(0x1_0002)));
}

#[test]
fn every_form_goes_round() {
    let done = isa::testing::round_trip(toy::dialect(), 200, 7).unwrap();
    assert_eq!(done.forms, 19);
    isa::testing::random_bytes(toy::dialect(), 1000, 8).unwrap();
    let (accepted, rejected) = isa::testing::token_soup(toy::dialect(), 2000, 9);
    assert!(accepted > 0 && rejected > 0);
}

#[test]
fn the_reference_page_is_made_from_the_table() {
    let page = isa::docs::reference(toy::table());
    assert!(page.starts_with("# toy instructions\n\n19 forms in 4 groups.\n"), "{page}");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/toy-instructions.md");
    if std::env::var_os("SIMTLAB_BLESS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap();
    assert!(kept == page, "docs/toy-instructions.md is not current: run with SIMTLAB_BLESS=1");
}

/// The same results at every width, and every lane slot has one cause.
#[test]
fn slots_add_up_at_every_width() {
    let program = load(SUMS);
    for width in [1, 2, 3, 7, 8, 16, 32, 63, 64] {
        let (mut state, out) = launch(&program, 21, width);
        let slots = finish(&program, &mut state);
        let sums: Vec<u64> = (0..21).map(|i| i * (i + 1) / 2).collect();
        assert_eq!(words(&state, out, 21), sums, "width {width}");
        assert!(slots.identity_holds());
        assert_eq!(slots.width, slots.vector_issues * u64::from(width));
        // Per thread: 9 issues outside the loop; inside, as many as the group's longest thread
        // needs.
        let groups = 21u32.div_ceil(width);
        let last = |g: u32| u64::from(((g + 1) * width).min(21));
        assert_eq!(slots.uniform_issues, (0..groups).map(last).sum::<u64>());
        assert_eq!(slots.of(SlotCause::Diverged) + slots.of(SlotCause::Waiting), 0);
        let lost = u64::from(groups * width - 21);
        assert_eq!(slots.of(SlotCause::NeverLaunched) > 0, lost > 0);
    }
}

/// A state cloned at any issue runs on to the same end as the one it was cloned from.
#[test]
fn a_clone_runs_on_to_the_same_end() {
    let program = load(SUMS);
    let (mut state, out) = launch(&program, 10, 4);
    let mut clones = Vec::new();
    while Toy.run_unobserved(&program, &mut state, 1) == Step::Issued {
        clones.push(state.clone());
    }
    let (end, slots) = (words(&state, out, 10), *Toy.slots(&state));
    assert!(clones.len() > 50);
    for mut clone in clones {
        assert_eq!(finish(&program, &mut clone), slots);
        assert_eq!(words(&clone, out, 10), end);
    }
}

/// One program, two launches, two host threads, stepped in turn with nothing shared but the code.
#[test]
fn two_host_threads_step_two_launches() {
    let program = load(SUMS);
    let alone: Vec<_> = [(40, 8), (33, 32)]
        .map(|(threads, width)| {
            let (mut state, out) = launch(&program, threads, width);
            (finish(&program, &mut state), words(&state, out, threads))
        })
        .into();
    let together: Vec<_> = std::thread::scope(|scope| {
        let run = |threads, width| {
            let program = &program;
            let (mut state, out) = launch(program, threads, width);
            scope.spawn(move || {
                while Toy.run_unobserved(program, &mut state, 1) == Step::Issued {
                    std::thread::yield_now();
                }
                (*Toy.slots(&state), words(&state, out, threads))
            })
        };
        let handles = [run(40, 8), run(33, 32)];
        handles.map(|handle| handle.join().unwrap()).into()
    });
    assert_eq!(alone, together);
}

#[derive(Default)]
struct Watch {
    issues: u64,
    uniform: u64,
    on: u64,
    branches: u64,
    stored: Vec<u64>,
}

impl Observer<1> for Watch {
    const EVENTS: Events = Events::ALL;
    fn issue(&mut self, issue: &Issue<'_, 1>) {
        self.issues += 1;
        match issue.domain {
            Domain::Uniform => self.uniform += 1,
            Domain::Vector => self.on += u64::from(issue.lanes.on.count()),
        }
    }
    fn branch(&mut self, branch: &Branch<'_, 1>) {
        assert_eq!(branch.targets.len(), 1);
        self.branches += 1;
    }
    fn access(&mut self, access: &Access<'_>) {
        self.stored.extend(access.lanes.iter().map(|&(_, address)| address));
    }
}

#[test]
fn an_observer_sees_what_the_slots_count() {
    let program = load(SUMS);
    let (mut state, out) = launch(&program, 10, 4);
    let mut watch = Watch::default();
    assert_eq!(Toy.run(&program, &mut state, &mut watch, 100_000), Step::Done);
    let slots = Toy.slots(&state);
    assert_eq!(watch.issues, slots.issues());
    assert_eq!((watch.uniform, watch.on), (slots.uniform_issues, slots.of(SlotCause::On)));
    assert_eq!(watch.branches, slots.uniform_issues);
    assert_eq!(watch.stored, (0..10).map(|i| out.0 + 4 * i).collect::<Vec<_>>());
}

#[test]
fn a_fault_names_lanes_and_leaves_the_state_before_it() {
    let program =
        load("tid r1\nli r2, 4\nmul r1, r1, r2\nsplat r3, s0\nadd r1, r1, r3\nsw r2, 0(r1)\nhalt");
    let mut memory = MemoryMap::new();
    let out = memory.allocate("out", 8).unwrap();
    let launch = Launch { threads: 4, width: 4, arguments: vec![out.0], memory };
    let mut state = Toy.launch(&program, launch).unwrap();
    let Step::Fault(fault) = Toy.run_unobserved(&program, &mut state, 100) else { panic!() };
    assert_eq!(fault.lanes, LaneMask::from_bits(0b1100));
    assert_eq!(fault.pc.0, 12);
    let text = fault.to_string();
    assert!(text.contains("right past the end of") && text.contains("\"out\""), "{text}");
    // The lanes that were in bounds have stored nothing.
    assert_eq!(words(&state, out, 2), [0, 0]);
}

/// A second launch goes on with the data that the first one left.
#[test]
fn data_stays_from_launch_to_launch() {
    let program = load(
        "li r1, 256\nmul r1, r1, r1\nlw r2, 0(r1)\naddi r2, r2, 1\nsw r2, 0(r1)\nhalt\n.data\n.word 5",
    );
    let mut memory = MemoryMap::new();
    for expected in 6..9 {
        let launch = Launch { threads: 1, width: 1, arguments: vec![], memory };
        let mut state = Toy.launch(&program, launch).unwrap();
        finish(&program, &mut state);
        memory = state.memory;
        assert_eq!(memory.load(Addr(0x1_0000), Width::B4), Ok(expected));
    }
}

#[test]
fn parameters_are_declared() {
    let names = |text: &str| toy::parameters(&toy::assemble(FileId(0), text).unwrap());
    assert_eq!(names(".param a\n.param b_1 # comment\nhalt").unwrap(), ["a", "b_1"]);
    for text in [".param", ".param a b", ".param a\n.param a", &".param \n".repeat(9)] {
        assert!(names(text).is_err(), "{text}");
    }
    let nine: String = (0..9).map(|i| format!(".param a{i}\n")).collect();
    assert_eq!(names(&nine).unwrap_err().error_count(), 1);
}

#[test]
fn bad_launches_and_images_are_refused() {
    let program = load("halt");
    let launch = |threads, width, arguments: usize| {
        let arguments = vec![0; arguments];
        Toy.launch(&program, Launch { threads, width, arguments, memory: MemoryMap::new() })
            .map(|_| ())
            .unwrap_err()
    };
    assert_eq!(launch(1, 0, 0), LaunchError::Width(0));
    assert_eq!(launch(1, 65, 0), LaunchError::Width(65));
    assert_eq!(launch(0, 1, 0), LaunchError::NoThreads);
    assert_eq!(launch(1, 1, 9), LaunchError::Arguments(9));
    assert_eq!(Toy.load(&[0; 100]).unwrap_err(), LoadError::Empty);
    assert_eq!(Toy.load(&vec![1; 17 << 20]).unwrap_err(), LoadError::TooLong(17 << 20));
    let data = load("halt\n.data\n.word 1");
    let mut memory = MemoryMap::new();
    memory.map_at("taken", Addr(0x1_0000), 16, Default::default()).unwrap();
    let taken = Launch { threads: 1, width: 1, arguments: vec![], memory };
    assert!(matches!(Toy.launch(&data, taken), Err(LaunchError::Memory(_))));
    // The most threads there can be: groups exist one at a time, so this costs nothing.
    let most = Launch { threads: u32::MAX, width: 64, arguments: vec![], memory: MemoryMap::new() };
    let mut state = Toy.launch(&program, most).unwrap();
    assert_eq!(Toy.run_unobserved(&program, &mut state, 1000), Step::Issued);
}
