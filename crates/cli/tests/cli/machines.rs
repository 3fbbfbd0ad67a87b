//! What the command shows of machines whose lanes follow masks: descriptions of configured
//! machines, checks of launch files, masks before and after each instruction, graphs and listings
//! of bodies, value changes of the cycle-level model.

use std::path::Path;
use std::process::Command;

/// Returns the exit code, standard output and standard error.
fn outcome(args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_simtlab")).args(args).output();
    let output = output.expect("the command starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn kernel(path: &str) -> String {
    format!("{}/../../kernels/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// Creates a file for this test.
fn file(name: &str, contents: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("machines");
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name);
    std::fs::write(&path, contents).expect("a file");
    path.display().to_string()
}

#[test]
fn a_configured_machine_is_described_as_its_programs_find_it() {
    let (code, text, _) = outcome(&["machines", "--isa", "pmask", "--banks", "2"]);
    assert_eq!(code, Some(0));
    assert!(text.contains("cap.pmask.cap (0x7c7) 0x13, xpm.info (0xfc0) 0x40403e"), "{text}");
    let (_, text, _) = outcome(&["machines", "--isa", "prf", "--option", "memory.latency=6"]);
    assert!(text.contains("latency = 6") && text.contains("32 predicates"), "{text}");
    for (args, message) in [
        (&["machines", "--banks", "2"][..], "name it with --isa"),
        (&["machines", "--isa", "pmask", "--banks", "9"], "`9` is not a value of banks"),
        (&["machines", "--isa", "toy", "--option", "x=1"], "make no other machine"),
        (&["machines", "--isa", "nothing"], "there is no machine `nothing`"),
    ] {
        let (code, _, errors) = outcome(args);
        assert!(code == Some(2) && errors.contains(message), "{errors}");
    }
}

#[test]
fn check_takes_launch_files_with_their_warnings() {
    let program = file("hazard.prf", "addi x5, x0, 1 !1,0\naddi x6, x5, 1 !0,1\nhalt\n");
    let launch = "schema = 1\nmachine = \"prf\"\nmodule = \"hazard.prf\"\n[[launch]]\ngrid = 1\n";
    let good = file("hazard.toml", &format!("{launch}block = 32\n"));
    let (code, text, warnings) = outcome(&["check", &good]);
    assert_eq!(code, Some(0));
    assert!(text.contains("ok, 1 launch"), "{text}");
    for shown in [warnings, outcome(&["run", &good, "--stats", "none"]).2] {
        assert!(shown.contains("warning[prf::hazard]: in one packet, x5 is read"), "{shown}");
    }
    let bad = file("bad.toml", &format!("{launch}block = 32\nargs = [\"u32:1\"]\n"));
    let (code, text, _) = outcome(&["check", &bad, &program]);
    assert_eq!(code, Some(2));
    assert!(text.contains("bad.toml: 1 error") && text.contains("hazard.prf: ok"), "{text}");
    let (code, _, errors) = outcome(&["check", "--isa", "prf", &good]);
    assert!(code == Some(2) && errors.contains("a launch file names its machine"), "{errors}");
}

#[test]
fn masks_are_shown_before_and_after_each_instruction() {
    let launch = kernel("linx/nested_if");
    let (code, text, _) = outcome(&["trace", &launch, "--format", "text", "--out", "-"]);
    assert_eq!(code, Some(0));
    let line = |number: usize| {
        let found = text.lines().find(|line| line.trim_start().starts_with(&format!("{number} ")));
        found.unwrap_or_else(|| panic!("no issue {number} in {text}"))
    };
    // Block code has no mask; the first compare turns off the lanes that are not negative.
    assert!(line(0).contains("once  - -  BSTART.MPAR 0"), "{}", line(0));
    assert!(line(6).contains(" 15 lanes 0xffffffffffffffff 0xb3a73a67ddf886 -{0,3-6,8-10,"));
    assert!(line(7).contains("once  0xb3a73a67ddf886 0xb3a73a67ddf886  v.xor p.ud"));
    // The other side: its lanes go on, those of the first side off.
    assert!(line(13).contains(" -{2,14,16,18-19,") && line(13).contains(" +{1,7,11-13,"));
    let (_, events, _) = outcome(&["trace", &launch, "--out", "-"]);
    assert!(events.contains("\"p of group 0\"") && events.contains("\"uniform issues\""));
    let (code, _, errors) = outcome(&["trace", &kernel("prf/saxpy"), "--format=text", "--out=-"]);
    assert!(code == Some(2) && errors.contains("those of linx"), "{errors}");
}

#[test]
fn losses_are_told_by_the_instruction_that_turned_lanes_off() {
    let (_, text, _) = outcome(&["explain", &kernel("linx/nested_if")]);
    let table = text.split("by instruction that turned lanes of p off").nth(1).expect("a table");
    let (table, _) = table.split_once("\nby line").expect("the next table");
    assert!(table.contains("line 15: v.cmp.lti vt#1.sw, 0, ->p"), "{table}");
    let (_, json, _) = outcome(&["explain", &kernel("linx/nested_if"), "--json", "-"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    // What masks cost is what is masked off in all.
    let costs = json["by_mask"].as_array().expect("a list");
    let sum: u64 = costs.iter().filter_map(|row| row["lane_slots"].as_u64()).sum();
    assert_eq!(Some(sum), json["slots_masked_off"].as_u64());
}

#[test]
fn bodies_have_graphs_and_listings() {
    let program = kernel("linx/nested_if/nested_if.linx");
    let (code, text, _) = outcome(&["cfg", &program]);
    assert_eq!(code, Some(0));
    assert!(text.contains("-> body+0x24 (a lane of p is on; p from line 15)"), "{text}");
    assert!(text.contains("at its start p from line 15 or line 24"), "{text}");
    let (_, dot, _) = outcome(&["cfg", &program, "--format", "dot"]);
    assert!(dot.contains("[label=\"no lane of p is on; p from line 15\"]"), "{dot}");
    let binary = file("nested.bin", "");
    let (code, listing, _) =
        outcome(&["asm", "--isa", "linx", &program, "-o", &binary, "--listing"]);
    assert_eq!(code, Some(0));
    let line = |text: &str| {
        let found = listing.lines().find(|line| line.ends_with(text));
        found.unwrap_or_else(|| panic!("no {text} in {listing}"))
    };
    assert!(line("v.cmp.lti vt#1.sw, 0, ->p").contains("  body  lanes  v.cmp"));
    assert!(line("b.z     nonneg").contains("  body  once   b.z"));
    assert!(!line("B.TEXT  body").contains("once"));
}

#[test]
fn value_changes_are_written_to_files() {
    let [dump, text] = [file("run.vcd", ""), file("run.txt", "")];
    let (vcd, changes) = (format!("vcd={dump}"), format!("changes={text}"));
    let launch = kernel("prf/if_else");
    let run = ["run", &launch, "--stats", "none", "--option", &vcd, "--option", &changes];
    let (code, _, errors) = outcome(&run);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    let dump = std::fs::read_to_string(dump).expect("a file");
    for part in ["$scope module predicates0 $end", " p1 $end", "$scope module write_predicate $end"]
    {
        assert!(dump.contains(part), "{part}");
    }
    let text = std::fs::read_to_string(text).expect("a file");
    assert!(text.lines().any(|line| line.contains(" p1=")), "{text}");
    let (code, _, errors) = outcome(&["explain", &launch, "--option", &vcd]);
    assert!(code == Some(2) && errors.contains("writes no files of the machine's own"), "{errors}");
}
