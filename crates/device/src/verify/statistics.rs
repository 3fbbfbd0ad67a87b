//! The suite of divergence timings: what branches, switches and loops cost on the device, beside
//! the issues that `convergence-barriers` predicts.
//!
//! One warp reads `%clock64` before and after a body, and at the beginning of each side of a
//! branch. The report shows ratios to the first variant, without what an empty body costs, and
//! lists those that are far from the ratios of our issues. Each variant is launched twice, so that
//! the second time finds its code in the caches.

use std::fmt::Write as _;
use std::path::Path;

use lab::run::{Job, Variant};
use machines::LaunchMonitor;
use machines::stats::LaunchStats;

use super::{Case, CaseResult, Differing, Kind, Suite, Verdict, VerifyError, at};
use crate::record::RunRecord;

/// What a case is worth, beside those of other suites.
const WORTH: u32 = 80;

/// How far a ratio of times may be from that of issues: a quarter, since branches cost cycles that
/// issues do not show.
const TOLERANCE: f64 = 0.25;

/// The mechanism whose issues are reported.
pub(super) const MECHANISM: &str = "convergence-barriers";

/// Numbers that each lane stores: the clock before the body, at the beginning of its side (0 if it
/// has none), and behind the body.
const CLOCKS: usize = 3;

/// Lanes of the warp.
const LANES: usize = 32;

/// Bodies that are compared with each other. The first variant of each is empty, the second one is
/// what the others are measured by.
struct Family {
    name: &'static str,
    variants: Vec<(String, String)>,
}

/// Dependent instructions, with a constant that tells sides apart.
fn work(count: usize, constant: usize) -> String {
    format!("mad.lo.u32 %x, %x, %x, {};\n", 2 * constant + 1).repeat(count)
}

const STAMP: &str = "mov.u64 %c1, %clock64;\n";

/// A branch with some lanes on the side that jumps.
pub(super) fn sides(jumping: usize, then: usize, otherwise: usize) -> String {
    format!(
        "setp.lt.u32 %p0, %t, {jumping};\n@%p0 bra THEN;\n{STAMP}{}bra JOIN;\n\
         THEN:\n{STAMP}{}JOIN:\n",
        work(otherwise, 1),
        work(then, 2)
    )
}

pub(super) fn switch(ways: usize) -> String {
    let names: Vec<String> = (0..ways).map(|arm| format!("ARM{arm}")).collect();
    let mut body = format!(
        "and.b32 %y, %t, {};\nTABLE: .branchtargets {};\nbrx.idx %y, TABLE;\n",
        ways - 1,
        names.join(", ")
    );
    for (arm, name) in names.iter().enumerate() {
        let _ = write!(body, "{name}:\n{}bra JOIN;\n", work(32, arm));
    }
    body + "JOIN:\n"
}

/// A loop of as many trips as `%y` says, and instructions behind it.
pub(super) fn trips(count: &str) -> String {
    format!(
        "{count}\nAGAIN:\n{}sub.u32 %y, %y, 1;\nsetp.ne.u32 %p0, %y, 0;\n@%p0 bra AGAIN;\n{}",
        work(8, 1),
        work(64, 2)
    )
}

/// Branches by the bits of the lane's number, one in the other.
fn nested(depth: usize, label: &str) -> String {
    let Some(inner) = depth.checked_sub(1) else { return work(16, label.len()) };
    let (then, otherwise) =
        (nested(inner, &format!("{label}t")), nested(inner, &format!("{label}e")));
    format!(
        "and.b32 %y, %t, {};\nsetp.ne.u32 %p0, %y, 0;\n@%p0 bra {label}THEN;\n\
         {otherwise}bra {label}JOIN;\n{label}THEN:\n{then}{label}JOIN:\n",
        1 << inner
    )
}

