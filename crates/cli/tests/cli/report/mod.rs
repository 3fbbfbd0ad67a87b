//! The report of `compare --html` in a browser.
//!
//! Ignored by default, because it requires Chromium and chromedriver: `cargo test -p simtlab --test
//! report -- --ignored`, which the build server's script runs where it can install them. Without
//! them the test fails with a message.

mod machines;
mod webdriver;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use webdriver::Browser;

/// A kernel with a branch of unequal sides, and text that would be markup if it were not escaped.
const KERNEL: &str = "\
// </script><script>window.broken = 1</script> <!-- <b>&amp;
.version 8.0
.target sm_80
.address_size 64
.visible .entry diamond(.param .u64 out)
{
  .reg .pred %p;
  .reg .b32 %t, %v;
  .reg .b64 %at, %wide;
  ld.param.u64 %at, [out];
  mov.u32 %t, %tid.x;
  setp.lt.u32 %p, %t, 10;
  mov.u32 %v, 0;
  @%p bra SMALL;
  add.u32 %v, %v, 3;
  add.u32 %v, %v, %t;
  add.u32 %v, %v, %t;
  bra DONE;
SMALL:
  mov.u32 %v, 7; // </script>
DONE:
  mul.wide.u32 %wide, %t, 4;
  add.u64 %at, %at, %wide;
  st.global.u32 [%at], %v;
  ret;
}
";

const ROWS: usize = 6;
/// The row whose issues are stepped through: `ipdom` at 32.
const ROW: usize = 1;

/// Compares the kernel, in a file whose name contains markup; returns the folder, the JSON and the
/// page.
fn compared(name: &str) -> (PathBuf, Value, PathBuf) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let (kernel, json, page) =
        (folder.join("k<b>&.ptx"), folder.join("out.json"), folder.join("out.html"));
    std::fs::write(&kernel, KERNEL).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_simtlab"))
        .arg("compare")
        .arg(&kernel)
        .args(["--grid", "1", "--block", "32", "--arg", "out=u32[32]:zeros"])
        .args(["--mechanisms", "ipdom,min-pc,barrier-only", "--warp-size", "8,32", "--json"])
        .arg(&json)
        .arg("--html")
        .arg(&page)
        .output()
        .expect("the command starts");
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(json).expect("is written");
    (folder, serde_json::from_str(&text).expect("is JSON"), page)
}

/// Parses a number without the spaces between groups of three digits.
fn number(text: &Value) -> u64 {
    let digits: String = text.as_str().unwrap_or("").chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no number: {text}"))
}

#[test]
fn the_page_is_one_file_that_loads_nothing() {
    let (_, json, page) = compared("report-file");
    let text = std::fs::read_to_string(page).expect("is written");
    assert!(text.starts_with("<!doctype html>") && text.contains("default-src 'none'"));
    for loads in ["src=", "<link", "@import", "url(http", "https://", "fetch(", "<b>&"] {
        assert!(!text.contains(loads), "{loads}");
    }
    // Four elements of data, recording and script; the kernel's text opens or closes none.
    assert_eq!(text.matches("<script").count(), 4);
    assert_eq!(text.matches("</script>").count(), 4);
    let (_, rest) = text.split_once("id=\"comparison\">").expect("the data");
    let (data, _) = rest.split_once("</script>").expect("its end");
    assert_eq!(serde_json::from_str::<Value>(data).expect("is JSON"), json);
    assert!(text.len() < 400_000, "{} bytes", text.len());
}

