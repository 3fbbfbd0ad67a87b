//! The table in all its encodings, the assembly language, the functional model and the ways in
//! which it stops.

use std::fmt::Write as _;

use isa::FileId;
use isa::testing::{random_bytes, round_trip, token_soup};
use prf::{
    Config, Encoding, JalUnit, JpnzForm, Launch, LaunchError, LoadError, Op, Polarity,
    PredicateWrites, Predicates, Prf, Profile, Program, State, Words, assemble, dialect,
};
use simt::machine::{Machine, Step};
use simt::memory::{Addr, MemoryMap, Permission, Width};
use simt::observe::{Access, Branch, Events, Issue, Observer};
use simt::slots::SlotCause;
use simt::trap::Cause;

const HEAP: u64 = 0x1000_0000;

fn words(config: Config, text: &str) -> Words {
    let image = assemble(config.encoding, FileId::default(), text);
    Words::assembled(&image.unwrap_or_else(|e| panic!("{text}: {e:?}")))
}

fn program(config: Config, text: &str) -> Program {
    Program::new(&words(config, text), config).unwrap()
}

fn launch(threads: u32, blocks: u32) -> Launch {
    let mut memory = MemoryMap::new();
    memory.map_at("heap", Addr(HEAP), 1 << 20, Permission::ReadWrite).unwrap();
    Launch { threads, blocks, total: None, argument: 0, entry: None, memory }
}

/// Runs to the end: the state and the code of the trap, or `done`.
fn run(config: Config, text: &str, launch: Launch) -> (State, String) {
    let (machine, program) = (Prf { config }, program(config, text));
    let mut state = machine.launch(&program, launch).unwrap();
    let end = match machine.run_unobserved(&program, &mut state, 1_000_000) {
        Step::Done => "done".to_owned(),
        Step::Fault(fault) => fault.cause.code().to_owned(),
        Step::Issued | Step::Hang(_) => "limit".to_owned(),
    };
    assert!(machine.slots(&state).identity_holds());
    (state, end)
}

fn stored(state: &State, count: u64) -> Vec<u64> {
    let word = |i| state.memory.load(Addr(HEAP + 4 * i), Width::B4).unwrap();
    (0..count).map(word).collect()
}

/// `x7` is the address of this thread's own word.
const OWN_WORD: &str = "csrr x3, bid\ncsrr x4, bdim\nmul x3, x3, x4\ncsrr x4, tid\nadd x3, x3, x4
    slli x6, x3, 2\nlui x7, 0x10\nadd x7, x7, x6\n";

fn own(text: &str) -> String {
    format!("{OWN_WORD}{text}")
}

#[test]
fn the_conformance_tables_hold() {
    for (name, table) in prf::CONFORM_TABLES {
        let report = prf::conform_own(name, table);
        assert!(report.ok(), "{name}: {report}");
        assert_eq!(report.passed(), table.lines().count() - 1);
    }
}

#[test]
fn a_wrong_fact_fails() {
    for (name, table) in prf::CONFORM_TABLES {
        let mut lines: Vec<String> = table.lines().take(2).map(str::to_owned).collect();
        let last = lines[1].pop().unwrap();
        lines[1].push(if last == '1' { '2' } else { '1' });
        let report = prf::conform_own(name, &lines.join("\n"));
        assert_eq!(report.passed(), 0, "{name}");
    }
    assert!(!prf::conform("nothing\tknown\n", None).ok());
}

#[test]
fn every_form_goes_round_in_every_encoding() {
    for encoding in Encoding::all() {
        let done = round_trip(dialect(encoding), 24, 6).unwrap();
        assert_eq!(done.forms, encoding.table().forms().len());
        random_bytes(dialect(encoding), 60, 7).unwrap();
    }
    random_bytes(dialect(Encoding::default()), 2000, 8).unwrap();
    let (accepted, rejected) = token_soup(dialect(Encoding::default()), 2000, 9);
    assert!(accepted > 0 && rejected > 0);
}

#[test]
fn every_form_has_an_operation_and_every_operation_a_form() {
    for encoding in Encoding::all() {
        let table = encoding.table();
        for form in table.forms() {
            let name = form.name.split('.').next().unwrap();
            let (_, _, unit) = Op::ALL.iter().find(|(_, n, _)| *n == name).unwrap();
            assert_eq!(form.attribute("unit"), Some(unit.name()));
        }
        assert!(Op::ALL.iter().all(|(_, name, _)| table.find(name).is_some()));
    }
}

