//! Verdicts in one sentence.

use machines::Stop;

use super::comparison::Row;
use super::verdict::Verdict;
use checks::race::{RacingAccess, access_name};

/// Explains the verdict in one sentence: the hang, the instruction that exposes the schedule, or
/// the accesses that race.
pub(super) fn sentence(row: &Row) -> Option<String> {
    match row.verdict {
        Verdict::Hang => Stop::sentence(row.report.as_ref()?).map(str::to_owned),
        Verdict::OrderDependent => {
            let (difference, (dependence, place)) =
                (row.differences.first()?, row.witnesses.first()?);
            Some(format!(
                "order-dependent: `{}` differs from serial, and `{}` at {} shows the schedule ({})",
                difference.what,
                place.text,
                place.describe(),
                dependence.name()
            ))
        }
        Verdict::Racy => {
            let race = row.races.first()?;
            let side = |side: &RacingAccess| {
                let (kind, place) = (access_name(side.kind), &side.place);
                let (text, at) = (&place.text, place.describe());
                format!("the {kind} `{text}` at {at} by {}", side.site)
            };
            Some(format!("racy: nothing orders {} and {}", side(&race.first), side(&race.second)))
        }
        _ => None,
    }
}