#[test]
#[ignore = "needs Chromium and chromedriver: .ci/run runs it where it can install them"]
fn a_browser_steps_through_the_lanes_and_reads_the_figures_of_the_json() {
    let (folder, json, page) = compared("report-browser");
    let browser = Browser::start(&folder);
    browser.open(&page);

    assert_eq!(browser.run("return window.broken === undefined"), true, "text of the kernel ran");
    assert_eq!(browser.run("return performance.getEntriesByType('resource').length"), 0);
    let embedded = browser.run("return document.getElementById('comparison').textContent");
    let embedded: Value = serde_json::from_str(embedded.as_str().expect("text")).expect("is JSON");
    assert_eq!(embedded, json);
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(ROWS));

    for (index, row) in json["rows"].as_array().expect("rows").iter().enumerate() {
        let cell = |key: &str| {
            browser.run(&format!(
                "return document.querySelector('.costs tr[data-row=\"{index}\"] [data-key=\"{key}\"]').textContent"
            ))
        };
        for key in ["inst_executed", "max_divergence_depth"] {
            assert_eq!(number(&cell(key)), row[key].as_u64().expect("a count"), "{key}");
        }
        let share = row["warp_execution_efficiency"].as_f64().expect("a share");
        assert_eq!(cell("warp_execution_efficiency"), format!("{share:.1}"));
    }
    step_through(&browser, &json["rows"][ROW]);
    lines_add_up(&browser, &json["rows"][ROW]);
    graph(&browser);
    phone(&browser);
}

/// Steps through all issues of the only warp at W = 32: forward with keys, back with the button.
fn step_through(browser: &Browser, row: &Value) {
    browser.click(&format!(".choose[data-row=\"{ROW}\"]"));
    let issues = row["inst_executed"].as_u64().expect("a count");
    let mut shown = Vec::new();
    let mut on = 0;
    for issue in 1..=issues {
        let number_shown = browser.run("return document.getElementById('step-number').textContent");
        assert_eq!(number_shown, format!("issue {issue} of {issues}"));
        let text = browser.run("return document.getElementById('step-on').textContent");
        let (lanes, width) = text.as_str().and_then(|t| t.split_once(" of ")).expect("n of W");
        assert_eq!(width, "32");
        on += lanes.parse::<u64>().expect("a count");
        shown.push(browser.run("return document.getElementById('step-text').textContent"));
        if issue < issues {
            browser.keys("#lane-picture", "\u{e014}");
        }
    }
    assert_eq!(on, row["lane_slots"]["on"].as_u64().expect("a count"));
    let diverged = shown.iter().filter(|t| t.to_string().contains("on another path")).count();
    assert!(diverged > 2 && (diverged as u64) < issues, "{diverged} of {issues} issues diverged");
    for text in shown.iter().rev().skip(1) {
        browser.click("#step-prev");
        assert_eq!(&browser.run("return document.getElementById('step-text').textContent"), text);
    }
    browser.keys("#lane-picture", "\u{e010}");
    let end = browser.run("return document.getElementById('step-number').textContent");
    assert_eq!(end, format!("issue {issues} of {issues}"));
    let marked = browser.run("return document.querySelector('tr.now .src').textContent.trim()");
    assert_eq!(marked, "ret;");
}

/// Checks that issues and shares by line add up to those of the row.
fn lines_add_up(browser: &Browser, row: &Value) {
    let sum = browser.run(
        "return [...document.querySelectorAll('[data-listing=t] tr')].map(r => Number(r.cells[1].textContent.replace(/\\D/g, ''))).reduce((a, b) => a + b)",
    );
    assert_eq!(sum, row["inst_executed"]);
    let split = browser.run("return document.querySelector('tr.split .src').textContent.trim()");
    assert_eq!(split, "@%p bra SMALL;");
    let listed = browser.run("return document.querySelector('#t1 .src').textContent");
    assert_eq!(listed, KERNEL.lines().next().expect("a line"), "text is shown as it is");
}

/// Checks that selecting a block marks its frontier and its immediate post-dominator.
fn graph(browser: &Browser) {
    assert_eq!(browser.run("return document.querySelectorAll('.cfg .block').length"), 4);
    browser.keys("[data-block=\"1\"]", "\u{e007}");
    let marked = |class: &str| {
        browser.run(&format!(
            "return [...document.querySelectorAll('.block.{class} .name')].map(n => n.textContent).join(' ')"
        ))
    };
    assert_eq!(marked("chosen"), "B1");
    // While one side runs, lanes of the other wait at its first block.
    assert_eq!(marked("waits"), "B2");
    assert_eq!(marked("meet"), "B3");
}