/// The word of one statement.
fn word(encoding: Encoding, text: &str) -> Result<u32, String> {
    let image = assemble(encoding, FileId::default(), text)
        .map_err(|e| e.iter().next().map_or(String::new(), |d| d.code.to_owned()))?;
    Ok(*Words::assembled(&image).0.values().next().unwrap())
}

#[test]
fn the_encodings_differ_where_their_sources_do() {
    let with = |jpnz, jal| Encoding { jpnz, jal, ..Encoding::default() };
    let halves = JalUnit::HalfWords;
    let jump = |jpnz| word(with(jpnz, halves), "jpnz p2, 16").unwrap();
    assert_eq!(jump(JpnzForm::Cardinal), 0x8401_0068);
    assert_eq!(jump(JpnzForm::Compiler), 0x8001_0168);
    assert_eq!(jump(JpnzForm::Bytes), 0x8402_0068);
    let by_register = with(JpnzForm::Register, halves);
    assert_eq!(word(by_register, "jpnz p2, x5"), Ok(0x8028_4068));
    assert_eq!(word(Encoding::default(), "jpnz.low p2, 16"), Ok(0x8001_0168));
    // A binary of the published project names the predicate in both places.
    assert_eq!(word(Encoding::default(), "jpnz.both p2, p2, 16"), Ok(0x8401_0168));
    assert_eq!(word(with(JpnzForm::Cardinal, JalUnit::Bytes), "jal x1, 8"), Ok(0x8001_00e0));
    assert_eq!(word(Encoding::default(), "jal x1, 8"), Ok(0x8000_80e0));
    // An old assembler cut such a distance without a word.
    assert!(word(with(JpnzForm::Bytes, halves), "jpnz p2, 2000").is_err());
}

#[test]
fn guards_and_packets_in_both_ways_of_writing() {
    let same = [
        ("add x1, x2, x3", "add x1, x2, x3, p0, 0, 1"),
        ("add x1, x2, x3, p5", "add x1, x2, x3 @p5"),
        ("add x1, x2, x3, p5, 1, 0", "add x1, x2, x3 @p5 !1,0"),
        ("add x1, x2, x3 !1,0", "add x1, x2, x3, p0, 1, 0"),
        ("add x1, x2, x3, p5, 1", "add x1, x2, x3 @p5 !1,1"),
        ("lw x1, 4(x2), p3", "lw x1, x2, 4 @p3"),
        ("halt p3", "halt @p3"),
        ("jal x1, 8 !1,1", "jal x1, 8, 1, 1"),
        ("csrr x1, argp", "csrr x1, 3"),
    ];
    for (a, b) in same {
        assert_eq!(word(Encoding::default(), a), word(Encoding::default(), b), "{a}");
        assert!(word(Encoding::default(), a).is_ok(), "{a}");
    }
    let wrong = [
        "jal x1, 8 @p1",
        "add x1, x2, x3, p32",
        "add x1, x2, x3 @q1",
        "add x1, x2, x3, p1, 2",
        "add x64, x2, x3",
        "addi x1, x2, 32",
        "csrr x1, 4",
        "csrw 0, x1",
        "add x1, x2, x3 p1",
        "frob x1",
    ];
    for text in wrong {
        assert!(word(Encoding::default(), text).is_err(), "{text}");
    }
    let small = Encoding { predicates: Predicates::P16, ..Encoding::default() };
    assert!(word(small, "bne p16, x1, x2").is_err());
    assert!(word(small, "add x1, x2, x3 @p16").is_err());
    assert!(word(small, "bne p15, x1, x2").is_ok());
}

#[test]
fn a_text_that_runs_on_or_leaves_a_packet_open_is_warned_of() {
    let warnings = |text: &str| -> Vec<&'static str> {
        let image = assemble(Encoding::default(), FileId::default(), text).unwrap();
        image.warnings.iter().map(|d| d.code).collect()
    };
    assert_eq!(warnings("halt\n"), [""; 0]);
    assert_eq!(warnings("add x1, x1, x1\n"), ["prf::no-halt"]);
    assert_eq!(warnings("halt @p1\n"), ["prf::no-halt"]);
    assert_eq!(warnings("add x1, x1, x1 !1,0\n"), ["prf::no-halt", "prf::open-packet"]);
}

