//! The debugger on the bundled kernels of every machine that has some: the state at a position is
//! the same however it is reached.

use std::path::{Path, PathBuf};

use debug::{After, Client, Debugger, Direction, Follow, Session, Step, Stopped, Target};
use isa::SourceMap;
use lab::run::{Job, JobParts, Settings};
use machines::{DebuggedMonitor, Unmonitored};

/// Furthest position that is looked at.
const MOST: u64 = 600;
/// Positions of a launch that are looked at.
const LOOKS: u64 = 6;

/// Goes forwards alone, and notes the digests of some positions.
#[derive(Default)]
struct Plain {
    digests: Vec<(u64, u64)>,
}

impl Client for Plain {
    fn launch(&mut self, target: &mut dyn Target) -> After {
        for position in (0..MOST).step_by((MOST / LOOKS) as usize) {
            let stopped = target.seek(position).expect("it goes on");
            if stopped == Stopped::Ended {
                break;
            }
            self.digests.push((position, target.digest()));
        }
        After::Stop
    }
}

/// Jumps between these positions, and steps from them forwards and back.
struct Jumps<'j> {
    digests: &'j [(u64, u64)],
    seed: u64,
}

impl Jumps<'_> {
    /// A linear congruential generator.
    fn below(&mut self, most: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.seed >> 33) % most
    }
}

impl Client for Jumps<'_> {
    fn launch(&mut self, target: &mut dyn Target) -> After {
        let mut debugger = Debugger::default();
        debugger.follow = Follow::Launch;
        let mut session = Session::new(&mut debugger, target);
        for _ in 0..LOOKS {
            let index = self.below(self.digests.len() as u64) as usize;
            let (position, digest) = self.digests[index];
            session.goto(position).expect("restored");
            assert_eq!(session.look().position(), position);
            assert_eq!(session.look().digest(), digest, "a jump to issue {position}");
            let most = self.below(8);
            for _ in 0..most {
                session.step(Step::Issue, Direction::Forward).expect("stepped");
            }
            for _ in 0..session.look().position() - position {
                session.step(Step::Issue, Direction::Backward).expect("stepped back");
            }
            assert_eq!(session.look().position(), position, "{most} forwards and back");
            assert_eq!(session.look().digest(), digest, "{most} from issue {position} and back");
        }
        After::Stop
    }
}

fn debug(file: &Path, client: &mut dyn Client) {
    let mut sources = SourceMap::new();
    let parts = JobParts::from_launch_file(file, None, &mut sources).expect("a launch file");
    let job = Job::prepare(parts, &Settings::default(), &mut sources).expect("it can be prepared");
    let mut monitor = DebuggedMonitor { monitor: &mut Unmonitored, client };
    if let Err(found) = job.run(false, &mut monitor) {
        panic!("{}: {:#?}", file.display(), found.iter().collect::<Vec<_>>());
    }
}

/// The launch files below a folder of the bundled kernels.
fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels").join(folder);
    let entries = std::fs::read_dir(folder).expect("bundled kernels");
    let mut files: Vec<PathBuf> =
        entries.filter_map(|e| Some(e.ok()?.path().join("launch.toml"))).collect();
    files.retain(|file| file.is_file());
    files.sort();
    files
}

fn check(folder: &str, least: usize) {
    let files = files(folder);
    assert!(files.len() >= least, "{folder}: {files:?}");
    // Digests of large memories are most of the time of this test program.
    std::thread::scope(|scope| {
        for (file, seed) in files.iter().zip(1..) {
            scope.spawn(move || {
                let mut plain = Plain::default();
                debug(file, &mut plain);
                assert!(!plain.digests.is_empty(), "{}", file.display());
                debug(file, &mut Jumps { digests: &plain.digests, seed });
            });
        }
    });
}

#[test]
fn states_of_linx_are_those_of_a_plain_run() {
    check("linx", 10);
}

#[test]
fn states_of_pmask_are_those_of_a_plain_run() {
    check("pmask", 8);
}

#[test]
fn states_of_prf_are_those_of_a_plain_run() {
    check("prf", 10);
}
