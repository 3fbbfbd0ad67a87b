//! Counters of the device beside our statistics: sectors of global memory, passes over the banks of
//! shared memory, lanes of an instruction.
//!
//! NVIDIA's profiler `ncu`, if it is in `PATH`, runs the worker process and writes what it has
//! counted as CSV: one line for each launch and metric. Counts of memory are compared exactly; a
//! device executes other instructions than PTX has, so that its lanes of an instruction are
//! compared as a ratio.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use machines::LaunchMonitor;
use machines::stats::LaunchStats;
use simt::counts::Traffic;

use super::prepare::prepare;
use super::statistics::{MECHANISM, is_near, launches, sides, switch, trips};
use super::{Case, CaseResult, Differing, Kind, Plan, Suite, Verdict, VerifyError, at};
use crate::record::{RunEnd, RunRecord};
use crate::request::{Request, Run};
use crate::supervise::{self, Patience, WorkerCommand};

/// What the case is worth, beside those of other suites.
const WORTH: u32 = 85;

/// The profiler's program.
const PROFILER: &str = "ncu";

/// How long a profiled step may take: each kernel is run several times.
const STEP: Duration = Duration::from_secs(120);

/// Words of the buffer that is read.
const WORDS: usize = 2048;

/// A metric with the count of ours that it has to equal.
struct Count {
    metric: &'static str,
    /// The accesses that it counts: opcode and space.
    of: (&'static str, &'static str),
    ours: fn(&Traffic) -> u64,
}

const COUNTS: [Count; 6] = [
    Count {
        metric: "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
        of: ("ld", ".global"),
        ours: |t| t.global_requests,
    },
    Count {
        metric: "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        of: ("ld", ".global"),
        ours: |t| t.global_sectors,
    },
    Count {
        metric: "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
        of: ("st", ".global"),
        ours: |t| t.global_requests,
    },
    Count {
        metric: "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
        of: ("st", ".global"),
        ours: |t| t.global_sectors,
    },
    Count {
        metric: "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
        of: ("ld", ".shared"),
        ours: |t| t.shared_passes,
    },
    Count {
        metric: "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
        of: ("ld", ".shared"),
        ours: |t| t.bank_conflicts,
    },
];

/// Instructions executed by warps, and by threads.
const EXECUTED: [&str; 2] = ["smsp__inst_executed.sum", "smsp__thread_inst_executed.sum"];

/// Reported beside our divergent branches.
const DIVERGENT: &str = "smsp__sass_branch_targets_threads_divergent.sum";

/// Labels and bodies of the kernels. `%t` is the lane, `%i` the address of the buffer that is read;
/// the body leaves its result in `%x`.
fn bodies() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (stride, offset) in [(4, 0), (8, 0), (32, 0), (128, 0), (0, 0), (4, 16)] {
        let body =
            format!("mad.wide.u32 %a, %t, {stride}, %i;\nld.global.u32 %x, [%a+{offset}];\n");
        all.push((format!("global words {stride} bytes apart from byte {offset} on"), body));
    }
    all.push((
        "global pairs of words".to_owned(),
        "mad.wide.u32 %a, %t, 8, %i;\nld.global.v2.u32 {%x, %y}, [%a];\nadd.u32 %x, %x, %y;\n"
            .to_owned(),
    ));
    for stride in [4, 32] {
        let body = format!("mad.wide.u32 %a, %t, {stride}, %i;\nst.global.u32 [%a], %t;\n");
        all.push((format!("global stores {stride} bytes apart"), body));
    }
    for stride in [0, 4, 8, 16, 32, 64, 128, 132] {
        let body = format!("mad.lo.u32 %s, %t, {stride}, %s;\nld.volatile.shared.u32 %x, [%s];\n");
        all.push((format!("shared words {stride} bytes apart"), body));
    }
    all.push((
        "shared pairs of words".to_owned(),
        "mad.lo.u32 %s, %t, 8, %s;\nld.volatile.shared.v2.u32 {%x, %y}, [%s];\n\
         add.u32 %x, %x, %y;\n"
            .to_owned(),
    ));
    all.push(("16 lanes jump".to_owned(), sides(16, 64, 64)));
    all.push(("a switch of 8 ways".to_owned(), switch(8)));
    all.push(("1 to 16 trips by lane".to_owned(), trips("shr.u32 %y, %t, 1;\nadd.u32 %y, %y, 1;")));
    all
}

