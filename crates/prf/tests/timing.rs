//! The cycle-level model: what it counts, what it refuses, and that it computes what the functional
//! model does.
//!
//! The campaigns take their number of programs from `SIMTLAB_PRF_PROGRAMS` (10,000 if it is not
//! set):
//!
//! ```text
//! cargo test -p simtlab-prf --release --test timing -- --ignored
//! ```

#[allow(dead_code, reason = "the module serves several tests")]
mod campaign;
mod model;

use campaign::{PLANTS, Random, Size, Writer, bytes_of, pack, regions, run, words};
use prf::hazard::{Kind, check};
use prf::timing::Stall;
use prf::{
    Config, Hazards, Params, ParamsError, Policy, Prf, Profile, Program, Timed, TimingCounts, Unit,
};
use simt::machine::Machine;

fn programs() -> u64 {
    let count = std::env::var("SIMTLAB_PRF_PROGRAMS").ok().and_then(|n| n.parse().ok());
    count.unwrap_or(10_000)
}

/// Sizes and latencies at random: the results are the same with all.
fn params(random: &mut Random) -> Params {
    let mut params = Params::default();
    if random.chance(40) {
        return params;
    }
    let mut set = |name: &str, value: u64| params.set(name, &value.to_string()).unwrap();
    set("memory.latency", 1 + random.below(12));
    set("icache.line", 4 << random.below(4));
    set("icache.bytes", 64 << random.below(6));
    set("sm.warps", 4 + 2 * random.below(15));
    let full = 1 + random.below(4);
    set("buffer.full", 1);
    set("buffer.entries", full + 2 + random.below(3));
    set("buffer.full", full);
    set("writeback.queue", 1 + random.below(8));
    set("load-store.queue", 1 + random.below(8));
    for unit in ["int-alu", "int-mul", "float-div", "branch", "jump"] {
        set(&format!("units.{unit}"), 1 + random.below(20));
    }
    if random.chance(50) {
        params.scheduler = Policy::GreedyThenOldest;
    }
    params
}

/// Runs a program on both models; they leave the same.
fn same(seed: u64, hazards: Hazards) {
    let random = &mut Random(seed);
    let profile = Profile::ALL[random.below(3) as usize];
    let config = profile.config();
    let statements = 10 + random.below(40);
    let text = Writer::new(random).program(statements, None);
    let mut words = words(config, &text);
    if hazards == Hazards::Faithful {
        pack(random, &mut words, config);
    }
    let program = Program::new(&words, config).unwrap();
    let (size, params) = (Size::random(random), params(random));
    let machine = Timed { config, profile, params, hazards, records: 0 };
    let functional = run(&Prf { config }, &program, size).unwrap_or_else(|e| panic!("{seed}: {e}"));
    let timed = run(&machine, &program, size).unwrap_or_else(|e| panic!("{seed}: {e}\n{text}"));
    assert!(regions(&functional.memory) == regions(&timed.memory), "seed {seed}, {size:?}\n{text}");
    assert!(timed.timing().adds_up(), "seed {seed}");
    // Memory that different registers name meets in a packet unseen by the check of the text;
    // nothing else may.
    let unseen = |kind: Kind| kind == Kind::Memory;
    assert!(timed.hazards().iter().all(|h| unseen(h.kind)), "seed {seed}: {:?}", timed.hazards());
    let slots = [Prf { config }.slots(&functional), machine.slots(&timed)];
    assert_eq!(slots[0], slots[1], "seed {seed}: the same lanes are on");
    assert_eq!(functional.counts(), timed.counts(), "seed {seed}");
}

/// Runs a program on the functional model and on the second model; they leave the same.
fn independent(seed: u64) {
    let random = &mut Random(seed);
    let config = Config::default();
    let statements = 10 + random.below(40);
    let text = Writer::new(random).program(statements, None);
    let words = words(config, &text);
    let size = Size::random(random);
    let program = Program::new(&words, config).unwrap();
    let functional = run(&Prf { config }, &program, size).unwrap_or_else(|e| panic!("{seed}: {e}"));
    let memory = model::run(&words.0, 0x24, size.threads, size.blocks, 7);
    let byte = |at: u32| memory.0.get(&at).copied().unwrap_or(0);
    for (at, have) in bytes_of(&functional.memory) {
        assert_eq!(have, byte(at), "seed {seed}, {size:?}, address {at:#x}\n{text}");
    }
}

