//! Every lane-wise instruction against an explicit loop of the scalar one.

use isa::testing::Rng;
use pmask::op::{Op, op_of};
use pmask::state::{State, Window, ones};
use pmask::table::table;
use pmask::{Config, Launch, Pmask, Program};
use simt::machine::{Machine, Step};
use simt::memory::{Addr, Width};

const CODE: u64 = 0x8000_0000;
const DATA: u64 = CODE + 0x1000;
const END: u64 = CODE + 0x2000;

/// A word with the registers of a lane, by the windows of the state.
fn of_lane(form: &isa::Form, word: u64, state: &State, lane: u8) -> u64 {
    let mut word = word;
    let windows = [
        ("rd", state.rsv.dest),
        ("rs1", state.rsv.source_a),
        ("rs2", state.rsv.source_b),
        ("rs3", state.rsv.dest),
    ];
    for (name, window) in windows {
        if let Some(field) = form.field(name) {
            // Reference arithmetic of its own: repeated addition modulo 32.
            let mut register = field.extract(word) + i64::from(window.offset);
            for _ in 0..lane {
                register += i64::from(window.step);
            }
            word = field.insert(word, register.rem_euclid(32)).unwrap();
        }
    }
    word
}

fn put(state: &mut State, word: u64) {
    state.write(CODE, &(word as u32).to_le_bytes()).unwrap();
    state.pc = CODE;
}

fn step(state: &mut State) -> Option<u64> {
    match Pmask::default().run_unobserved(&Program::default(), state, 1) {
        Step::Issued => None,
        Step::Fault(fault) => match fault.cause {
            pmask::trap::StopCause::Trap { trap, .. } => Some(trap.value),
            other => panic!("{other}"),
        },
        other => panic!("{other:?}"),
    }
}

/// The instruction lane after lane as scalar instructions; the mtval of a trap.
fn explicit_loop(form: &isa::Form, op: Op, word: u64, state: &mut State) -> Option<u64> {
    let rsv = state.rsv;
    let vl = rsv.vl.max(1);
    let mask = match rsv.pbank {
        0 => u64::MAX,
        b => state.masks.banks[usize::from(b) - 1],
    };
    state.rsv.enabled = false;
    let size = match op {
        Op::Load(width, _) | Op::Store(width) => width.bytes(),
        Op::FLoad(fmt) | Op::FStore(fmt) => {
            if fmt == pmask::op::Fmt::S {
                4
            } else {
                8
            }
        }
        _ => 0,
    };
    let load = matches!(op, Op::Load(..) | Op::FLoad(_));
    let mut done = false;
    for lane in 0..vl {
        let lane_word = of_lane(form, word, state, lane);
        let field = |name: &str| form.field(name).map_or(0, |f| f.extract(lane_word)) as usize;
        if mask >> lane & 1 == 0 {
            if rsv.zero {
                match op.destination() {
                    Some((pmask::op::File::X, zero)) if field("rd") != 0 => {
                        state.x[field("rd")] = zero;
                    }
                    Some((pmask::op::File::F, zero)) => state.f[field("rd")] = zero,
                    _ => {}
                }
            }
            continue;
        }
        // The address of the lane in a register that the instruction does not use otherwise.
        let strided = size > 0 && rsv.source_a.step == 0;
        let spare = (1..32).find(|r| *r != field("rd") && *r != field("rs2")).unwrap();
        let saved = state.x[spare];
        let mut scalar_word = lane_word;
        if strided {
            let base = state.x[field("rs1")];
            state.x[spare] = base.wrapping_add(u64::from(lane) * size);
            scalar_word = form.field("rs1").unwrap().insert(lane_word, spare as i64).unwrap();
        }
        put(state, scalar_word);
        let trap = step(state);
        if strided {
            state.x[spare] = saved;
        }
        if let Some(value) = trap {
            state.rsv.fault_index = lane.into();
            if rsv.first_fault && load && done {
                return None;
            }
            return Some(value);
        }
        done = true;
    }
    if rsv.first_fault && load {
        state.rsv.fault_index = vl.into();
    }
    None
}