fn kernel(number: usize, body: &str) -> String {
    format!(
        ".visible .entry k{number}(.param .u64 p_out, .param .u64 p_in)\n{{\n\
         .reg .u32 %t, %x, %y, %s;\n.reg .u64 %a, %i, %o, %c1;\n.reg .pred %p0;\n\
         .shared .align 16 .b8 sm[{}];\nmov.u32 %t, %tid.x;\nmov.u32 %x, %t;\n\
         mov.u32 %s, sm;\nld.param.u64 %o, [p_out];\nmad.wide.u32 %o, %t, 4, %o;\n\
         ld.param.u64 %i, [p_in];\n{body}st.global.u32 [%o], %x;\nret;\n}}\n",
        4 * WORDS
    )
}

/// The case: skipped where there is no profiler.
pub(super) fn case(folder: &Path) -> Result<Case, VerifyError> {
    let name = "statistics-counters";
    if profiler().is_none() {
        let why = format!(
            "NVIDIA's profiler `{PROFILER}` is not in PATH: counters of the device were not \
             compared"
        );
        return Ok(Case::skipped(Suite::Statistics, name, WORTH, why));
    }
    let folder = folder.join("cases").join("statistics");
    let (program, launch_file) =
        (folder.join(format!("{name}.ptx")), folder.join(format!("{name}.toml")));
    let mut text = ".version 7.0\n.target sm_70\n.address_size 64\n".to_owned();
    let mut toml = format!(
        "schema = 1\nmachine = \"ptx\"\nmodule = \"{name}.ptx\"\n\n[run]\n\
         mechanism = \"{MECHANISM}\"\n\n[buffers]\nout = \"u32[32]:zeros\"\n\
         in = \"u32[{WORDS}]:zeros\"\n"
    );
    let bodies = bodies();
    for (number, (_, body)) in bodies.iter().enumerate() {
        text += &kernel(number, body);
        let _ = write!(
            toml,
            "\n[[launch]]\nkernel = \"k{number}\"\ngrid = [1]\nblock = [32]\n\
             args = [\"&out\", \"&in\"]\n"
        );
    }
    std::fs::write(&program, text).map_err(at(&program))?;
    std::fs::write(&launch_file, toml).map_err(at(&launch_file))?;
    Ok(Case {
        name: name.to_owned(),
        suite: Suite::Statistics,
        kind: Kind::Profiled,
        value: WORTH,
        launch_file,
        labels: Vec::new(),
        parts: bodies.into_iter().map(|(label, _)| label).collect(),
    })
}

/// The profiler's file.
fn profiler() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(PROFILER)).find(|file| file.is_file())
}

/// Runs the case under the profiler and here.
pub(super) fn result(plan: &Plan, case: &Case, monitor: &mut dyn LaunchMonitor) -> CaseResult {
    let counted = prepare(case).and_then(|(job, run)| Ok((job, profile(plan, run)?)));
    let (mut job, (record, counts)) = match counted {
        Ok(counted) => counted,
        Err(why) => return CaseResult::unprepared(case, why),
    };
    if counts.len() != case.parts.len() {
        let (got, want) = (counts.len(), case.parts.len());
        let why = format!("the profiler counted {got} launches of {want}");
        return CaseResult::unprepared(case, why);
    }
    match launches(&mut job, monitor) {
        Some(ours) => compared(case, &record, &counts, &ours),
        None => CaseResult::unprepared(case, "the case cannot run here".to_owned()),
    }
}

/// What the profiler counted in one launch, by metric.
type Counts = BTreeMap<String, u64>;

/// Runs the worker under the profiler.
fn profile(plan: &Plan, run: Run) -> Result<(RunRecord, Vec<Counts>), String> {
    let profiler = profiler().ok_or_else(|| format!("`{PROFILER}` is not in PATH"))?;
    let log = plan.folder.join("counters.csv");
    let metrics: Vec<&str> =
        COUNTS.iter().map(|c| c.metric).chain(EXECUTED).chain([DIVERGENT]).collect();
    let options: [OsString; 5] = [
        "--csv".into(),
        "--log-file".into(),
        log.clone().into(),
        "--metrics".into(),
        metrics.join(",").into(),
    ];
    let worker = plan.worker.arguments.iter().cloned();
    let command = WorkerCommand {
        arguments: options
            .into_iter()
            .chain([plan.worker.program.clone().into()])
            .chain(worker)
            .collect(),
        program: profiler,
    };
    let patience = Patience { start: STEP, load: STEP, step: STEP };
    let request = Request { choice: plan.choice.clone(), runs: vec![run] };
    let mut ended = None;
    let end = supervise::run(&request, &command, patience, &mut |_, record| {
        ended = Some(record);
        true
    });
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    let told = text.lines().find_map(|line| line.strip_prefix("==ERROR== "));
    let told = told.map_or_else(String::new, |line| format!(": {line}"));
    match (end, ended) {
        (Ok(_), Some(record)) if record.end == RunEnd::Done && told.is_empty() => {
            Ok((record, read(&text)))
        }
        (Err(error), _) => Err(format!("the profiler failed: {error}{told}")),
        (Ok(_), Some(record)) => Err(format!("{}{told}", record.end.line())),
        (Ok(_), None) => Err(format!("the profiler gave nothing{told}")),
    }
}

