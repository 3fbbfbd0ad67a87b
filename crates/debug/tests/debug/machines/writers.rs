//! Who wrote a register, or memory, last.

use debug::{Debugger, Memory, Session, Writer, Written};
use isa::testing::Rng;
use simt::inspect::{FramePlace, Inspect, Register, RegisterOwner};
use simt::memory::Space;
use simt::{LaneMask, Pc};

use super::cases::Case;
use super::log::{Key, Log, Scope, Write};
use super::{Check, campaign, each_machine};

/// Issues of a launch, at most.
const MOST: u64 = 260;

/// Asks of random registers and bytes at a random position.
struct Ask;

/// What no text names: it changes with every issue, or with every one under RSV.
fn unnamed(register: &Register) -> bool {
    ["pc", "svstate"].contains(&&*register.name)
}

fn key(register: &Register, at: FramePlace) -> Key {
    let (cta, group) = (at.group.cta, at.group.group);
    let scope = match register.owner {
        RegisterOwner::Machine => Scope::Machine,
        RegisterOwner::Group => Scope::Group(cta, group),
        RegisterOwner::Lane => Scope::Lane(cta, group, at.lane),
    };
    (scope, register.index)
}

/// Whether a register is one of a lane, its group or the machine.
pub(super) fn of((scope, _): &Key, at: FramePlace) -> bool {
    let group = (at.group.cta, at.group.group);
    match *scope {
        Scope::Machine => true,
        Scope::Group(cta, number) => (cta, number) == group,
        Scope::Lane(cta, number, lane) => (cta, number) == group && lane == at.lane,
    }
}

fn told(writer: Option<Writer>) -> Option<Write> {
    writer.map(|writer| (writer.position, writer.lane, writer.pc))
}

impl Check for Ask {
    fn check<M: Inspect<1>>(&self, case: &Case<M>, rng: &mut Rng) {
        let lanes: LaneMask<1> =
            [0, rng.below(8) as usize, rng.below(64) as usize].into_iter().collect();
        let (log, state) = Log::of(case, 20 + rng.below(MOST - 20), lanes);
        let mut execution = case.execution().with_gap(1 + rng.below(90));
        let mut debugger = Debugger::default();
        let mut session = Session::new(&mut debugger, &mut execution);
        session.goto(log.position).expect("there");
        assert_eq!(session.look().position(), log.position);
        let groups = case.machine.groups(&case.program, &state);
        let registers = case.machine.registers(&case.program, Pc(0));
        let named: Vec<&Register> = registers.iter().filter(|r| !unnamed(r)).collect();
        for _ in 0..10 {
            let Some(group) = rng.pick(&groups) else { break };
            let lanes: Vec<usize> = ((group.launched - group.exited) & lanes).iter().collect();
            let (Some(&lane), Some(register)) = (rng.pick(&lanes), rng.pick(&named)) else { break };
            let at = FramePlace { group: group.id, lane: lane as u32, frame: 0 };
            let what = Written::Register { at, index: register.index };
            let found = told(session.last_writer(what, log.position).expect("found"));
            let wanted = log.registers.get(&key(register, at)).copied();
            let text = |write: Option<Write>| write.and_then(|w| case.texts.get(&w.2.0).cloned());
            let texts = (text(found), text(wanted));
            assert_eq!(
                found, wanted,
                "{} at {at:?} before {}: {texts:?}",
                register.name, log.position
            );
        }
        // Half of the bytes are some that are written.
        let mut stored: Vec<u64> = log.memory.keys().copied().collect();
        stored.sort_unstable();
        for _ in 0..6 {
            let address = match (rng.pick(&stored), rng.pick(&case.buffers)) {
                (Some(address), _) if rng.below(2) == 0 => *address,
                (_, Some(range)) if !range.is_empty() => {
                    range.start + rng.below(range.end - range.start)
                }
                _ => break,
            };
            let memory = Memory { space: Space::Global, at: FramePlace::default() };
            let what = Written::Memory { memory, address, bytes: 1 };
            let found = told(session.last_writer(what, log.position).expect("found"));
            assert_eq!(found, log.memory.get(&address).copied(), "{address:#x}");
        }
    }
}

#[test]
fn last_writers_are_those_of_a_full_log() {
    each_machine(&Ask, 6, 31);
}

#[test]
#[ignore = "minutes"]
fn last_writers_of_many_kernels() {
    campaign(&Ask);
}