fn random_state(rng: &mut Rng) -> State {
    let launch = Launch { ram: END - CODE, ..Launch::default() };
    let mut state = Pmask::default().launch(&Program::default(), launch).unwrap();
    for i in 1..32 {
        // Most registers point to data, some near the end of memory or nowhere.
        state.x[i] = match rng.below(12) {
            0 => rng.bits(),
            1 => END - rng.below(64),
            2 => rng.below(64),
            _ => DATA + rng.below(0x800) * 8,
        };
    }
    for f in &mut state.f {
        *f = match rng.below(4) {
            0 => rng.bits(),
            1 => f64::from(rng.bits() as i32).to_bits(),
            _ => 0xffff_ffff_0000_0000 | u64::from((rng.bits() as i16 as f32 / 8.0).to_bits()),
        };
    }
    for addr in (DATA..END).step_by(8) {
        state.memory.store(Addr(addr), Width::B8, rng.bits()).unwrap();
    }
    let mut window = || Window {
        offset: if rng.below(2) == 0 { 0 } else { rng.below(32) as u8 },
        step: [0, 0, 1, 1, 2, 4, -1, 3][rng.below(8) as usize],
    };
    (state.rsv.source_a, state.rsv.source_b, state.rsv.dest) = (window(), window(), window());
    for bank in 1..4 {
        state.set_bank(bank, rng.bits() & rng.bits() | rng.bits());
    }
    let rsv = &mut state.rsv;
    rsv.vl = [0, 1, 2, 8, 33, 64][rng.below(6) as usize];
    rsv.pbank = rng.below(4) as u8;
    rsv.zero = rng.below(2) == 1;
    rsv.first_fault = rng.below(2) == 1;
    (rsv.enabled, rsv.one_shot) = (true, true);
    state
}

fn bytes(state: &State) -> Vec<u8> {
    let mut out = vec![0; (END - DATA) as usize];
    state.memory.read_bytes(Addr(DATA), &mut out).unwrap();
    out
}

/// Checks RSV-4.1-a, RSV-4.3-a, RSV-4.3-b, RSV-1.2-a, RSV-8-a, RSV-8-c, PM-2-a, PM-2.1-a, PM-2.1-b,
/// PM-2.1-c, PM-2.1-d, PM-2.2-f, PM-2.2-h, PM-3.3.2-d, PM-3.4-a, PM-5-c, CAP-2.3-4, XM-5.0-5,
/// CAP-4.6.3-3: windows that overlap, wrap around, run backwards; merge and zero; first-fault; VL
/// of 1 with bank 0 as the scalar instruction.
#[test]
fn lane_wise_is_a_loop_of_the_scalar_instruction() {
    let mut rng = Rng::new(42);
    let mut tried = 0;
    for (id, form) in table().iter() {
        let Some(op) = op_of(&form.name).filter(|op| op.lane_wise()) else { continue };
        if matches!(op, Op::Compress | Op::Expand) || form.attribute("as").is_some() {
            continue;
        }
        for _ in 0..24 {
            let values: Vec<i64> = form
                .fields
                .iter()
                .map(|f| match f.name.as_str() {
                    // Short distances, so that most accesses hit memory.
                    "imm"
                        if matches!(
                            op,
                            Op::Load(..) | Op::Store(_) | Op::FLoad(_) | Op::FStore(_)
                        ) =>
                    {
                        rng.below(16) as i64 * 8
                    }
                    _ => rng.field_value(f),
                })
                .collect();
            let word = table().encode(id, &values).unwrap().word;
            let mut lanes = random_state(&mut rng);
            let mut scalar = lanes.clone();
            put(&mut lanes, word);
            let trap = step(&mut lanes);
            let expected = explicit_loop(form, op, word, &mut scalar);
            let name = &form.name;
            let rsv = lanes.rsv;
            assert_eq!(trap, expected, "{name} {word:#x} {rsv:?}");
            assert_eq!(lanes.x, scalar.x, "{name} {word:#x} {rsv:?}");
            assert_eq!(lanes.f, scalar.f, "{name} {word:#x} {rsv:?}");
            assert_eq!(lanes.csr.fflags, scalar.csr.fflags, "{name} {word:#x}");
            assert_eq!(rsv.fault_index, scalar.rsv.fault_index, "{name} {word:#x} {rsv:?}");
            assert!(bytes(&lanes) == bytes(&scalar), "{name} {word:#x} {rsv:?}");
            assert_eq!(rsv.enabled, trap.is_some(), "a one-shot is used up unless it trapped");
            tried += 1;
        }
    }
    assert!(tried > 3000, "{tried}");
}