/// Three-level nesting, so that every mechanism of predication is in it.
const NESTED: &str = "
    addi x8, x0, 16
    slt x9, x4, x8
    bne p1, x9, x0
    beq p2, x9, x0
    addi x5, x0, 1, p1
    addi x5, x0, 2, p2
    sw x5, 0(x7)
    halt
";

#[test]
fn partial_warps_and_short_last_blocks() {
    let config = Config::default();
    let mut short = launch(40, 3);
    short.total = Some(2 * 40 + 5);
    let (state, end) = run(config, &own(NESTED), short);
    assert_eq!(end, "done");
    let expected: Vec<u64> =
        (0..120).map(|i| if i >= 85 { 0 } else { 2 - u64::from(i % 40 < 16) }).collect();
    assert_eq!(stored(&state, 120), expected);
    let slots = Prf { config }.slots(&state).to_owned();
    // 16 instructions of five warps: full, 8 lanes, full, 8 lanes, 5 lanes.
    assert_eq!(slots.vector_issues, 16 * 5);
    assert_eq!(slots.of(SlotCause::NeverLaunched), 16 * (24 + 24 + 27));
    assert_eq!(slots.of(SlotCause::PredicatedOff), slots.masked_off);
    assert_eq!(state.counts().branches, 2 * 5);
    // Only the first warp of a block has lanes on both sides.
    assert_eq!(state.counts().divergent, 2 * 2);
}

