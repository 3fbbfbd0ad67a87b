//! A small interpreter of its own, run under three mechanisms: `cargo run -p simtlab-converge
//! --example interpreter`.
//!
//! Each lane counts the steps that its number takes to reach 1 (halved if even, else tripled plus
//! one). The interpreter knows nothing of divergence: it asks which lanes run where, executes, and
//! reports what happened.

use converge::{Flow, Session, SessionError};
use simt::{Pc, WarpMask};

/// What stands at a place.
enum Code {
    /// Go to the place if the condition holds, else to the next one.
    Branch(fn(u32) -> bool, u64),
    /// Change the number.
    Set(fn(u32) -> u32),
    Jump(u64),
    End,
}

const CODE: [Code; 7] = [
    Code::Branch(|n| n == 1, 6),
    Code::Branch(|n| n % 2 == 0, 4),
    Code::Set(|n| 3 * n + 1),
    Code::Jump(0),
    Code::Set(|n| n / 2),
    Code::Jump(0),
    Code::End,
];

/// Where control may go: the mechanism's view of the program.
fn flow(code: &Code) -> Flow {
    match code {
        Code::Branch(_, to) => Flow::Branch(Pc(*to)),
        Code::Set(_) => Flow::Next,
        Code::Jump(to) => Flow::Jump(Pc(*to)),
        Code::End => Flow::End,
    }
}

/// Runs 16 lanes; gives the steps of each, and the session with its statistics.
fn run(mechanism: &str) -> Result<([u32; 16], Session), SessionError> {
    let mut session = Session::new(mechanism)?;
    session.set_graph(&CODE.each_ref().map(flow))?;
    session.begin(Pc(0), WarpMask::first(16), 16)?;
    let mut numbers: [u32; 16] = std::array::from_fn(|lane| lane as u32 + 1);
    let mut steps = [0; 16];
    while let Some(path) = session.now() {
        match &CODE[path.pc.0 as usize] {
            Code::Branch(holds, to) => {
                let taken = path.lanes.filter(|lane| holds(numbers[lane]));
                session.branch(path.lanes, taken, Pc(*to))?;
            }
            Code::Set(change) => {
                for lane in path.lanes {
                    numbers[lane] = change(numbers[lane]);
                    steps[lane] += 1;
                }
                session.step()?;
            }
            Code::Jump(to) => session.jump(Pc(*to))?,
            Code::End => session.exit(path.lanes)?,
        }
    }
    Ok((steps, session))
}

#[allow(clippy::print_stdout, reason = "an example shows its result")]
fn main() -> Result<(), SessionError> {
    let (expected, _) = run("serial")?;
    println!("steps: {expected:?}");
    for name in ["basic", "cfg", "stack"] {
        let (steps, session) = run(name)?;
        assert_eq!(steps, expected);
        println!("\n{name} ({})\n{}", session.mechanism().summary, session.statistics());
    }
    Ok(())
}
