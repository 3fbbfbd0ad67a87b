//! What an exploration found: findings, and a table for people.

use std::fmt::Write as _;

use findings::{AccessRecord, CheckSet, Finding, Findings, Kind, Location};
use machines::End;
use serde_json::{Value, json};
use study::checks::of_stop;

use crate::blame::Reversed;
use crate::explore::{Class, Exploration, How, Launched, Row, Witness};
use crate::outcome::Ending;
use crate::recorded::RecordedSchedule;
use crate::trace::{Store, Touch};

/// Choices of a schedule that are listed with a finding.
const MOST_LISTED: usize = 8;
/// Differences of results that are listed with a finding.
const MOST_DIFFERENCES: usize = 4;

/// Returns the findings of an exploration, not in order yet.
#[must_use]
pub fn conclude(exploration: &Exploration) -> Findings {
    let checks = CheckSet::parse("schedule").unwrap_or_default();
    let mut out = Findings::new(exploration.program.clone(), checks);
    let stops = [
        (Ending::Hang, Kind::Hang, Kind::OrderDependentHang, &exploration.hang),
        (Ending::Fault, Kind::Fault, Kind::OrderDependentFault, &exploration.fault),
    ];
    let ran = || exploration.rows.iter().filter(|row| !row.classes.is_empty());
    for (ending, always, sometimes, witness) in stops {
        if let Some(witness) = witness {
            out.add(stop_finding(exploration, sometimes, witness, ending));
        } else if ran().count() > 0 && ran().all(|row| row.all(ending)) {
            let class = ran().flat_map(|row| &row.classes).next();
            class
                .and_then(|class| finding_of(class, always, &exploration.launched))
                .into_iter()
                .for_each(|finding| out.add(finding));
        }
    }
    if let Some(witness) = &exploration.result {
        out.add(result_finding(exploration, witness));
    }
    out
}

/// The fault or hang of a run as a finding.
fn finding_of(class: &Class, kind: Kind, launched: &Launched) -> Option<Finding> {
    let (End::Fault(stop) | End::Hang(stop)) = class.run.ends.last()? else { return None };
    let launch = class.outcome.launch;
    let kernel = launched.kernels.get(launch).cloned().unwrap_or_default();
    Some(of_stop(kind, stop, (launch, kernel)))
}

fn stop_finding(
    exploration: &Exploration,
    kind: Kind,
    witness: &Witness,
    ending: Ending,
) -> Finding {
    let launched = &exploration.launched;
    let mut found = finding_of(&witness.class, kind, launched)
        .unwrap_or_else(|| finding(kind, &witness.class, launched));
    let what = found.message.clone();
    found.message = match ending {
        Ending::Hang => format!("whether the kernel ends depends on the schedule: {what}"),
        _ => format!("whether the kernel faults depends on the schedule: {what}"),
    };
    let mut causes = counts(exploration, ending);
    causes.extend(fairness(exploration, ending));
    if let Some(pair) = &witness.reversed {
        let [first, second] = pair.sides(launched);
        causes.push(format!(
            "here {} comes before {}; it ends where they come in the other order",
            described(&first),
            described(&second)
        ));
    }
    causes.append(&mut found.causes);
    causes.extend(listed(&witness.class.schedule));
    found.causes = causes;
    kind.row().cure.clone_into(&mut found.cure);
    found
}

fn result_finding(exploration: &Exploration, witness: &Witness) -> Finding {
    let launched = &exploration.launched;
    let mut found = finding(Kind::OrderDependentResult, &witness.class, launched);
    "the results depend on the schedule".clone_into(&mut found.message);
    if let Some(pair) = &witness.reversed {
        let [first, second] = pair.sides(launched);
        let places = [first.location.describe(), second.location.describe()];
        let at = |access: &AccessRecord, place: &str| format!("the {} at {place}", access.name());
        found.message = if places[0] == places[1] {
            format!("the results depend on the order of threads at {}", places[0])
        } else {
            format!(
                "the results depend on the order of {} and {}",
                at(&first, &places[0]),
                at(&second, &places[1])
            )
        };
        found.kernel = launched.kernels.get(pair.launch).cloned().unwrap_or_default();
        found.launch = Some(pair.launch);
        found.site = Some(first.site.clone());
        found.location = first.location.clone();
        found.causes.push(format!(
            "here {} comes before {}, in another schedule after it",
            described(&first),
            described(&second)
        ));
        found.accesses = vec![first, second];
    }
    for difference in witness.differences.iter().take(MOST_DIFFERENCES) {
        found.causes.push(format!("`{}`: {}", difference.what, difference.text));
    }
    found.causes.extend(results(exploration));
    found.causes.extend(listed(&witness.class.schedule));
    found
}