/// Checks that on a phone only the boxes of tables scroll horizontally.
fn fits_a_phone(browser: &Browser) {
    browser.screen(360, 740);
    let [wide, screen] = ["document.documentElement.scrollWidth", "window.innerWidth"]
        .map(|what| browser.run(&format!("return {what}")).as_u64().expect("pixels"));
    assert!(wide <= screen && screen == 360, "{wide} of {screen}");
}

/// Checks that on a phone buttons are large enough for a finger.
fn phone(browser: &Browser) {
    fits_a_phone(browser);
    let small = browser.run(
        "return [...document.querySelectorAll('.controls button')].filter(b => b.getBoundingClientRect().height < 40).length",
    );
    assert_eq!(small, 0);
}

/// Returns the exit code and the error stream of a comparison of the kernel with these arguments.
fn refused(name: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("k.ptx"), KERNEL).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_simtlab"))
        .current_dir(&folder)
        .args(["compare", "k.ptx", "--grid", "1", "--block", "32", "--arg", "out=u32[32]"])
        .args(arguments)
        .output()
        .expect("the command starts");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_report_that_cannot_be_written_is_refused_before_anything_runs() {
    let (code, messages) = refused("report-nowhere", &["--html", "no/such/folder/out.html"]);
    assert_eq!(code, Some(2));
    assert!(
        messages.contains("cannot write no/such/folder/out.html: there is no such folder"),
        "{messages}"
    );
    let (code, messages) = refused("report-folder", &["--html", "."]);
    assert!(code == Some(2) && messages.contains("it is a directory"), "{messages}");
    let (code, messages) = refused("report-both", &["--html", "-", "--json", "-"]);
    assert!(code == Some(2) && messages.contains("name the same place"), "{messages}");
}

#[test]
fn unknown_axes_are_refused_with_a_list_of_the_axes() {
    let (code, messages) = refused("report-axis", &["--axis", "zmode=zero"]);
    assert!(code == Some(2) && messages.contains("ptx has no axis `zmode`"), "{messages}");
    let (code, messages) = refused("report-name", &["--mechanisms", "ipdon"]);
    assert!(code == Some(2) && messages.contains("did you mean ipdom?"), "{messages}");
}

/// A line table names files as the host that compiled them had them; what is written for others
/// names no folder of it. The page shows the program as it is written, and holds it once more for
/// the debugger.
#[test]
fn no_report_names_folders_of_a_host() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report-folders");
    std::fs::create_dir_all(&folder).expect("a folder");
    let table = ".file 1 \"/home/somebody/project/k.cu\"\n.visible .entry";
    let text = KERNEL.replace(".visible .entry", table);
    let text = text.replace("  setp.lt", "  .loc 1 3 1\n  setp.lt");
    let text = text.replace("  add.u32 %v, %v, 3", "  .loc 1 4 1\n  add.u32 %v, %v, 3");
    // Lanes race for the words of their neighbours, so that lines are told there, too.
    let text = text.replace("  ret;", "  st.global.u32 [%at+4], %v;\n  ret;");
    std::fs::write(folder.join("k.ptx"), text).expect("a file");
    let launch = ["k.ptx", "--grid", "1", "--block", "32", "--arg", "out=u32[33]:zeros"];
    let page: &[&str] = &["compare", "--mechanisms", "ipdom,min-pc", "--html", "-"];
    let commands: [&[&str]; 6] = [
        page,
        &["compare", "--mechanisms", "ipdom,min-pc", "--json", "-"],
        &["explain", "--mechanism", "ipdom"],
        &["explain", "--mechanism", "ipdom", "--json", "-"],
        &["run", "--stats=json"],
        &["trace", "--mechanism", "ipdom", "--out", "-"],
    ];
    for command in commands {
        let output = Command::new(env!("CARGO_BIN_EXE_simtlab"))
            .args([command, &launch].concat())
            .current_dir(&folder)
            .output()
            .expect("the command starts");
        assert!(output.status.success(), "{command:?}: {output:?}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("k.cu"), "{command:?} names the source: {text}");
        let own = folder.to_string_lossy();
        let programs = if command == page { 2 } else { 0 };
        for (host, times) in [("/home/somebody", programs), (&*own, 0)] {
            assert_eq!(text.matches(host).count(), times, "{command:?} names {host}: {text}");
        }
    }
}
