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

use std::collections::BTreeMap;

use campaign::{PLANTS, Random, Size, Writer, bytes_of, pack, regions, run, words};
use prf::hazard::{HazardKind, check};
use prf::timing::changes::{to_text, to_vcd};
use prf::timing::{Change, Changed, Forwarding, Stall, State};
use prf::{
    Config, Hazards, Params, ParamsError, Policy, Prf, Profile, Program, Timed, TimingCounts, Unit,
};
use simt::machine::Machine;
use simt::mask::WarpMask;
use simt::memory::{Addr, Width};

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
    let ways = [Forwarding::None, Forwarding::Predicates, Forwarding::All];
    params.issue.forwarding = ways[random.below(3) as usize];
    params.issue.read_ports = 1 + random.below(2) as u32;
    params.decode.skip_empty = random.chance(30);
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
    let machine = Timed { config, profile, params, hazards, changes: 1 << 20, ..Timed::default() };
    let functional = run(&Prf { config }, &program, size).unwrap_or_else(|e| panic!("{seed}: {e}"));
    let timed = run(&machine, &program, size).unwrap_or_else(|e| panic!("{seed}: {e}\n{text}"));
    assert!(regions(&functional.memory) == regions(&timed.memory), "seed {seed}, {size:?}\n{text}");
    assert!(timed.timing().adds_up(), "seed {seed}");
    // Memory that different registers name meets in a packet unseen by the check of the text;
    // nothing else may.
    let unseen = |kind: HazardKind| kind == HazardKind::Memory;
    assert!(timed.hazards().iter().all(|h| unseen(h.kind)), "seed {seed}: {:?}", timed.hazards());
    let slots = [Prf { config }.slots(&functional), machine.slots(&timed)];
    let skipped = timed.timing().skipped;
    assert_eq!(slots[0].issues(), slots[1].issues() + skipped, "seed {seed}");
    if skipped == 0 {
        assert_eq!(slots[0], slots[1], "seed {seed}: the same lanes are on");
        assert_eq!(functional.counts(), timed.counts(), "seed {seed}");
    }
    assert_eq!(timed.changes_missed(), 0, "seed {seed}");
    // Warps that may end before their last stores do not tell.
    if !text.contains("halt @") {
        changes_lead_to_what_is_stored(&timed, seed);
    }
}

/// The predicates that the changes of each warp add up to are those that it stores in the end: p1
/// to p7 in its region, whose address x8 holds.
fn changes_lead_to_what_is_stored(state: &State, seed: u64) {
    type Warp = ([WarpMask; 32], Box<[[u32; 32]; 64]>);
    let mut warps: BTreeMap<(u32, u32), Warp> = BTreeMap::new();
    let mut slots = BTreeMap::new();
    for Change { slot, what, .. } in state.changes() {
        if let Changed::Start { block, warp, .. } = what {
            slots.insert(*slot, (*block, *warp));
            let mut predicates = [WarpMask::EMPTY; 32];
            predicates[0] = WarpMask::first(32);
            warps.insert((*block, *warp), (predicates, Box::new([[0; 32]; 64])));
            continue;
        }
        let (predicates, registers) = warps.get_mut(&slots[slot]).expect("it has started");
        match what {
            Changed::Predicate { number, mask } => predicates[usize::from(*number)] = *mask,
            Changed::Register { number, lanes, values } => {
                lanes.iter().for_each(|l| registers[usize::from(*number)][l] = values[l]);
            }
            Changed::Start { .. } | Changed::Live(_) => {}
        }
    }
    for (predicates, registers) in warps.values() {
        for p in 1..8 {
            let at = Addr(u64::from(registers[8][0]) + 4 * p);
            let stored = state.memory.load(at, Width::B4).expect("its region");
            assert_eq!(predicates[p as usize].bits(), stored, "seed {seed}: p{p}");
        }
    }
}

