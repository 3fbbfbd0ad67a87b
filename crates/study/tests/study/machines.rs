//! Bundled kernels on several machines.

#![allow(clippy::print_stderr, reason = "ignored tests tell how far they are")]

use std::path::{Path, PathBuf};

use ::machines::{Isa, Unmonitored};
use isa::SourceMap;
use lab::run::{Job, JobParts, LoweredProgram, Settings};
use study::machines::{
    Equality, Figures, MachineComparison, Order, Outcome, compare, machines_named, to_html,
    to_json, to_text,
};

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels")
}

fn job(name: &str) -> Job {
    job_of(&kernels().join(name).join("launch.toml"))
}

fn job_of(path: &Path) -> Job {
    let mut sources = SourceMap::new();
    let name = path.display();
    let parts = JobParts::from_launch_file(path, None, &mut sources);
    let parts = parts.unwrap_or_else(|d| panic!("{name}: {:?}", d.iter().collect::<Vec<_>>()));
    Job::prepare(parts, &Settings::default(), &mut sources)
        .unwrap_or_else(|d| panic!("{name}: {:?}", d.iter().collect::<Vec<_>>()))
}

fn machines(names: &[&str]) -> Vec<&'static Isa> {
    names.iter().map(|name| ::machines::find(name).expect("a machine")).collect()
}

fn compared(name: &str, names: &[&str]) -> MachineComparison {
    let comparison = compare(&job(name), &machines(names), &mut Unmonitored);
    comparison.expect("the job runs").expect("nothing stops it")
}

fn ran(comparison: &MachineComparison) -> Vec<(&str, &Figures)> {
    let rows = comparison.rows.iter();
    rows.filter_map(|row| match &row.outcome {
        Outcome::Ran(figures) => Some((row.machine.as_str(), &**figures)),
        _ => None,
    })
    .collect()
}

#[test]
fn a_kernel_leaves_the_same_on_every_machine() {
    let comparison = compared("divergence/short_circuit", &["ptx", "linx", "pmask", "prf"]);
    assert!(comparison.sound(), "{}", to_text(&comparison));
    let rows = ran(&comparison);
    assert_eq!(rows.first().map(|row| row.0), Some("ptx"));
    let linx = rows.iter().find(|row| row.0 == "linx").expect("it runs there").1;
    assert_eq!(linx.equality, Equality::Equal);
    assert!(linx.lane_slots() > 0 && linx.used() <= linx.lane_slots());
    assert!(linx.masks.is_some_and(|masks| masks > 0), "{linx:?}");
}

#[test]
fn instructions_are_counted_by_line_of_the_source() {
    let comparison = compared("saxpy", &["linx"]);
    let rows = ran(&comparison);
    let lines = |figures: &Figures| -> Vec<String> {
        figures.lines.iter().map(|cost| cost.line.clone()).collect()
    };
    for (machine, figures) in &rows {
        let lines = lines(figures);
        assert!(lines.contains(&"saxpy.cu:7".to_owned()), "{machine}: {lines:?}");
        let sum: u64 = figures.lines.iter().map(|cost| cost.instructions).sum();
        assert!(sum > 0 && sum <= figures.instructions, "{machine}");
    }
}

