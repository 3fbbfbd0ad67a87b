//! Commands that move the launch.

use super::{Answer, nothing, show};
use crate::session::breakpoint::number;
use crate::session::motion::{Direction, Reason, Step};
use crate::session::{Follow, Session};

use Direction::{Backward, Forward};

fn times(session: &mut Session<'_>, count: &str, step: Step, direction: Direction) -> Answer {
    let count = match count {
        "" => 1,
        text => number(text).ok_or_else(|| format!("`{text}` is not a number of steps"))?,
    };
    for _ in 0..count {
        let report = session.step(step, direction).map_err(|error| error.to_string())?;
        if report.reason != Reason::Step {
            break;
        }
    }
    Ok(show::stop(session))
}

fn once(session: &mut Session<'_>, arguments: &str, step: Step, direction: Direction) -> Answer {
    nothing(arguments)?;
    if let Some(why) = session.refuses(step) {
        return Err(why);
    }
    times(session, "", step, direction)
}

pub(super) fn resume(session: &mut Session<'_>, arguments: &str) -> Answer {
    nothing(arguments)?;
    session.resume(Forward).map_err(|error| error.to_string())?;
    Ok(show::stop(session))
}

pub(super) fn back(session: &mut Session<'_>, arguments: &str) -> Answer {
    nothing(arguments)?;
    session.resume(Backward).map_err(|error| error.to_string())?;
    Ok(show::stop(session))
}

pub(super) fn line(session: &mut Session<'_>, count: &str) -> Answer {
    times(session, count, Step::Line, Forward)
}

pub(super) fn over(session: &mut Session<'_>, count: &str) -> Answer {
    times(session, count, Step::Over, Forward)
}

pub(super) fn issue(session: &mut Session<'_>, count: &str) -> Answer {
    times(session, count, Step::Issue, Forward)
}

pub(super) fn out(session: &mut Session<'_>, arguments: &str) -> Answer {
    once(session, arguments, Step::Out, Forward)
}

pub(super) fn rejoin(session: &mut Session<'_>, arguments: &str) -> Answer {
    once(session, arguments, Step::Rejoin, Forward)
}

pub(super) fn barrier(session: &mut Session<'_>, arguments: &str) -> Answer {
    once(session, arguments, Step::Barrier, Forward)
}

pub(super) fn back_line(session: &mut Session<'_>, count: &str) -> Answer {
    times(session, count, Step::Line, Backward)
}

pub(super) fn back_over(session: &mut Session<'_>, count: &str) -> Answer {
    times(session, count, Step::Over, Backward)
}

pub(super) fn back_issue(session: &mut Session<'_>, count: &str) -> Answer {
    times(session, count, Step::Issue, Backward)
}

pub(super) fn back_out(session: &mut Session<'_>, arguments: &str) -> Answer {
    once(session, arguments, Step::Out, Backward)
}

pub(super) fn back_rejoin(session: &mut Session<'_>, arguments: &str) -> Answer {
    once(session, arguments, Step::Rejoin, Backward)
}

pub(super) fn back_barrier(session: &mut Session<'_>, arguments: &str) -> Answer {
    once(session, arguments, Step::Barrier, Backward)
}

pub(super) fn goto(session: &mut Session<'_>, position: &str) -> Answer {
    let position = number(position).ok_or("write the number of an issue: rewind 100")?;
    session.goto(position).map_err(|error| error.to_string())?;
    Ok(show::stop(session))
}

pub(super) fn restart(session: &mut Session<'_>, arguments: &str) -> Answer {
    nothing(arguments)?;
    session.goto(0).map_err(|error| error.to_string())?;
    Ok(show::stop(session))
}

pub(super) fn follow(session: &mut Session<'_>, whose: &str) -> Answer {
    session.debugger.follow = match whose {
        "lane" => Follow::Lane,
        "warp" => Follow::Warp,
        "launch" => Follow::Launch,
        _ => return Err("write lane, warp or launch".to_owned()),
    };
    Ok(format!("steps count instructions of the {whose}\n"))
}