fn families() -> Vec<Family> {
    let family = |name, variants: Vec<(String, String)>| {
        let empty = ("empty".to_owned(), String::new());
        Family { name, variants: [vec![empty], variants].concat() }
    };
    vec![
        family(
            "two-sides",
            [0, 1, 8, 16, 31, 32].map(|n| (format!("{n} lanes jump"), sides(n, 64, 64))).to_vec(),
        ),
        family(
            "unequal-sides",
            [(16, 16), (64, 16), (16, 64)]
                .map(|(then, other)| {
                    let name = format!("16 lanes jump to {then}, 16 fall into {other}");
                    (name, sides(16, then, other))
                })
                .to_vec(),
        ),
        family(
            "larger-side",
            [(16, "16"), (4, "4"), (28, "28")]
                .map(|(n, lanes)| (format!("{lanes} lanes jump"), sides(n, 32, 32)))
                .to_vec(),
        ),
        family("switch", [1, 2, 4, 8, 16, 32].map(|k| (format!("{k} ways"), switch(k))).to_vec()),
        family(
            "behind-a-loop",
            vec![
                ("16 trips".to_owned(), trips("mov.u32 %y, 16;")),
                (
                    "1 to 16 trips by lane".to_owned(),
                    trips("shr.u32 %y, %t, 1;\nadd.u32 %y, %y, 1;"),
                ),
            ],
        ),
        family(
            "nested",
            (0..=5).map(|depth| (format!("{depth} deep"), nested(depth, "B"))).collect(),
        ),
        family(
            "exited-lanes",
            vec![
                ("no lane exits".to_owned(), work(64, 1)),
                (
                    "half of the lanes exit".to_owned(),
                    format!("setp.lt.u32 %p0, %t, 16;\n@%p0 exit;\n{}", work(64, 1)),
                ),
            ],
        ),
    ]
}

fn kernel(number: usize, body: &str) -> String {
    format!(
        ".visible .entry k{number}(.param .u64 p_out)\n{{\n.reg .u32 %t, %x, %y, %s;\n\
         .reg .u64 %a, %i, %c0, %c1, %c2;\n.reg .pred %p0;\n.shared .align 4 .u32 sm[{LANES}];\n\
         mov.u32 %t, %tid.x;\nmul.wide.u32 %i, %t, {};\nld.param.u64 %a, [p_out];\n\
         add.u64 %a, %a, %i;\nmov.u64 %c1, 0;\nmov.u32 %s, sm;\nmad.lo.u32 %s, %t, 4, %s;\n\
         st.volatile.shared.u32 [%s], %t;\nmov.u64 %c0, %clock64;\n\
         ld.volatile.shared.u32 %x, [%s];\n{body}st.volatile.shared.u32 [%s], %x;\n\
         mov.u64 %c2, %clock64;\nst.global.u64 [%a], %c0;\nst.global.u64 [%a+8], %c1;\n\
         st.global.u64 [%a+16], %c2;\nret;\n}}\n",
        8 * CLOCKS
    )
}

pub(super) fn cases(folder: &Path) -> Result<Vec<Case>, VerifyError> {
    let folder = folder.join("cases").join("statistics");
    std::fs::create_dir_all(&folder).map_err(at(&folder))?;
    families().iter().map(|family| write(&folder, family)).collect()
}

fn write(folder: &Path, family: &Family) -> Result<Case, VerifyError> {
    let name = format!("statistics-{}", family.name);
    let (program, launch_file) =
        (folder.join(format!("{name}.ptx")), folder.join(format!("{name}.toml")));
    let mut text = ".version 7.0\n.target sm_70\n.address_size 64\n".to_owned();
    let mut toml = format!(
        "schema = 1\nmachine = \"ptx\"\nmodule = \"{name}.ptx\"\n\n[run]\n\
         mechanism = \"{MECHANISM}\"\n\n[buffers]\n\
         clocks = \"u64[{},{LANES},{CLOCKS}]:zeros\"\n",
        family.variants.len()
    );
    for (number, (_, body)) in family.variants.iter().enumerate() {
        text += &kernel(number, body);
    }
    for number in (0..family.variants.len()).chain(0..family.variants.len()) {
        let _ = write!(
            toml,
            "\n[[launch]]\nkernel = \"k{number}\"\ngrid = [1]\nblock = [{LANES}]\n\
             args = [\"&clocks+{}\"]\n",
            8 * number * LANES * CLOCKS
        );
    }
    std::fs::write(&program, text).map_err(at(&program))?;
    std::fs::write(&launch_file, toml).map_err(at(&launch_file))?;
    Ok(Case {
        name,
        suite: Suite::Statistics,
        kind: Kind::Compared,
        value: WORTH,
        launch_file,
        labels: Vec::new(),
        parts: family.variants.iter().map(|(label, _)| label.clone()).collect(),
    })
}

/// Clocks of a variant.
struct Timing {
    cycles: u64,
    /// How much later the side of lane 31 began than that of lane 0, in cycles.
    later: Option<i64>,
}