#[test]
fn reports_are_valid_under_their_schema() {
    let comparison = compared("divergence/trip_count", &["linx", "prf"]);
    let value = to_json(&comparison);
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas/machines.schema.json");
    let text = std::fs::read_to_string(path).expect("the schema");
    let schema = serde_json::from_str(&text).expect("is JSON");
    let validator = jsonschema::validator_for(&schema).expect("is a schema");
    let errors: Vec<String> =
        validator.iter_errors(&value).map(|e| format!("{e} at {}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let page = to_html(&comparison);
    assert!(page.contains("id=\"machines\"") && page.contains("linx"), "{page}");
    assert!(!page.contains("http://") && !page.contains("<script src"), "loads nothing");
}

#[test]
fn what_a_machine_lacks_is_named_with_its_line() {
    let comparison = compared("printf", &["linx"]);
    let text = to_text(&comparison);
    assert!(comparison.sound(), "a refusal is no failure");
    assert!(text.contains("refused: `perfect`, line "), "{text}");
    assert!(text.contains("operation `printf`"), "{text}");
}

/// Ten parameters, and one of 16 bytes: LinxISA takes the address of all.
#[test]
fn parameters_that_do_not_fit_registers_go_through_memory() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("parameters_in_memory");
    std::fs::create_dir_all(&folder).expect("a folder");
    let words: Vec<String> = (0..8).map(|i| format!(".param .u32 w{i}")).collect();
    let sum: String = (0..8)
        .map(|i| format!("  ld.param.u32 %w, [w{i}];\n  mad.lo.u32 %r, %r, 3, %w;\n"))
        .collect();
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out, \
         .param .align 8 .b8 four[16], {}) {{\n  .reg .b32 %r, %w;\n  .reg .b64 %out;\n  \
         ld.param.u64 %out, [out];\n  ld.param.u32 %r, [four+12];\n{sum}  \
         st.global.u32 [%out], %r;\n  ret;\n}}\n",
        words.join(", ")
    );
    let args: Vec<String> = (1..9).map(|i| format!("\"u32:{}\"", 1000 * i)).collect();
    let launch = format!(
        "schema = 1\nmachine = \"ptx\"\nmodule = \"k.ptx\"\n[buffers]\nout = \"u32[1]:zeros\"\n\
         [[launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [1]\n\
         args = [\"&out\", \"bytes[00 11 22 33 44 55 66 77 88 99 aa bb 11 00 00 00]\", {}]\n",
        args.join(", ")
    );
    std::fs::write(folder.join("k.ptx"), text).expect("is written");
    std::fs::write(folder.join("launch.toml"), launch).expect("is written");
    let job = job_of(&folder.join("launch.toml"));
    let sum = (1..9).fold(17u32, |sum, i| 3 * sum + 1000 * i);
    let comparison = compare(&job, &machines(&["linx", "pmask", "prf"]), &mut Unmonitored);
    let comparison = comparison.expect("the job runs").expect("nothing stops it");
    assert!(comparison.sound(), "{}", to_text(&comparison));
    let rows = ran(&comparison);
    assert_eq!(rows.len(), 4, "{}", to_text(&comparison));
    assert!(rows.iter().skip(1).all(|row| row.1.equality == Equality::Equal));
    let report = job.run(false, &mut Unmonitored).expect("the job runs");
    assert_eq!(report.buffers[0].contents.data(), sum.to_le_bytes());
}

#[test]
fn results_that_depend_on_the_order_of_threads_are_distinguished() {
    let comparison = compared("hash_table", &["linx"]);
    let text = to_text(&comparison);
    assert!(comparison.sound(), "{text}");
    let linx = ran(&comparison)[1].1;
    let Equality::Differs { order, .. } = &linx.equality else { panic!("{text}") };
    assert_eq!((order.expected, order.explains()), (Some(true), true), "{text}");
    assert!(text.contains("  order\n"), "{text}");
    let value = to_json(&comparison);
    assert_eq!(value["rows"][1]["figures"]["results"]["order"], true, "{value}");
}

#[test]
fn the_order_explains_expected_results_alone() {
    let order = |expected, mechanism| Order { expected, mechanism }.explains();
    assert!(order(Some(true), Some("serial")));
    assert!(!order(Some(false), Some("serial")) && !order(None, Some("serial")));
    assert!(!order(Some(true), None));
}

#[test]
fn lanes_that_wait_for_each_other_are_stopped() {
    let comparison = compared("divergence/lock_order", &["linx"]);
    for row in &comparison.rows {
        assert!(matches!(row.outcome, Outcome::Stopped { .. }), "{row:?}");
    }
}

#[test]
fn machines_are_named() {
    let mut sources = SourceMap::new();
    let file = sources.add("command line", "linx,linxx");
    let span = isa::Span::new(file, 0, 4);
    let ptx = ::machines::find("ptx").expect("is one");
    let named = machines_named(ptx, "ptx, linx", span).expect("are machines");
    assert_eq!(named.iter().map(|m| m.name).collect::<Vec<_>>(), ["ptx", "linx"]);
    let wrong = machines_named(ptx, "linxx", span).expect_err("is none");
    assert_eq!(wrong.help.as_deref(), Some("did you mean linx?"));
    assert!(machines_named(ptx, "linx,linx", span).is_err());
}

const PAGE: &str = include_str!("../../../../docs/one-kernel.md");

/// Kernels of the book's table, by folder.
const TWELVE: [&str; 12] = [
    "saxpy",
    "divergence/short_circuit",
    "divergence/trip_count",
    "divergence/split_merge",
    "divergence/nested",
    "divergence/exception_call",
    "divergence/partition",
    "collatz",
    "dp4a",
    "histogram",
    "transpose",
    "match_any",
];

/// Issues of a job on RISC-V whose programs use one mask bank beside the virtual one.
fn issues_with_one_bank(job: &Job) -> Option<u64> {
    let backend = study::lowering::Backend::find("pmask")?;
    let module = job.program().module()?;
    let programs = job.launch_sizes().map(|(kernel, grid, block, shared)| {
        let sizes = ["grid-x", "grid-y", "grid-z", "block-x", "block-y", "block-z"];
        let mut given: Vec<(String, String)> = sizes
            .iter()
            .zip(grid.iter().chain(&block))
            .map(|(name, size)| ((*name).to_owned(), size.to_string()))
            .collect();
        given.push(("shared".to_owned(), shared.to_string()));
        given.push(("banks".to_owned(), "2".to_owned()));
        let settings = backend.settings(&given).ok()?;
        let made = study::lowering::lowered(module, kernel, (backend, &settings), &|_| None);
        Some(LoweredProgram { text: made.ok()?.text, block: false })
    });
    let programs: Vec<LoweredProgram> = programs.collect::<Option<_>>()?;
    let machine = ::machines::find("pmask").expect("a machine");
    let run = job.run_lowered(machine, &programs, (None, None), &mut Unmonitored).ok()?;
    Some(run.launches.iter().map(|launch| launch.stats.counts.slots.issues()).sum())
}

