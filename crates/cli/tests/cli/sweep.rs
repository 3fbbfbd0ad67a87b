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

/// A disk of 64 KiB fills up; with more room the sweep goes on to the same table. Tables and
/// reports for which there is no room are errors. A kernel that lets nobody mount runs the latter.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_without_room_is_told() {
    let folder = scratch("sweep_disk");
    suite(&folder);
    assert!(simtlab(&folder, &["sweep", "some.toml"]).status.success());
    for words in [["export", "some.sweep", "--csv"], ["report", "some.sweep", "--html"]] {
        let output = simtlab(&folder, &[&["sweep"][..], &words, &["/dev/full"]].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(said(&output).contains("No space left on device"), "{}", said(&output));
    }
    std::fs::create_dir(folder.join("disk")).expect("can make a folder");
    let mounted = |script: &str| {
        let mount = "mount -t tmpfs -o size=64k none disk";
        let script = format!("{mount} || exit 77; {script}");
        let words = ["--user", "--map-root-user", "--mount", "sh", "-c", &script, SIMTLAB];
        Command::new("unshare").args(words).current_dir(&folder).output()
    };
    let script = "\"$0\" sweep some.toml --jobs 1 --out disk/rows && exit 1; \
        mount -o remount,size=64m none disk || exit 77; \
        \"$0\" sweep some.toml --jobs 1 --out disk/rows --resume && \
        \"$0\" sweep export disk/rows --csv - --no-times";
    let Ok(output) = mounted(script) else { return };
    if output.status.code() == Some(77) || said(&output).starts_with("unshare") {
        return;
    }
    assert!(output.status.success(), "{}", said(&output));
    let text = said(&output);
    assert!(text.contains("No space left on device") && text.contains("rows are kept"), "{text}");
    let whole = simtlab(&folder, &["sweep", "export", "some.sweep", "--csv", "-", "--no-times"]);
    // The last command wrote the table; those before it told how they went.
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(table.ends_with(&*String::from_utf8_lossy(&whole.stdout)), "{table}");
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