/// A finding without a place.
fn finding(kind: Kind, class: &Class, launched: &Launched) -> Finding {
    let launch = class.outcome.launch;
    Finding {
        kind,
        code: class.outcome.code.into(),
        kernel: launched.kernels.get(launch).cloned().unwrap_or_default(),
        launch: Some(launch),
        message: String::new(),
        location: Location::default(),
        site: None,
        accesses: Vec::new(),
        related: None,
        causes: Vec::new(),
        cure: kind.row().cure.to_owned(),
        count: 1,
    }
}

impl Reversed {
    /// The accesses as findings have them.
    fn sides(&self, launched: &Launched) -> [AccessRecord; 2] {
        [&self.first, &self.second].map(|(pc, touch)| self.side(launched, *pc, touch))
    }

    fn side(&self, launched: &Launched, pc: u64, touch: &Touch) -> AccessRecord {
        let code = launched.code.get(self.launch);
        let place = code.and_then(|code| code.get(usize::try_from(pc).ok()?));
        let shape = launched.shapes.get(self.launch).copied().unwrap_or_default();
        AccessRecord {
            kind: touch.kind,
            space: touch.space(),
            address: touch.address,
            value: touch.value.filter(|_| !matches!(touch.store, Store::Host(_))),
            site: shape.site_of(touch.thread.cta, touch.thread.index),
            location: place.map(checks::probe::Place::location).unwrap_or_default(),
        }
    }
}

fn described(access: &AccessRecord) -> String {
    format!(
        "the {} `{}` at {} by {}",
        access.name(),
        access.location.text,
        access.location.describe(),
        access.site
    )
}

/// The rows of each mechanism, in order.
fn mechanisms(exploration: &Exploration) -> Vec<(&str, Vec<&Row>)> {
    let mut out: Vec<(&str, Vec<&Row>)> = Vec::new();
    for row in exploration.rows.iter().filter(|row| !row.classes.is_empty()) {
        match out.iter_mut().find(|(name, _)| *name == row.mechanism) {
            Some((_, rows)) => rows.push(row),
            None => out.push((&row.mechanism, vec![row])),
        }
    }
    out
}

/// Says for each mechanism in how many orders and schedules the kernel does not end so.
fn counts(exploration: &Exploration, ending: Ending) -> Vec<String> {
    let count = |rows: &[&Row]| {
        let classes = rows.iter().flat_map(|row| &row.classes);
        let such = classes.filter(|class| class.outcome.ending == ending);
        such.map(|class| class.count).sum::<u64>()
    };
    let verb = if ending == Ending::Hang { "ends" } else { "does not fault" };
    let line = |(name, rows): (&str, Vec<&Row>)| {
        let schedules: u64 = rows.iter().map(|row| row.schedules).sum();
        let without = |row: &&&Row| row.classes.iter().all(|c| c.outcome.ending != ending);
        let orders = rows.iter().filter(without).count();
        let in_schedules =
            format!("{verb} in {} of {schedules} schedules", schedules - count(&rows));
        match rows.len() {
            1 => format!("under `{name}` it {in_schedules}"),
            n => format!(
                "under `{name}` it {verb} under {orders} of {n} orders of branch sides, and \
                 {in_schedules}"
            ),
        }
    };
    mechanisms(exploration).into_iter().map(line).collect()
}

/// Says that lanes have to make progress, if that is what tells hangs from ends.
fn fairness(exploration: &Exploration, ending: Ending) -> Option<String> {
    let all = mechanisms(exploration);
    let ends = |rows: &[&Row]| {
        rows.iter().all(|row| row.classes.iter().all(|c| c.outcome.ending != Ending::Hang))
    };
    let fair = all.iter().find(|(name, rows)| *name == "serial" && ends(rows));
    let unfair = all.iter().any(|(name, rows)| *name != "serial" && !ends(rows));
    let needed = ending == Ending::Hang && fair.is_some() && unfair;
    needed.then(|| {
        "fair scheduling of lanes is needed: it ends where each lane makes progress whatever the \
         others of its warp do, as devices promise from compute capability 7.0 on"
            .to_owned()
    })
}

/// Says how many results there are.
fn results(exploration: &Exploration) -> Vec<String> {
    let line = |(name, rows): (&str, Vec<&Row>)| {
        let classes = || rows.iter().flat_map(|row| &row.classes);
        let done = || classes().filter(|class| class.outcome.ending == Ending::Done);
        let mut results: Vec<u64> = done().map(|class| class.outcome.result).collect();
        results.sort_unstable();
        results.dedup();
        let schedules: u64 = done().map(|class| class.count).sum();
        format!("under `{name}`: {} different results in {schedules} schedules", results.len())
    };
    mechanisms(exploration).into_iter().map(line).collect()
}