/// Whether a measured ratio is as expected.
pub(super) fn is_near(device: f64, ours: f64) -> bool {
    (device - ours).abs() <= TOLERANCE * ours.abs()
}

/// The statistics of our run under the mechanism; `None` if the job cannot run.
pub(super) fn launches(job: &mut Job, monitor: &mut dyn LaunchMonitor) -> Option<Vec<LaunchStats>> {
    let variant = Variant::of(MECHANISM, job.warp_size());
    job.run_variant(&variant, monitor).ok().map(|run| run.stats.launches)
}

/// Cycles and issues of each variant, and their ratios to those of the first one.
pub(super) fn result(
    case: &Case,
    job: &mut Job,
    record: &RunRecord,
    monitor: &mut dyn LaunchMonitor,
) -> CaseResult {
    let clocks = record.buffers.iter().find(|b| b.name == "clocks");
    let clocks: Vec<u64> = clocks.map_or_else(Vec::new, |b| b.contents.iter().collect());
    let timings: Vec<Timing> = clocks.chunks(LANES * CLOCKS).map(timing).collect();
    let ours = launches(job, monitor).unwrap_or_default();
    let issues: Vec<u64> = ours.iter().map(|launch| launch.counts.slots.issues()).collect();
    let cycles: Vec<u64> = timings.iter().map(|timing| timing.cycles).collect();
    let shown = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let as_text = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |r| format!("{r:.2}"));
    let (mut notes, mut differences, mut compared) = (Vec::new(), Vec::new(), 0);
    for (number, label) in case.parts.iter().enumerate().skip(1) {
        let (device, ours) = (ratio(&cycles, number), ratio(&issues, number));
        let values = format!(
            "{} cycles, ratio {}; {MECHANISM}: {} issues, ratio {}",
            shown(above(&cycles, number)),
            as_text(device),
            shown(above(&issues, number)),
            as_text(ours)
        );
        if let (Some(device), Some(ours)) = (device, ours) {
            compared += 1;
            if !is_near(device, ours) {
                differences.push(Differing::number(label.clone(), &values));
            }
        }
        let later = timings.get(number).and_then(|timing| timing.later);
        notes.push(format!("{label}: {values}{}", first_side(later)));
    }
    let measured = CaseResult::measured(case, record, notes);
    measured.with_differences(Verdict::TimingDiffers, compared, differences)
}

/// What a variant costs beyond an empty body.
fn above(costs: &[u64], number: usize) -> Option<u64> {
    Some(costs.get(number)?.saturating_sub(*costs.first()?))
}

/// The cost of a variant by that of the first one.
fn ratio(costs: &[u64], number: usize) -> Option<f64> {
    let unit = above(costs, 1).filter(|&unit| unit > 0)?;
    Some(above(costs, number)? as f64 / unit as f64)
}

/// Which side of a branch begins first.
fn first_side(later: Option<i64>) -> String {
    match later {
        Some(later) if later > 0 => format!("; the side that jumps begins {later} cycles earlier"),
        Some(later) if later < 0 => {
            format!("; the side that falls through begins {} cycles earlier", -later)
        }
        _ => String::new(),
    }
}

/// From the first clock of the warp to the last one.
fn timing(clocks: &[u64]) -> Timing {
    let ended = || clocks.chunks(CLOCKS).filter(|lane| lane[2] != 0);
    let first = ended().map(|lane| lane[0]).min().unwrap_or(0);
    let last = ended().map(|lane| lane[2]).max().unwrap_or(0);
    let stamp = |lane: usize| clocks.get(lane * CLOCKS + 1).copied().filter(|&clock| clock != 0);
    let later = stamp(0).zip(stamp(LANES - 1)).map(|(a, b)| b.wrapping_sub(a).cast_signed());
    Timing { cycles: last.saturating_sub(first), later }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_lanes_that_ended() {
        let mut clocks = [100, 0, 300].repeat(LANES);
        clocks[..3].copy_from_slice(&[0, 0, 0]);
        clocks[3..6].copy_from_slice(&[90, 120, 310]);
        let found = timing(&clocks);
        assert_eq!((found.cycles, found.later), (220, None));
        clocks[..3].copy_from_slice(&[90, 150, 310]);
        clocks[3 * LANES - 2] = 120;
        assert_eq!(timing(&clocks).later, Some(-30));
    }
}