/// Issues for lanes, the lanes that an issue has, and what else a machine pays.
fn cost(figures: &Figures, more: &str) -> String {
    let issues = figures.slots.issues();
    let masked = issues - figures.slots.uniform_issues;
    let lanes = figures.used() as f64 / masked.max(1) as f64;
    let equal = match &figures.equality {
        Equality::Differs { order, .. } if order.explains() => ", in another order",
        Equality::Differs { .. } => ", DIFFERS",
        Equality::Reference | Equality::Equal => "",
    };
    format!("{issues}; {masked} of {lanes:.1}{more}{equal}")
}

fn twelve() -> String {
    let mut out = String::from(
        "| kernel | ptx | linx | pmask | pmask -1 | prf |\n|---|---|---|---|---|---|\n",
    );
    for name in TWELVE {
        let job = job(name);
        let comparison = compare(&job, &machines(&["linx", "pmask", "prf"]), &mut Unmonitored);
        let comparison = comparison.expect("the job runs").expect("nothing stops it");
        assert!(comparison.sound(), "{}", to_text(&comparison));
        out.push_str(&format!("| {name} |"));
        for row in &comparison.rows {
            let Outcome::Ran(figures) = &row.outcome else {
                out.push_str(" refused |");
                continue;
            };
            let figure = |name: &str| {
                let found = figures.lowering.iter().find(|(known, _)| known == name);
                found.map_or(0, |(_, figure)| *figure)
            };
            let more = match row.machine.as_str() {
                "linx" => {
                    let frame = figure("stores to the frame") + figure("loads from the frame");
                    format!("; {frame} of {} in the frame", figure("instructions"))
                }
                "pmask" => {
                    format!("; {} of {} move masks", figure("mask moves"), figure("instructions"))
                }
                "prf" => format!("; {} predicates", figure("predicate registers")),
                _ => String::new(),
            };
            out.push_str(&format!(" {} |", cost(figures, &more)));
            if row.machine == "pmask" {
                let issues = issues_with_one_bank(&job).expect("it runs there");
                out.push_str(&format!(" {issues} |"));
            }
        }
        out.push('\n');
    }
    out
}

#[test]
fn the_page_has_twelve_kernels_on_every_machine() {
    let (start, end) = ("<!-- machines -->\n\n", "\n<!-- end of machines -->");
    let (before, rest) = PAGE.split_once(start).expect("has the mark");
    let (_, after) = rest.split_once(end).expect("has the mark");
    let page = format!("{before}{start}{}{end}{after}", twelve());
    if std::env::var_os("SIMTLAB_BLESS").is_some_and(|v| !v.is_empty() && v != "0") {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/one-kernel.md");
        std::fs::write(path, page).expect("the page can be written");
    } else {
        assert!(page == PAGE, "SIMTLAB_BLESS=1 renews docs/one-kernel.md:\n\n{page}");
    }
}

#[test]
#[ignore = "runs all bundled kernels"]
fn all() {
    let mut folders: Vec<String> = Vec::new();
    let mut work = vec![kernels()];
    while let Some(folder) = work.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                work.push(path);
            } else if path.ends_with("launch.toml") {
                let text = std::fs::read_to_string(&path).unwrap();
                if text.contains("machine = \"ptx\"") {
                    let folder = path.parent().unwrap().strip_prefix(kernels()).unwrap();
                    folders.push(folder.display().to_string());
                }
            }
        }
    }
    folders.sort();
    let only = std::env::var("ONLY").unwrap_or_default();
    for name in folders.iter().filter(|f| f.contains(&only)) {
        let start = std::time::Instant::now();
        let comparison = compared(name, &["linx"]);
        let what = match &comparison.rows[1].outcome {
            Outcome::Ran(figures) => {
                format!(
                    "{:?} slots {:?} {}",
                    figures.equality, figures.spills, figures.instructions
                )
            }
            Outcome::Refused { message, .. } => format!("refused {message}"),
            Outcome::Stopped { message } => format!("stopped {message}"),
        };
        eprintln!("{name}: {what} {:?}", start.elapsed());
        if !only.is_empty() {
            eprintln!("{}", to_text(&comparison));
            let _ = (to_json(&comparison), to_html(&comparison));
        }
    }
}