#[test]
fn dumps_of_value_changes_end_in_the_last_values() {
    let random = &mut Random(11);
    let text = Writer::new(random).program(30, None);
    let config = Config::default();
    let program = Program::new(&words(config, &text), config).unwrap();
    let hazards = Hazards::Interlocked;
    let machine = Timed { hazards, records: 1 << 16, changes: 1 << 16, ..Timed::default() };
    let state = run(&machine, &program, Size { threads: 40, blocks: 1 }).unwrap();
    let dump = to_vcd(state.changes(), state.records(), 32);
    // A reader of its own: names by identifier, then the last value of each.
    let (mut scope, mut names) = (String::new(), BTreeMap::new());
    let (mut values, mut time, mut valid) = (BTreeMap::new(), 0u64, 0u64);
    for line in dump.lines() {
        let tokens: Vec<&str> = line.split(' ').collect();
        match tokens.as_slice() {
            ["$scope", "module", name, "$end"] => scope = (*name).to_owned(),
            ["$var", "wire", _, id, name, "$end"] => {
                names.insert((*id).to_owned(), format!("{scope}.{name}"));
            }
            [value, id] if value.starts_with('b') => {
                let name = names[*id].clone();
                valid += u64::from(name == "dispatch.valid" && *value == "b1");
                values.insert(name, value[1..].to_owned());
            }
            [at] if at.starts_with('#') => {
                let at: u64 = at[1..].parse().unwrap();
                assert!(at > time || time == 0);
                time = at;
            }
            _ => {}
        }
    }
    assert!(valid > 20 && time <= state.timing().cycles + 1);
    let mut last = BTreeMap::new();
    for Change { slot, what, .. } in state.changes() {
        if let Changed::Predicate { number, mask } = what {
            last.insert(format!("predicates{slot}.p{number}"), format!("{:b}", mask.bits()));
        }
    }
    assert!(last.len() > 4);
    for (name, value) in last {
        assert_eq!(values[&name], value, "{name}");
    }
    let text = to_text(state.changes(), 3);
    assert!(text.contains("0 start block=0 warp=0 live=ffffffff\n"), "{text}");
    assert!(text.ends_with("# 3 more changes are left out\n"));
}

#[test]
fn switches_of_designers_save_cycles() {
    let text = "csrr x5, tid\naddi x4, x5, 1\nadd x6, x4, x5\nblt p1, x5, x0\n\
                add x7, x6, x4 @p1\nmul x7, x7, x7 @p1\nmul x8, x7, x7 @p1\nhalt\n";
    let config = Config::default();
    let program = Program::new(&words(config, text), config).unwrap();
    let cycles = |hazards, set: &[(&str, &str)]| {
        let mut params = Params::default();
        set.iter().for_each(|(name, value)| params.set(name, value).unwrap());
        let machine = Timed { hazards, params, ..Timed::default() };
        let state = run(&machine, &program, Size { threads: 32, blocks: 1 }).unwrap();
        (state.timing().cycles, state.timing().forwarded, state.timing().skipped)
    };
    let (plain, ..) = cycles(Hazards::Interlocked, &[]);
    let (masks, one, _) = cycles(Hazards::Interlocked, &[("issue.forwarding", "predicates")]);
    let (all, seven, _) = cycles(Hazards::Interlocked, &[("issue.forwarding", "all")]);
    assert!(all < masks && masks < plain, "{all} {masks} {plain}");
    assert_eq!((one, seven), (1, 7));
    let (ports, ..) = cycles(Hazards::Interlocked, &[("issue.read-ports", "2")]);
    assert!(ports < plain, "{ports} {plain}");
    let (faithful, ..) = cycles(Hazards::Faithful, &[]);
    let (skipping, _, skipped) = cycles(Hazards::Faithful, &[("decode.skip-empty", "on")]);
    // Three instructions have no lane.
    assert!(skipped == 3 && skipping < faithful, "{skipped} {skipping} {faithful}");
    let wrong = Params::default().set("issue.read-ports", "3").unwrap_err().to_string();
    assert!(wrong.contains("possible are 1 to 2"), "{wrong}");
    assert!(Params::default().set("issue.forwarding", "some").is_err());
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
    let expected = model::run(&words.0, 0x24, size.threads, size.blocks, 7);
    let mut memory = BTreeMap::new();
    memory.extend(bytes_of(&functional.memory).filter(|&(_, byte)| byte != 0));
    let written: BTreeMap<u32, u8> =
        expected.0.into_iter().filter(|&(_, byte)| byte != 0).collect();
    assert!(memory == written, "seed {seed}, {size:?}, {:x?}\n{text}", first(&memory, &written));
}