/// Plants a hazard and looks whether it is flagged.
fn flagged(seed: u64) {
    let random = &mut Random(seed);
    let config = Config::default();
    let plant = PLANTS[random.below(PLANTS.len() as u64) as usize];
    let statements = 10 + random.below(30);
    let text = Writer::new(random).program(statements, Some(plant));
    let words = words(config, &text);
    let program = Program::new(&words, config).unwrap();
    let found = check(&program);
    // Everything else is a packet of its own.
    assert!(found.iter().any(|h| h.kind == plant.kind), "seed {seed}: {:?}\n{text}", plant.kind);
    let expected = |kind: Kind| {
        kind == plant.kind || matches!(kind, Kind::Overwrite(42) | Kind::EarlyWrite(42))
    };
    assert!(found.iter().all(|h| expected(h.kind)), "seed {seed}: {found:?}");
}

#[test]
fn functional_model_agrees_with_an_independent_one() {
    (0..200).for_each(independent);
}

#[test]
#[ignore = "a campaign of minutes"]
fn campaign_independent() {
    (4 << 32..(4 << 32) + programs()).for_each(independent);
}

#[test]
fn models_agree_interlocked() {
    (0..60).for_each(|seed| same(seed, Hazards::Interlocked));
}

#[test]
fn models_agree_on_packets_that_the_checker_accepts() {
    (0..60).for_each(|seed| same(seed, Hazards::Faithful));
}

#[test]
fn planted_hazards_are_flagged() {
    (0..120).for_each(flagged);
}

#[test]
#[ignore = "a campaign of minutes"]
fn campaign_interlocked() {
    (1 << 32..(1 << 32) + programs()).for_each(|seed| same(seed, Hazards::Interlocked));
}

#[test]
#[ignore = "a campaign of minutes"]
fn campaign_faithful() {
    (2 << 32..(2 << 32) + programs()).for_each(|seed| same(seed, Hazards::Faithful));
}

#[test]
#[ignore = "a campaign of minutes"]
fn campaign_planted() {
    (3 << 32..(3 << 32) + programs()).for_each(flagged);
}

/// A program with one packet and its run under the faithful mode.
fn faithful(text: &str) -> (prf::timing::State, Program) {
    let config = Config::default();
    let program = Program::new(&words(config, text), config).unwrap();
    let state = run(&Timed::default(), &program, Size { threads: 32, blocks: 1 }).unwrap();
    (state, program)
}

#[test]
fn hazards_are_met_lane_by_lane_and_byte_by_byte() {
    let met = |text: &str| -> Vec<Kind> {
        let (state, _) = faithful(text);
        assert_eq!(state.timing().hazards as usize, state.hazards().len(), "{text}");
        state.hazards().iter().map(|h| h.kind).collect()
    };
    let own = "csrr x5, tid\nslli x6, x5, 2\nlui x7, 0x10\nadd x7, x7, x6\naddi x8, x0, 16\n\
               slt x9, x5, x8\nbne p1, x9, x0\nbeq p2, x9, x0\n";
    let cases: [(&str, &[Kind]); 8] = [
        ("addi x10, x5, 1 !1,0\nadd x11, x10, x5 !0,1\nhalt", &[Kind::Read(10)]),
        // Other lanes write than read.
        ("addi x10, x5, 1, p1, 1, 0\nadd x11, x10, x5, p2, 0, 1\nhalt", &[]),
        ("addi x10, x5, 1, p1, 1, 0\naddi x10, x5, 2, p1, 0, 1\nhalt", &[Kind::Overwrite(10)]),
        ("bne p3, x5, x0 !1,0\naddi x10, x5, 1, p3, 0, 1\nhalt", &[Kind::PredicateRead(3)]),
        // The text does not show it: the registers differ.
        ("addi x10, x7, 0\nsw x5, 0(x7) !1,0\nlw x11, 0(x10) !0,1\nhalt", &[Kind::Memory]),
        ("addi x10, x7, 2\nsh x5, 0(x7) !1,0\nlh x11, 0(x10) !0,1\nhalt", &[]),
        ("bne p3, x0, x0\nhalt p3, 1, 0\naddi x10, x5, 1 !0,1\nhalt", &[]),
        ("halt p1, 1, 0\naddi x10, x5, 1 !0,1\nhalt", &[Kind::Halt]),
    ];
    for (text, expected) in cases {
        assert_eq!(met(&format!("{own}{text}\n")), expected, "{text}");
    }
}