#[test]
fn options_change_what_they_say() {
    // P[2] starts with all lanes, then is written under p1 = lanes below 16.
    let text = own("addi x8, x0, 16
        slt x9, x4, x8
        bne p1, x9, x0
        beq p2, x0, x0
        beq p2, x0, x0, p1
        addi x5, x0, 1
        addi x5, x0, 2, p2
        sw x5, 0(x7)
        halt");
    let twos = |config| {
        let (state, end) = run(config, &text, launch(32, 1));
        assert_eq!(end, "done");
        stored(&state, 32).iter().filter(|&&w| w == 2).count()
    };
    let and = Config::default();
    assert_eq!(twos(and), 16);
    assert_eq!(twos(Config { writes: PredicateWrites::Merge, ..and }), 32);
    let jump = own("jpnz p0, skip\naddi x5, x0, 1\nskip: addi x5, x5, 2\nsw x5, 0(x7)\nhalt");
    let first = |config| stored(&run(config, &jump, launch(1, 1)).0, 1)[0];
    assert_eq!(first(and), 2);
    assert_eq!(first(Config { polarity: Polarity::NoLane, ..and }), 3);
    // An older `halt` names p31 and means everybody.
    let halt = own(".4byte 0xbfffffff\naddi x5, x0, 1\nsw x5, 0(x7)\nhalt");
    let first = |config| stored(&run(config, &halt, launch(1, 1)).0, 1)[0];
    assert_eq!(first(and), 0);
    assert_eq!(first(Config { strict_halt: true, ..and }), 1);
}

#[test]
fn masks_go_to_memory_whole_even_when_lane_0_has_retired() {
    let text = own("addi x8, x0, 1
        slt x9, x4, x8
        bne p1, x9, x0
        lui x10, 0x10
        halt @p1
        prsw p1, 0(x10)
        prsw p0, 4(x10)
        prlw p2, 4(x10)
        prsw p2, 8(x10)
        halt");
    let (state, end) = run(Config::default(), &text, launch(32, 1));
    assert_eq!((end.as_str(), stored(&state, 3)), ("done", vec![1, 0xffff_ffff, 0xffff_ffff]));
    assert_eq!((state.counts().spills, state.counts().fills), (3, 1));
}

#[test]
fn every_way_to_stop_has_its_name() {
    let cases = [
        (".4byte 0x12", "undefined-instruction"),
        (".4byte 0x800000d9", "undefined-instruction"),
        ("add x1, x1, x1", "no-code"),
        ("jal x0, 4096", "no-code"),
        ("jal x0, 2", "misaligned-jump"),
        ("csrr x1, tid\nslli x1, x1, 2\njalr x0, 0(x1)", "divergent-jump"),
        ("lui x1, 0x10\nlw x2, 2(x1)", "misaligned"),
        ("lui x1, 0x10\nsh x2, 1(x1)", "misaligned"),
        ("lui x1, 0x10\nprsw p0, 1(x1)", "misaligned"),
        ("lui x1, 0x20\nlw x2, 0(x1)", "not-mapped"),
        ("sw x0, 4(x0)", "read-only"),
        ("top: jal x0, top", "limit"),
    ];
    for (text, code) in cases {
        let (_, end) = run(Config::default(), &own(text), launch(32, 1));
        assert_eq!(end, code, "{text}");
    }
    // Lanes that are off cannot trap; halted lanes have no say in where a jump goes.
    let quiet = own("addi x8, x0, 1\nslt x9, x4, x8\nbne p1, x9, x0\nbeq p2, x9, x0
        lui x1, 0x20, p1\nlw x2, 0(x1), p3\nhalt @p2\nlli x10, after\nadd x10, x10, x4
        jalr x0, 0(x10)\nafter: halt");
    assert_eq!(run(Config::default(), &quiet, launch(32, 1)).1, "done");
    let small = Profile::Founding.config();
    assert_eq!(run(small, ".4byte 0xe0080290", launch(32, 1)).1, "undefined-instruction");
}

#[test]
fn what_cannot_be_launched_or_loaded_says_why() {
    let config = Config::default();
    let (machine, program) = (Prf { config }, program(config, "halt"));
    let refused = |launch| machine.launch(&program, launch).unwrap_err();
    assert_eq!(refused(launch(0, 1)), LaunchError::Threads(0));
    assert_eq!(refused(launch(1025, 1)), LaunchError::Threads(1025));
    assert_eq!(refused(launch(32, 0)), LaunchError::NoBlocks);
    for total in [0, 32, 97] {
        let wrong = Launch { total: Some(total), ..launch(32, 3) };
        assert!(matches!(refused(wrong), LaunchError::Total { .. }), "{total}");
    }
    assert_eq!(machine.load(b"").unwrap_err(), LoadError::NoCode);
    assert_eq!(machine.load(b"0x10000000 0x1\n").unwrap_err(), LoadError::NoCode);
    assert_eq!(machine.load(b"\xff").unwrap_err(), LoadError::NotText);
    for text in
        ["0x25 0x1", "zz", "0x24 0x1 0x2", "81ffffff\n0x24 1", "0x24 1\n0x24 2", "123456789"]
    {
        assert!(matches!(machine.load(text.as_bytes()), Err(LoadError::Hex(_))), "{text}");
    }
    let far: String = (0..5000).map(|i| format!("{:#x} 1\n", 0x2000_0000 + i * 0x2_0000)).collect();
    let far = format!("0x24 0x81ffffff\n{far}");
    assert_eq!(machine.load(far.as_bytes()).unwrap_err(), LoadError::Scattered(5000));
}

#[test]
fn word_files_in_both_layouts_and_in_binary() {
    let config = Config::default();
    let expected = words(config, ".org 0\nadd x1, x2, x3\nhalt\n");
    let list = "80184080 // add\n\n81ffffff # halt\n";
    let binary = format!("{:032b}\n{:032b}\n", 0x8018_4080u32, 0x81ff_ffffu32);
    let addressed = "0x4 0x81ffffff\n0x0 0x80184080\n";
    for text in [list, &binary, addressed, &expected.to_text()] {
        assert!(Words::looks_like(text), "{text}");
        assert_eq!(Words::parse(text).unwrap(), expected, "{text}");
    }
    assert!(!Words::looks_like("add x1, x2, x3\nhalt"));
    assert!(!Words::looks_like(""));
}

/// Counts what it is told.
#[derive(Default)]
struct Tally {
    issues: u64,
    branches: u64,
    accesses: Vec<(u64, usize)>,
}

impl Observer<1> for Tally {
    const EVENTS: Events = Events::ALL;
    fn issue(&mut self, _: &Issue<'_, 1>) {
        self.issues += 1;
    }
    fn branch(&mut self, _: &Branch<'_, 1>) {
        self.branches += 1;
    }
    fn access(&mut self, access: &Access<'_>) {
        self.accesses.push((access.lanes[0].1, access.lanes.len()));
    }
}

#[test]
fn observers_hear_of_issues_jumps_and_accesses() {
    let config = Config::default();
    let machine = Prf { config };
    let program = program(config, &own("jpnz p0, on\non: sw x4, 0(x7)\nprsw p0, 0(x7)\nhalt"));
    let mut state = machine.launch(&program, launch(40, 1)).unwrap();
    let mut tally = Tally::default();
    assert_eq!(machine.run(&program, &mut state, &mut tally, 1000), Step::Done);
    assert_eq!(tally.issues, machine.slots(&state).issues());
    assert_eq!(tally.branches, 2);
    assert_eq!(tally.accesses, [(HEAP, 32), (HEAP, 1), (HEAP + 128, 8), (HEAP + 128, 1)]);
}

#[test]
fn functions_without_a_result_give_the_same_quiet_nan_on_every_host() {
    // +infinity, -infinity and a NaN with payload; `sin`, `cos` and `isqrt` of each.
    let operands = [0x7f80_0000_u32, 0xff80_0000, 0xffa0_0001];
    let mut text = own("");
    for operand in operands {
        let [low, middle, high] = [operand & 0xfff, operand >> 12 & 0xfff, operand >> 24];
        let _ = writeln!(text, "lli x8, {low}\nlmi x8, {middle}\nlui x8, {high}");
        for (column, op) in ["sin", "cos", "isqrt"].iter().enumerate() {
            let _ = writeln!(text, "{op} x9, x8\nsw x9, {}(x7)", 4 * column);
        }
        text.push_str("addi x7, x7, 12\n");
    }
    text.push_str("halt\n");
    let (state, end) = run(Config::default(), &text, launch(1, 1));
    assert_eq!(end, "done");
    let (canonical, passed_on) = (0x7fc0_0000, 0xffe0_0001);
    let expected =
        [[canonical, canonical, 0], [canonical, canonical, 0], [passed_on, passed_on, passed_on]];
    assert_eq!(stored(&state, 9), expected.concat());
}

#[test]
fn ranges_of_predicates_are_a_sequence() {
    let assembled = |text: &str| assemble(Config::default().encoding, FileId::default(), text);
    let words = |text: &str| Words::assembled(&assembled(text).unwrap()).0;
    let one_by_one = "prsw p3, -8(x9)\nprsw p4, -4(x9)\nprsw p5, 0(x9)\nprlw p31, 28(x2)\nhalt\n";
    assert_eq!(words("prsw p3..p5, -8(x9)\nPRLW p31..p31, 28(x2)\nhalt\n"), words(one_by_one));
    let refused = |text: &str| {
        let found = assembled(&format!("{text}\nhalt\n")).unwrap_err();
        found.iter().next().unwrap().message.clone()
    };
    for (text, why) in [
        ("prsw p5..p3, 0(x9)", "`p5..p3` has no predicate"),
        ("prsw p1..p32, 0(x9)", "a range of predicates is written `p1..p5`"),
        ("prlw p1..p9, 0(x9)", "words at 0 to 32; offsets hold -32 to 31"),
        ("prlw p1..p9, x9", "a range takes a number and a register"),
        ("prlw p1..p9, 0(x9), 1, 1", "a range takes a number and a register"),
    ] {
        assert!(refused(text).contains(why), "{text}: {}", refused(text));
    }
}

#[test]
fn pressure_counts_predicates_that_are_live_at_once() {
    let config = Config::default();
    let of = |text: &str| prf::pressure(&program(config, text));
    // p1 and p2 are live together before the second add, with p0 for the end.
    let both =
        of("beq p1, x1, x0\nbne p2, x1, x0\naddi x2, x2, 1 @p1\naddi x3, x3, 1 @p2\nhalt @p0\n");
    assert_eq!((both.used, both.live, both.at), (3, 3, Some(0x2c)), "{both:?}");
    let one =
        of("beq p1, x1, x0\naddi x2, x2, 1 @p1\nbeq p2, x1, x0\naddi x3, x3, 1 @p2\nhalt @p0\n");
    assert_eq!((one.used, one.live), (3, 2), "{one:?}");
    // Around the loop p1 stays; p3 is written for nothing.
    let around =
        of("beq p1, x0, x0\nl: beq p3, x1, x0\nbne p1, x1, x0 @p1\njpnz p1, l\nhalt @p0\n");
    assert_eq!((around.live, around.unused.as_slice()), (2, &[(0x28, 3)][..]), "{around:?}");
    // After a jump through a register anything may be used.
    let anywhere = of("beq p3, x1, x0\njalr x0, 0(x1)\nhalt @p0\n");
    assert_eq!(anywhere.unused, []);
}
