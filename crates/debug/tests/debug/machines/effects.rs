//! What machines tell of their instructions: nothing else is written, and what is not read does not
//! matter.

use isa::testing::Rng;
use simt::Pc;
use simt::inspect::{Effects, FramePlace, Inspect, Register, Upcoming};
use simt::machine::Step;

use super::cases::Case;
use super::log::registers;
use super::writers::of;
use super::{Check, campaign, each_machine};

/// Issues of a launch, at most.
const MOST: u64 = 260;

/// Steps with a register changed that the instruction does not read.
struct Perturb;

/// What an issue may do, for all its lanes.
fn effects<M: Inspect<1>>(case: &Case<M>, state: &M::State, next: &Upcoming) -> Option<Effects> {
    let mut all = Effects::default();
    for lane in next.lanes {
        let place = (next.pc, lane as u32);
        let own = case.machine.effects(&case.program, state, place)?;
        all.reads.extend(own.reads);
        all.writes.extend(own.writes);
        all.moves.extend(own.moves);
    }
    Some(all)
}

impl Check for Perturb {
    fn check<M: Inspect<1>>(&self, case: &Case<M>, rng: &mut Rng) {
        let machine = &case.machine;
        let all = machine.registers(&case.program, Pc(0));
        let mut state = case.first.clone();
        let (mut asked, mut tried) = (0, 0);
        for _ in 0..MOST {
            let Ok(next) = machine.upcoming(&case.program, &mut state) else { break };
            let told = effects(case, &state, &next);
            let before = state.clone();
            let step = machine.run_unobserved(&case.program, &mut state, 1);
            assert!(matches!(step, Step::Issued), "a kernel that ends");
            let Some(told) = told else { continue };
            asked += 1;
            writes_all(case, (&before, &state), &told, &next);
            let Some(register) = rng.pick(&all) else { continue };
            let lanes: Vec<usize> = next.lanes.iter().collect();
            let lane = rng.pick(&lanes).map_or(0, |&lane| lane as u32);
            let at = FramePlace { group: next.group, lane, frame: 0 };
            let place = (register, at, rng.bits().into());
            tried += u32::from(does_not_matter(case, (&before, &state), &told, place));
        }
        assert!(asked == 0 || tried * 4 > asked, "{tried} of {asked}");
    }
}

/// Registers that have changed are among those that were to be written.
fn writes_all<M: Inspect<1>>(
    case: &Case<M>,
    (before, after): (&M::State, &M::State),
    told: &Effects,
    next: &Upcoming,
) {
    let lanes = [0, 1, 5, 31, 40, 63].into_iter().collect();
    let (old, new) = (registers(case, before, lanes), registers(case, after, lanes));
    let at = FramePlace { group: next.group, ..FramePlace::default() };
    let name = |index| {
        let all = case.machine.registers(&case.program, Pc(0));
        all.into_iter().find(|r: &Register| r.index == index).map(|r| r.name.to_string())
    };
    for (key, value) in old {
        let own = (0..64).any(|lane| of(&key, FramePlace { lane, ..at }));
        let moved = told.moves.iter().any(|&(to, _)| to == key.1);
        let written = own && (told.writes.contains(&key.1) || moved);
        let same = new.get(&key).is_none_or(|&new| new == value);
        let text = case.texts.get(&next.pc.0);
        assert!(written || same || name(key.1).as_deref() == Some("pc"), "{key:?} in {text:?}");
    }
}

/// Whether a register could be tried. It panics if a value that is not read makes a difference.
fn does_not_matter<M: Inspect<1>>(
    case: &Case<M>,
    (before, after): (&M::State, &M::State),
    told: &Effects,
    (register, at, value): (&Register, FramePlace, u128),
) -> bool {
    let (machine, index) = (&case.machine, register.index);
    let touched = told.reads.contains(&index) || told.writes.contains(&index);
    let moved = told.moves.iter().any(|&(to, from)| to == index || from == index);
    if touched || moved || ["pc", "svstate"].contains(&&*register.name) {
        return false;
    }
    let value = match register.bits {
        bits @ 1..64 => value & ((1 << bits) - 1),
        _ => value,
    };
    let mut other = before.clone();
    if machine.set_register(&case.program, &mut other, at, index, value).is_err() {
        return false;
    }
    // Masks keep no bits of lanes that are not there.
    let value = machine.register(&case.program, &other, at, index);
    let step = machine.run_unobserved(&case.program, &mut other, 1);
    let text =
        case.texts.get(&machine.frames(&case.program, before, at).first().map_or(0, |p| p.0));
    let what = format!("{} in {text:?}", register.name);
    assert!(matches!(step, Step::Issued), "{what}");
    // It is still what it was set to; with the other value in its place the states are equal.
    let Ok(kept) = machine.register(&case.program, after, at, index) else { return false };
    let set = machine.register(&case.program, &other, at, index);
    assert!(set == value || set.is_err(), "{what}: {value:?} -> {set:?}");
    if machine.set_register(&case.program, &mut other, at, index, kept).is_err() {
        return false;
    }
    assert_eq!(machine.digest(&other), machine.digest(after), "{what}");
    true
}

#[test]
fn registers_that_are_not_read_do_not_matter() {
    each_machine(&Perturb, 5, 23);
}

#[test]
#[ignore = "minutes"]
fn registers_that_are_not_read_on_many_kernels() {
    campaign(&Perturb);
}