/// The counts of each launch in the profiler's CSV; other lines are its messages.
fn read(text: &str) -> Vec<Counts> {
    let mut rows = text.lines().filter(|line| line.starts_with('"')).map(fields);
    let Some(head) = rows.next() else { return Vec::new() };
    let column = |name: &str| head.iter().position(|field| field == name);
    let (Some(id), Some(metric), Some(value)) =
        (column("ID"), column("Metric Name"), column("Metric Value"))
    else {
        return Vec::new();
    };
    let mut launches: BTreeMap<u64, Counts> = BTreeMap::new();
    for row in rows {
        let (Some(id), Some(metric), Some(value)) = (row.get(id), row.get(metric), row.get(value))
        else {
            continue;
        };
        // Thousands are parted, by a comma or by what the locale has.
        let digits: String = value.chars().filter(char::is_ascii_digit).collect();
        if let (Ok(id), Ok(count)) = (id.parse(), digits.parse()) {
            launches.entry(id).or_default().insert(metric.clone(), count);
        }
    }
    launches.into_values().collect()
}

/// The fields of a line of CSV.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => {
                if let Some(field) = fields.last_mut() {
                    field.push(c);
                }
            }
        }
    }
    fields
}

/// Our accesses of an opcode to a space.
fn traffic(stats: &LaunchStats, (opcode, space): (&str, &str)) -> Traffic {
    let mut sum = Traffic::default();
    let meant = |text: &str| {
        let head = text.split(' ').next().unwrap_or("");
        head.split('.').next() == Some(opcode) && head.contains(space)
    };
    for site in stats.sites.iter().filter(|site| meant(&site.text)) {
        sum.add(&site.traffic);
    }
    sum
}

/// Compares what the profiler counted with our statistics, launch by launch.
fn compared(
    case: &Case,
    record: &RunRecord,
    counts: &[Counts],
    ours: &[LaunchStats],
) -> CaseResult {
    let (mut compared, mut differences, mut notes) = (0, Vec::new(), Vec::new());
    for ((label, device), ours) in case.parts.iter().zip(counts).zip(ours) {
        let mut shown = Vec::new();
        for count in &COUNTS {
            let Some(&device) = device.get(count.metric) else { continue };
            let ours = (count.ours)(&traffic(ours, count.of));
            compared += 1;
            if device != ours {
                let what = format!("{label}: {}", count.metric);
                differences.push(Differing::number(what, &format!("device {device}, ours {ours}")));
            }
            if device != 0 || ours != 0 {
                shown.push(format!("{} {device}", count.metric));
            }
        }
        let executed = EXECUTED.map(|metric| device.get(metric).copied().filter(|&n| n > 0));
        if let [Some(warps), Some(threads)] = executed {
            let device = threads as f64 / warps as f64;
            let active = ours.counts.metric("avg_active_threads").unwrap_or(0.0);
            let values = format!("device {device:.2}, ours {active:.2}");
            compared += 1;
            if !is_near(device, active) {
                let what = format!("{label}: lanes of an instruction");
                differences.push(Differing::number(what, &values));
            }
            shown.push(format!("lanes of an instruction: {values}"));
        }
        if let Some(&device) = device.get(DIVERGENT).filter(|&&n| n > 0) {
            let ours = ours.counts.divergent_branches;
            shown.push(format!("{DIVERGENT} {device}; our divergent branches {ours}"));
        }
        notes.push(format!("{label}: {}", shown.join("; ")));
    }
    let agrees = CaseResult {
        notes,
        ms: record.launches.iter().map(|launch| launch.ms).sum(),
        ..CaseResult::new(case, Verdict::Agrees)
    };
    agrees.with_differences(Verdict::Differs, compared, differences)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_by_launch() {
        let text = "==PROF== Connected to process 7\n\
                    \"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\
                    \"0\",\"k0(int, int)\",\"a.sum\",\"inst\",\"1,024\"\n\
                    \"0\",\"k0(int, int)\",\"b.sum\",\"inst\",\"7\"\n\
                    \"1\",\"k1\",\"a.sum\",\"inst\",\"0\"\n";
        let found = read(text);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0]["a.sum"], found[0]["b.sum"], found[1]["a.sum"]), (1024, 7, 0));
        assert!(read("==ERROR== no counters").is_empty());
    }
}