/// The first byte that two memories hold differently, with its address.
fn first(a: &BTreeMap<u32, u8>, b: &BTreeMap<u32, u8>) -> Option<(u32, u8, u8)> {
    let byte = |map: &BTreeMap<u32, u8>, at| map.get(at).copied().unwrap_or(0);
    let mut all = a.keys().chain(b.keys()).filter(|at| byte(a, at) != byte(b, at));
    all.next().map(|at| (*at, byte(a, at), byte(b, at)))
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
    let expected = |kind: HazardKind| {
        kind == plant.kind || matches!(kind, HazardKind::Overwrite(42) | HazardKind::EarlyWrite(42))
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
fn faithful(text: &str) -> (State, Program) {
    let config = Config::default();
    let program = Program::new(&words(config, text), config).unwrap();
    let state = run(&Timed::default(), &program, Size { threads: 32, blocks: 1 }).unwrap();
    (state, program)
}

#[test]
fn hazards_are_met_lane_by_lane_and_byte_by_byte() {
    let met = |text: &str| -> Vec<HazardKind> {
        let (state, _) = faithful(text);
        assert_eq!(state.timing().hazards as usize, state.hazards().len(), "{text}");
        state.hazards().iter().map(|h| h.kind).collect()
    };
    let own = "csrr x5, tid\nslli x6, x5, 2\nlui x7, 0x10\nadd x7, x7, x6\naddi x8, x0, 16\n\
               slt x9, x5, x8\nbne p1, x9, x0\nbeq p2, x9, x0\n";
    let cases: [(&str, &[HazardKind]); 8] = [
        ("addi x10, x5, 1 !1,0\nadd x11, x10, x5 !0,1\nhalt", &[HazardKind::Read(10)]),
        // Other lanes write than read.
        ("addi x10, x5, 1, p1, 1, 0\nadd x11, x10, x5, p2, 0, 1\nhalt", &[]),
        (
            "addi x10, x5, 1, p1, 1, 0\naddi x10, x5, 2, p1, 0, 1\nhalt",
            &[HazardKind::Overwrite(10)],
        ),
        ("bne p3, x5, x0 !1,0\naddi x10, x5, 1, p3, 0, 1\nhalt", &[HazardKind::PredicateRead(3)]),
        // The text does not show it: the registers differ.
        ("addi x10, x7, 0\nsw x5, 0(x7) !1,0\nlw x11, 0(x10) !0,1\nhalt", &[HazardKind::Memory]),
        ("addi x10, x7, 2\nsh x5, 0(x7) !1,0\nlh x11, 0(x10) !0,1\nhalt", &[]),
        ("bne p3, x0, x0\nhalt p3, 1, 0\naddi x10, x5, 1 !0,1\nhalt", &[]),
        ("halt p1, 1, 0\naddi x10, x5, 1 !0,1\nhalt", &[HazardKind::Halt]),
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
    assert_eq!(check(&program).iter().map(|h| h.kind).collect::<Vec<_>>(), [HazardKind::Open]);
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
            memory.map_at("heap", Addr(base), 1 << 16, permission).unwrap();
        }
        let (total, entry) = (None, None);
        let launch = prf::Launch { threads: 32, blocks: 1, total, argument: 0, entry, memory };
        let mut state = machine.launch(&program, launch).unwrap();
        machine.run_unobserved(&program, &mut state, 100_000);
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
