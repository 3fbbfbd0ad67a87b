//! Sweeps as commands: killed, gone on with, parted; and rows against a model that shares no code
//! with Simtlab.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

const SIMTLAB: &str = env!("CARGO_BIN_EXE_simtlab");

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("can make a folder");
    folder
}

fn simtlab(folder: &Path, words: &[&str]) -> Output {
    Command::new(SIMTLAB).args(words).current_dir(folder).output().expect("runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A suite that takes a second or two.
fn suite(folder: &Path) {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let kernels = kernels.canonicalize().expect("is there");
    let text = format!(
        "schema = 1\nname = \"some\"\n[[kernels]]\npaths = [\"{0}/divergence/*\", \"{0}/early_exit\", \"{0}/switch32\"]\nexclude = [\"{0}/divergence/exception_*\", \"{0}/divergence/regex\"]\n\
         [sweep]\nmechanisms = [\"ipdom\", \"tf-stack\", \"min-pc\"]\nwarp_sizes = [8, 32]\n",
        kernels.display()
    );
    std::fs::write(folder.join("some.toml"), text).expect("can write");
}

#[test]
fn killed_gone_on_with_and_parted() {
    let folder = scratch("sweep_killed");
    suite(&folder);
    let whole = simtlab(&folder, &["sweep", "some.toml", "--jobs", "2"]);
    assert!(whole.status.success(), "{}", said(&whole));
    let table = |dir: &str| {
        let words = ["sweep", "export", dir, "--csv", "-", "--no-times"];
        String::from_utf8(simtlab(&folder, &words).stdout).expect("is text")
    };
    let expected = table("some.sweep");
    assert!(expected.lines().count() > 60, "{expected}");
    // Killed as soon as it has rows, twice; each time the rows are kept.
    let rows = folder.join("killed/rows.jsonl");
    let mut kept = 0;
    for round in 0..2 {
        let mut child = Command::new(SIMTLAB)
            .args(["sweep", "some.toml", "--out", "killed", "--jobs", "1", "--resume"])
            .current_dir(&folder)
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("starts");
        let lines =
            || std::fs::read(&rows).map_or(0, |t| t.iter().filter(|b| **b == b'\n').count());
        let begun = Instant::now();
        while lines() < kept + 3 && begun.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(2));
        }
        child.kill().expect("can be killed");
        child.wait().expect("ends");
        assert!(lines() >= kept + 3, "round {round}");
        kept = lines();
    }
    let refused = simtlab(&folder, &["sweep", "some.toml", "--out", "killed"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(said(&refused).contains("--resume"), "{}", said(&refused));
    let ended = simtlab(&folder, &["sweep", "some.toml", "--out", "killed", "--resume"]);
    assert!(ended.status.success(), "{}", said(&ended));
    assert_eq!(table("killed"), expected);
    for shard in ["1/3", "2/3", "3/3"] {
        let out = format!("part{}", &shard[..1]);
        let ended = simtlab(&folder, &["sweep", "some.toml", "--shard", shard, "--out", &out]);
        assert!(ended.status.success(), "{}", said(&ended));
    }
    let missing = simtlab(&folder, &["sweep", "merge", "part1", "part3", "--out", "x"]);
    assert!(said(&missing).contains("shard 2/3 missing"), "{}", said(&missing));
    let merged = simtlab(&folder, &["sweep", "merge", "part1", "part2", "part3", "--out", "all"]);
    assert!(merged.status.success(), "{}", said(&merged));
    assert_eq!(table("all"), expected);
    let drawn = simtlab(&folder, &["sweep", "plot", "all", "--svg", "svg"]);
    assert!(drawn.status.success(), "{}", said(&drawn));
    for name in ["efficiency", "issues", "verdicts", "launches"] {
        let svg = std::fs::read_to_string(folder.join(format!("svg/{name}.svg"))).expect(name);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{name}");
    }
    let report = simtlab(&folder, &["sweep", "report", "all", "--html", "-"]);
    let html = String::from_utf8(report.stdout).expect("is text");
    assert!(html.contains("Geometric means") && html.contains("tf-stack"), "{html}");
}

/// A limit on the size of files stands for a full disk: the error says so, and rows are kept.
#[cfg(unix)]
#[test]
fn a_full_disk_keeps_what_was_written() {
    let folder = scratch("sweep_full");
    suite(&folder);
    let limited = "trap '' XFSZ; ulimit -f 20; exec \"$0\" sweep some.toml --jobs 1";
    let output = Command::new("sh").args(["-c", limited, SIMTLAB]).current_dir(&folder).output();
    let output = output.expect("there is a shell");
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("rows are kept"), "{}", said(&output));
    let ended = simtlab(&folder, &["sweep", "some.toml", "--resume"]);
    assert!(ended.status.success(), "{}", said(&ended));
    let rows = std::fs::read_to_string(folder.join("some.sweep/rows.csv")).expect("is there");
    assert!(rows.lines().count() > 60);
}

#[test]
fn errors_of_a_suite_have_places() {
    let folder = scratch("sweep_errors");
    let text = "schema = 1\n[[kernels]]\npaths = [\"none/*\"]\n[sweep]\nmechanisms = [\"ipdon\"]\nwarp_size = [8]\n";
    std::fs::write(folder.join("bad.toml"), text).expect("can write");
    let output = simtlab(&folder, &["sweep", "bad.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("did you mean `warp_sizes`?"), "{}", said(&output));
    std::fs::write(folder.join("bad.toml"), text.replace("warp_size ", "warp_sizes "))
        .expect("can write");
    let output = simtlab(&folder, &["sweep", "bad.toml"]);
    let text = said(&output);
    assert!(text.contains("bad.toml:5:") && text.contains("did you mean ipdom?"), "{text}");
    assert!(text.contains("bad.toml:3:") && text.contains("no launch file matches"), "{text}");
    for (words, part) in [
        (&["sweep", "bad.toml", "--shard", "4/3"][..], "is no shard"),
        (&["sweep"], "a suite file is needed"),
        (&["sweep", "absent.toml"], "absent.toml"),
        (&["sweep", "report", ".", "--html", "-"], "no directory of a sweep"),
    ] {
        let output = simtlab(&folder, words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(said(&output).contains(part), "{words:?}: {}", said(&output));
    }
}

/// Random kernels: issues under five mechanisms as the model counts them.
#[test]
fn an_independent_model_counts_the_same_issues() {
    let folder = scratch("sweep_model");
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/model/model.py");
    let ran = Command::new("python3")
        .args([model.as_os_str(), SIMTLAB.as_ref(), folder.as_os_str()])
        .args(["1", "30"])
        .output();
    let Ok(ran) = ran else {
        // Without Python there is no second opinion.
        return;
    };
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
}
