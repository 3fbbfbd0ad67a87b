//! A small interpreter of its own, run under three mechanisms: `cargo run -p simtlab-converge --example interpreter`.
//!
//! Each lane counts the steps that its number takes to reach 1 (halved if even, else tripled plus one). The
//! interpreter knows nothing of divergence: it asks which lanes run where, executes, and reports what happened.

use converge::planner::{FunctionFlow, Priorities, plan};
use converge::{Entry, Event, Knobs, Plan, Start};
use flow::Cfg;
use simt::{Pc, WarpMask};

/// What stands at a place. Each is a block of its own, so that blocks and places have the same numbers.
enum Code {
    /// Go to the place if the condition holds, else to the next one.
    Branch(fn(u32) -> bool, u64),
    /// Change the number, and go to the place.
    Set(fn(u32) -> u32, u64),
    End,
}

const CODE: [Code; 5] = [
    Code::Branch(|n| n == 1, 4),
    Code::Branch(|n| n % 2 == 0, 3),
    Code::Set(|n| 3 * n + 1, 0),
    Code::Set(|n| n / 2, 0),
    Code::End,
];

/// Runs 16 lanes: steps of each lane, and instructions issued.
fn run(mechanism: &str, plan: &Plan) -> Result<([u32; 16], u64), Box<dyn std::error::Error>> {
    let start = Start::at(Pc(0), WarpMask::first(16), 16);
    let mut mechanism = Entry::find(mechanism)?.build(&start, Knobs::default())?;
    let mut numbers: [u32; 16] = std::array::from_fn(|lane| lane as u32 + 1);
    let (mut steps, mut issues) = ([0; 16], 0);
    while let Some(path) = mechanism.preferred() {
        issues += 1;
        let (at, next) = (path.pc, Pc(path.pc.0 + 1));
        let mut targets = Vec::new();
        let event = match &CODE[at.0 as usize] {
            Code::Branch(holds, to) => {
                let taken = path.lanes.filter(|lane| holds(numbers[lane]));
                targets.extend([(next, path.lanes - taken), (Pc(*to), taken)]);
                targets.retain(|target| target.1.any());
                Event::Branch { at, targets: &targets }
            }
            Code::Set(change, to) => {
                for lane in path.lanes {
                    numbers[lane] = change(numbers[lane]);
                    steps[lane] += 1;
                }
                targets.push((Pc(*to), path.lanes));
                Event::Branch { at, targets: &targets }
            }
            Code::End => Event::Exit { at, lanes: path.lanes, next },
        };
        mechanism.event(plan, path.id, &event)?;
    }
    Ok((steps, issues))
}

#[allow(clippy::print_stdout, reason = "an example shows its result")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cfg = Cfg::new(0, &[vec![1, 4], vec![2, 3], vec![0], vec![0], vec![]])?;
    let places: Vec<_> = (0..5).map(|block| block..block + 1).collect();
    let plan = plan(&[FunctionFlow { cfg: &cfg, places: &places }], Priorities::Layout)?;
    let (expected, _) = run("serial", &plan)?;
    println!("steps: {expected:?}");
    for mechanism in ["serial", "ipdom", "min-pc"] {
        let (steps, issues) = run(mechanism, &plan)?;
        assert_eq!(steps, expected);
        println!("{mechanism:>7}: {issues} issues");
    }
    Ok(())
}