#[test]
fn a_packet_shows_old_values_where_nothing_orders_it() {
    // The second instruction reads x4 before the first has written it.
    let text = "csrr x5, tid\nslli x6, x5, 2\nlui x7, 0x10\nadd x7, x7, x6\naddi x4, x0, 5\n\
                addi x4, x4, 1 !1,0\naddi x8, x4, 0 !0,1\nsw x8, 0(x7)\nhalt\n";
    let (state, program) = faithful(text);
    assert_eq!(regions(&state.memory)[0], 5);
    let interlocked = Timed { hazards: Hazards::Interlocked, ..Timed::default() };
    let state = run(&interlocked, &program, Size { threads: 32, blocks: 1 }).unwrap();
    assert_eq!(regions(&state.memory)[0], 6);
    assert!(state.timing().issue_stalls(Stall::DataHazard) > 0);
}

#[test]
fn only_t09_of_the_timing_programs_has_a_hazard() {
    let (_, table) = prf::CONFORM_TABLES[3];
    for line in table.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let list: String = columns[6].split(' ').map(|word| format!("{word}\n")).collect();
        let at: String =
            list.lines().zip((0x24..).step_by(4)).map(|(w, at)| format!("{at:#x} {w}\n")).collect();
        let program = Prf::default().load(at.as_bytes()).unwrap();
        assert_eq!(check(&program).is_empty(), columns[0] != "T09", "{}", columns[0]);
    }
}

#[test]
fn a_packet_without_an_end_is_flagged_and_stops() {
    let config = Config::default();
    let program = Program::new(&words(config, "addi x4, x4, 1 !1,0\n"), config).unwrap();
    assert_eq!(check(&program).iter().map(|h| h.kind).collect::<Vec<_>>(), [Kind::Open]);
    for hazards in [Hazards::Faithful, Hazards::Interlocked] {
        let machine = Timed { hazards, ..Timed::default() };
        let end = run(&machine, &program, Size { threads: 32, blocks: 1 }).unwrap_err();
        assert!(end.contains("NoCode"), "{end}");
    }
}

/// Totals that the published model gave for programs of the table, which have memory accesses in
/// them.
const TOTALS: [(&str, u64); 16] = [
    ("P01", 248),
    ("P02", 264),
    ("P03", 510),
    ("P04", 1799),
    ("P05", 1269),
    ("P06", 280),
    ("P08", 201),
    ("P09", 234),
    ("P10", 250),
    ("P14", 264),
    ("P16", 760),
    ("P20", 250),
    ("P21", 12915),
    ("P22", 841),
    ("P23", 336),
    ("P24", 340),
];

#[test]
fn totals_of_programs_with_memory() {
    let (_, table) = prf::CONFORM_TABLES[2];
    let header: Vec<&str> = table.lines().next().unwrap().split('\t').collect();
    let column = header.iter().position(|h| *h == "words").unwrap();
    for (name, expected) in TOTALS {
        let line = table.lines().find(|l| l.starts_with(name)).unwrap();
        let columns: Vec<&str> = line.split('\t').collect();
        let at: String = columns[column]
            .split(' ')
            .zip((0x24..).step_by(4))
            .map(|(w, at)| format!("{at:#x} {w}\n"))
            .collect();
        let machine = Timed::default();
        let program = machine.load(at.as_bytes()).unwrap();
        let mut memory = simt::memory::MemoryMap::new();
        for base in [0x1000_0000, 0x2000_0000] {
            let permission = simt::memory::Permission::ReadWrite;
            memory.map_at("heap", simt::memory::Addr(base), 1 << 16, permission).unwrap();
        }
        let (total, entry) = (None, None);
        let launch = prf::Launch { threads: 32, blocks: 1, total, argument: 0, entry, memory };
        let mut state = machine.launch(&program, launch).unwrap();
        machine.run(&program, &mut state, &mut simt::observe::Blind, 100_000);
        assert_eq!(state.timing().cycles, expected, "{name}");
    }
}