/// The choices of a schedule in words.
fn listed(schedule: &RecordedSchedule) -> Vec<String> {
    let RecordedSchedule { mechanism, order, deviations, .. } = schedule;
    let order = order.as_ref().map_or_else(String::new, |order| format!(", order `{order}`"));
    let under = format!("mechanism `{mechanism}`{order}");
    if deviations.is_empty() {
        return vec![format!("schedule: the canonical one under {under}")];
    }
    let mut text = format!("schedule under {under}, {} choices:", deviations.len());
    for deviation in deviations.iter().take(MOST_LISTED) {
        let _ = write!(text, "\n  {deviation}");
    }
    if deviations.len() > MOST_LISTED {
        let _ = write!(text, "\n  ...");
    }
    vec![text]
}

/// Renders the rows as a table, with a line that sums them up.
#[must_use]
pub fn to_text(exploration: &Exploration) -> String {
    let mut lines = vec![["mechanism", "order", "schedules", "outcomes"].map(str::to_owned)];
    for row in &exploration.rows {
        let order = row.order.as_deref().unwrap_or("-").to_owned();
        if let Some(why) = &row.refused {
            lines.push([row.mechanism.clone(), order, "-".to_owned(), format!("refused: {why}")]);
            continue;
        }
        let extent = match (row.complete, row.bounded, exploration.how) {
            (true, true, How::Exhaustive(Some(bound))) => {
                format!(" (all of at most {bound} preemptions)")
            }
            (true, ..) => " (all)".to_owned(),
            (false, _, How::Exhaustive(_)) => " (not all)".to_owned(),
            (false, _, How::Random) => " (random)".to_owned(),
        };
        lines.push([
            row.mechanism.clone(),
            order,
            format!("{}{extent}", row.schedules),
            outcomes(row),
        ]);
    }
    let width = |column: usize| lines.iter().map(|l| l[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2].map(width);
    let mut out = String::new();
    for [mechanism, order, schedules, outcomes] in &lines {
        let [a, b, c] = widths;
        let _ = writeln!(out, "{mechanism:<a$}  {order:<b$}  {schedules:<c$}  {outcomes}");
    }
    let _ = writeln!(out, "{}", verdict(exploration));
    out
}

/// Renders the rows as JSON: an object for each, with what ends how often.
#[must_use]
pub fn to_json(exploration: &Exploration) -> Value {
    let row = |row: &Row| {
        let outcomes = row.classes.iter().map(|Class { outcome, count, schedule, .. }| {
            json!({
                "end": outcome.code,
                "launch": outcome.launch,
                "line": outcome.line,
                "count": count,
                "schedule": schedule.to_string(),
            })
        });
        json!({
            "mechanism": row.mechanism,
            "order": row.order,
            "schedules": row.schedules,
            "complete": row.complete,
            "bounded": row.bounded,
            "refused": row.refused,
            "outcomes": outcomes.collect::<Vec<_>>(),
        })
    };
    exploration.rows.iter().map(row).collect()
}

/// The outcomes of a row: `12 done, 3 results; 2 hang (repeats)`.
fn outcomes(row: &Row) -> String {
    let mut parts = Vec::new();
    let done: Vec<&Class> =
        row.classes.iter().filter(|c| c.outcome.ending == Ending::Done).collect();
    if !done.is_empty() {
        let count: u64 = done.iter().map(|class| class.count).sum();
        let results =
            if done.len() > 1 { format!(", {} results", done.len()) } else { String::new() };
        parts.push(format!("{count} done{results}"));
    }
    let mut stops: Vec<(Ending, &str, u64)> = Vec::new();
    for Class { outcome, count, .. } in &row.classes {
        if outcome.ending == Ending::Done {
            continue;
        }
        match stops.iter_mut().find(|s| (s.0, s.1) == (outcome.ending, outcome.code)) {
            Some(known) => known.2 += count,
            None => stops.push((outcome.ending, outcome.code, *count)),
        }
    }
    for (ending, code, count) in stops {
        let what = if ending == Ending::Hang { "hang" } else { "fault" };
        parts.push(format!("{count} {what} ({code})"));
    }
    parts.join("; ")
}

/// The verdict in one line.
fn verdict(exploration: &Exploration) -> String {
    let mut parts = Vec::new();
    for (witness, ending) in
        [(&exploration.hang, Ending::Hang), (&exploration.fault, Ending::Fault)]
    {
        if witness.is_some() {
            parts.extend(counts(exploration, ending));
            parts
                .extend(fairness(exploration, ending).map(|_| "fair scheduling needed".to_owned()));
        }
    }
    if exploration.result.is_some() {
        parts.push("the results depend on the schedule".to_owned());
    }
    if parts.is_empty() {
        let same = |ending| exploration.rows.iter().all(|r| r.classes.is_empty() || r.all(ending));
        parts.push(match () {
            () if same(Ending::Done) => "the same results in every schedule".to_owned(),
            () if same(Ending::Hang) => "hangs in every schedule".to_owned(),
            () => "faults in every schedule".to_owned(),
        });
    }
    parts.join("; ")
}
