//! The report of `compare --machines --html`: the figures of the JSON as a browser shows them.

use super::webdriver::Browser;
use super::{fits_a_phone, number};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The machines that are compared, in the order of the rows.
const MACHINES: [&str; 4] = ["ptx", "linx", "pmask", "prf"];

/// A kernel that all machines but the first refuse: they have no asynchronous barriers.
const REFUSED: &str = "\
// </script><script>window.broken = 1</script>
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
  .shared .b64 bar;
  .reg .b64 %at;
  ld.param.u64 %at, [out];
  st.global.u64 [%at], 4;
  mbarrier.init.shared.b64 [bar], 1;
  ret;
}
";

/// Compares a target on all machines; returns the folder, the JSON and the page.
fn compared(name: &str, target: &Path, arguments: &[&str]) -> (PathBuf, Value, PathBuf) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let (json, page) = (folder.join("out.json"), folder.join("out.html"));
    let output = Command::new(env!("CARGO_BIN_EXE_simtlab"))
        .arg("compare")
        .arg(target)
        .args(["--machines", &MACHINES.join(",")])
        .args(arguments)
        .arg("--json")
        .arg(&json)
        .arg("--html")
        .arg(&page)
        .output()
        .expect("the command starts");
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(json).expect("is written");
    (folder, serde_json::from_str(&text).expect("is JSON"), page)
}

fn bundled(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels").join(name)
}

/// Each row has as many instructions by line as it has instructions that stand for a line, and the
/// text of a program without a line table has lines, too.
#[test]
fn all_machines_have_instructions_by_line() {
    for (name, file) in [("saxpy", "saxpy.cu:"), ("divergence/nested", "nested.ptx:")] {
        let folder = format!("report-lines-{}", name.replace('/', "-"));
        let (_, json, _) = compared(&folder, &bundled(name), &[]);
        for (row, machine) in json["rows"].as_array().expect("rows").iter().zip(MACHINES) {
            assert_eq!(row["machine"], machine);
            assert_eq!(row["outcome"], "ran", "{name} on {machine}");
            let lines = row["figures"]["lines"].as_array().expect("lines");
            let of_file = |line: &Value| line["line"].as_str().expect("a line").starts_with(file);
            assert!(lines.len() > 2 && lines.iter().all(of_file), "{name} on {machine}: {lines:?}");
            let sum: u64 = lines.iter().filter_map(|line| line["instructions"].as_u64()).sum();
            let all = row["figures"]["instructions"].as_u64().expect("a count");
            assert!(2 * sum > all && sum <= all, "{name} on {machine}: {sum} of {all}");
        }
    }
}

#[test]
#[ignore = "needs Chromium and chromedriver: .ci/run runs it where it can install them"]
fn a_browser_shows_the_figures_of_all_machines() {
    let (folder, json, page) = compared("report-machines", &bundled("divergence/nested"), &[]);
    let browser = Browser::start(&folder);
    browser.open(&page);
    assert_eq!(browser.run("return performance.getEntriesByType('resource').length"), 0);
    let embedded = browser.run("return document.getElementById('machines').textContent");
    let embedded: Value = serde_json::from_str(embedded.as_str().expect("text")).expect("is JSON");
    assert_eq!(embedded, json);
    let cell = |table: &str, row: usize, column: usize| {
        browser.run(&format!(
            "return document.querySelector('#{table} tbody').rows[{row}].cells[{column}].textContent"
        ))
    };
    let heads = browser
        .run("return [...document.querySelectorAll('#summary thead th')].map(h => h.textContent)");
    let column = |name: &str| {
        let heads = heads.as_array().expect("heads");
        heads.iter().position(|head| head == name).unwrap_or_else(|| panic!("{name}: {heads:?}"))
    };
    let causes = browser
        .run("return [...document.querySelectorAll('#lost thead th')].map(h => h.textContent)");
    for (index, row) in json["rows"].as_array().expect("rows").iter().enumerate() {
        assert_eq!(cell("summary", index, 0), row["machine"]);
        let figures = &row["figures"];
        for (head, key) in [("W", "width"), ("insts", "instructions"), ("issues", "issues")] {
            let shown = number(&cell("summary", index, column(head)));
            assert_eq!(shown, figures[key].as_u64().expect("a count"), "{key}");
        }
        let equal = if index == 0 { "ref" } else { "yes" };
        assert_eq!(cell("summary", index, column("equal")), equal);
        for (at, cause) in causes.as_array().expect("causes").iter().enumerate().skip(1) {
            let slots = figures["lane_slots"][cause.as_str().expect("a cause")].as_u64();
            assert_eq!(Some(number(&cell("lost", index, at))), slots, "{cause}");
        }
    }
    fits_a_phone(&browser);
}

#[test]
#[ignore = "needs Chromium and chromedriver: .ci/run runs it where it can install them"]
fn a_browser_shows_what_a_machine_refuses() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report-refused");
    std::fs::create_dir_all(&folder).expect("a folder");
    let kernel = folder.join("k<b>&.ptx");
    std::fs::write(&kernel, REFUSED).expect("a file");
    let words = ["--grid", "1", "--block", "1", "--arg", "out=f64[1]:fill(4)"];
    let (folder, json, page) = compared("report-refused", &kernel, &words);
    let browser = Browser::start(&folder);
    browser.open(&page);
    assert_eq!(browser.run("return window.broken === undefined"), true, "text of the kernel ran");
    let title = browser.run("return document.querySelector('.sub').textContent");
    assert_eq!(title, "k<b>&.ptx");
    let outcome = |row: &Value| row["outcome"].as_str().map(str::to_owned);
    let outcomes: Vec<_> =
        json["rows"].as_array().expect("rows").iter().filter_map(outcome).collect();
    assert_eq!(outcomes, ["ran", "refused", "refused", "refused"]);
    let remarks =
        browser.run("return [...document.querySelectorAll('#remarks li')].map(r => r.textContent)");
    let remarks = remarks.as_array().expect("remarks");
    for machine in &MACHINES[1..] {
        let names = |remark: &&Value| remark.as_str().is_some_and(|text| text.contains(machine));
        let remark = remarks.iter().find(names).unwrap_or_else(|| panic!("{machine}: {remarks:?}"));
        assert!(remark.as_str().expect("text").contains("line 11"), "{remark}");
    }
}