#[test]
fn masked_lanes_occupy_units_and_change_nothing() {
    let text = "csrr x5, tid\nbne p1, x0, x0\nslti x6, x5, 8\nbne p2, x6, x0\n\
                mul x7, x5, x5 @p1\nmul x8, x5, x5 @p2\nhalt\n";
    let (state, _) = faithful(text);
    let mul = state.timing().units[Unit::IntMul as usize];
    assert_eq!((mul.issues, mul.empty, mul.lanes_on, mul.lanes_off), (2, 1, 8, 56));
    let cycles = |text: &str| faithful(text).0.timing().cycles;
    assert_eq!(cycles(text), cycles(&text.replace(" @p1", "").replace(" @p2", "")));
}

#[test]
fn parameters_are_read_and_refused() {
    let default = Params::default();
    assert_eq!(Params::parse("").unwrap(), default);
    assert_eq!(Params::parse(&default.to_text()).unwrap(), default);
    let book = include_str!("../../../docs/prf.md");
    let (_, rest) = book.split_once("```toml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    assert_eq!(text.trim(), default.to_text().trim(), "the book shows the defaults");
    let six = Params::parse("[memory]\nlatency = 6\n").unwrap();
    let mut set = default.clone();
    set.set("memory.latency", "6").unwrap();
    set.set("writeback.shared-port", "off").unwrap();
    set.set("writeback.shared-port", "on").unwrap();
    set.set("scheduler", "greedy-then-oldest").unwrap();
    assert_eq!((&six.memory, Some(true)), (&set.memory, set.writeback.shared_port));
    let refused = [
        ("nonsense", "line 1"),
        ("[memory]\nlatency = -1", "line 2"),
        ("[memory]\nlatency = \"fast\"", "line 2"),
        ("[memory]\nlatency = 0", "`memory.latency` is 0"),
        ("[memory]\nlatency = 4000000000", "possible are 1 to 100000"),
        ("[memory]\nspeed = 1", "line 2"),
        ("[sm]\nwarps = 3", "it is even"),
        ("[sm]\nwarps = 66", "possible are 2 to 64"),
        ("[buffer]\nentries = 3", "larger by 2"),
        ("[icache]\nline = 3", "power of two"),
        ("[icache]\nbytes = 2", "power of two"),
        ("[load-store]\nline = 0", "power of two"),
        ("[writeback]\nqueue = 0", "possible are 1 to 1024"),
        ("scheduler = \"best\"", "line 1"),
        ("[units]\nint-alu = 99999999999999999999", "line 2"),
    ];
    for (text, expected) in refused {
        let error = Params::parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    for name in ["memory.speed", "memory", "nothing", "a.b.c", ""] {
        let error = set.set(name, "1").unwrap_err();
        assert!(matches!(error, ParamsError::Unknown(_)), "{name}: {error}");
    }
    assert!(set.set("memory.latency", "fast").is_err());
}

#[test]
fn blocks_that_do_not_fit_are_refused_and_others_wait() {
    let config = Config::default();
    let program = Program::new(&words(config, "halt\n"), config).unwrap();
    let mut machine = Timed::default();
    machine.params.set("sm.warps", "2").unwrap();
    let refused = run(&machine, &program, Size { threads: 65, blocks: 1 }).unwrap_err();
    assert!(refused.contains("a block of 3 warps does not fit"), "{refused}");
    let counts = |blocks| -> TimingCounts {
        run(&machine, &program, Size { threads: 40, blocks }).unwrap().timing().clone()
    };
    let (one, three) = (counts(1), counts(3));
    assert_eq!((one.issued, three.issued), (2, 6));
    assert!(three.cycles > 2 * one.cycles, "the blocks run one after the other");
    assert!(three.adds_up());
}