/// Compaction against the plain definition. Checks CEXP-a, CEXP-b, CEXP-c, PM-3.2-a.
#[test]
fn compress_and_expand() {
    let mut rng = Rng::new(3);
    let encode = |name: &str, rd: i64, rs1: i64| {
        table().encode_named(name, &[("rd", rd), ("rs1", rs1)]).unwrap().word
    };
    for _ in 0..500 {
        let mut state = random_state(&mut rng);
        let vl = 1 + rng.below(8) as u8;
        state.rsv.vl = vl;
        state.rsv.source_a = Window { offset: 0, step: 1 };
        state.rsv.dest = Window { offset: 0, step: 1 };
        // Sources x8 up, destinations x4 up: they overlap.
        let before = state.clone();
        let mask = if state.rsv.pbank == 0 { u64::MAX } else { state.bank(state.rsv.pbank) };
        let mask = mask & ones(vl);
        let kept: Vec<u64> =
            (0..vl).filter(|i| mask >> i & 1 == 1).map(|i| before.x[8 + usize::from(i)]).collect();
        put(&mut state, encode("svcompress", 4, 8));
        assert_eq!(step(&mut state), None);
        for i in 0..usize::from(vl) {
            let rest = if before.rsv.zero { 0 } else { before.x[4 + i] };
            assert_eq!(state.x[4 + i], kept.get(i).copied().unwrap_or(rest));
        }
        assert_eq!(state.masks, before.masks);

        // expand(compress(x)) = x on true lanes.
        (state.rsv.enabled, state.rsv.one_shot) = (true, true);
        let packed = state.clone();
        put(&mut state, encode("svexpand", 20, 4));
        assert_eq!(step(&mut state), None);
        for i in 0..usize::from(vl) {
            let rest = if before.rsv.zero { 0 } else { packed.x[20 + i] };
            let expected = if mask >> i & 1 == 1 { before.x[8 + i] } else { rest };
            assert_eq!(state.x[20 + i], expected);
        }

        let count = table().encode_named("svpopcnt.pm", &[("rd", 3)]).unwrap().word;
        put(&mut state, count);
        assert_eq!(step(&mut state), None);
        assert_eq!(state.x[3], kept.len() as u64);
    }
}

/// Lane forms of tests against the definition. Checks RT-8.2, RT-8.2-b.
#[test]
fn lane_tests_keep_the_bits_of_false_lanes() {
    let mut rng = Rng::new(4);
    let config = Config { pcmp_bank: true, ..Config::default() };
    for _ in 0..500 {
        let mut state = random_state(&mut rng);
        state.config = config;
        state.rsv.vl = 1 + rng.below(64) as u8;
        for i in 1..32 {
            state.x[i] = rng.below(3);
        }
        let (bank, rs1, rs2) = (rng.below(4), rng.below(32), rng.below(32));
        let less = bank > 0 && rng.below(2) == 1;
        let name = if less { "pcmp.lt.u.b" } else { "pmmov.to_p0" };
        let mut fields = vec![("b", bank as i64), ("rs1", rs1 as i64)];
        if less {
            fields.push(("rs2", rs2 as i64));
        }
        let word = table().encode_named(name, &fields).unwrap().word;
        let before = state.clone();
        put(&mut state, word);
        assert_eq!(step(&mut state), None);
        if bank == 0 {
            // The scalar form: no bank, no lanes, the one-shot is still there.
            assert_eq!(state.masks.banks, before.masks.banks);
            assert_eq!(state.masks.p0, before.x[rs1 as usize] != 0);
            assert!(state.rsv.enabled);
            continue;
        }
        let mask = match before.rsv.pbank {
            0 => u64::MAX,
            b => before.bank(b),
        };
        let mut expected = before.bank(bank as u8);
        for lane in (0..before.rsv.vl).filter(|l| mask >> l & 1 == 1) {
            let register = |w: Window, field: u64| {
                let at = field as i64 + i64::from(w.offset) + i64::from(w.step) * i64::from(lane);
                before.x[at.rem_euclid(32) as usize]
            };
            let a = register(before.rsv.source_a, rs1);
            let holds = if less { a < register(before.rsv.source_b, rs2) } else { a != 0 };
            expected = expected & !(1 << lane) | u64::from(holds) << lane;
        }
        assert_eq!(state.bank(bank as u8), expected);
        assert_eq!(state.masks.p0, expected & 1 == 1);
        assert_eq!(state.x, before.x);
    }
}
