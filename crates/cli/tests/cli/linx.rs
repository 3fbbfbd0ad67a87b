//! LinxISA through the command: assembly and disassembly in both operand codecs, binaries with
//! arguments, every documented option of `run`, conformance tables with failing rows.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn simtlab(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_simtlab")).args(args).output().expect("the command starts")
}

/// Returns the exit code, standard output and standard error.
fn outcome(args: &[&str]) -> (Option<i32>, String, String) {
    let output = simtlab(args);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Creates a file for this test.
fn file(name: &str, contents: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("linx");
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name);
    std::fs::write(&path, contents).expect("a file");
    path.display().to_string()
}

/// Doubles `n` words of `x`; if `shared` is not 0, several groups write the same word.
const DOUBLE: &str = "
        .param  x
        .param  n
_start: BSTART.MPAR 0
        B.TEXT  body
        B.IOR   [a0,a1],[]
        C.B.DIMI 8, ->lb0
        C.B.DIMI 2, ->lb1
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.cmp.ltu lc0.ud, ri1.ud, ->p
        v.lw.brg [ri0, lc0<<2, zero.ud], ->vt.w
        v.add   vt#1.uw, vt#1.uw, ->vt.w
        v.sw.brg vt#1.uw, [ri0, lc0<<2, zero.ud<<2]
        C.BSTOP
";

#[test]
fn a_binary_takes_the_arguments_of_its_registers() {
    let source = file("double.linx", DOUBLE);
    let binary = PathBuf::from(&source).with_extension("bin").display().to_string();
    assert_eq!(outcome(&["asm", "--isa", "linx", &source, "-o", &binary]).0, Some(0));
    let run = ["run", "--isa", "linx", &binary, "--stats", "none"];
    let with = |args: &[&str]| outcome(&[&run[..], args].concat());
    // Two groups in sequence double the words twice.
    let (code, shown, errors) = with(&["--arg", "x=u32[4]:[1,2,3,4]", "--arg", "u64:3"]);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert!(shown.contains("x = u32[4] [4, 8, 12, 4]"), "{shown}");
    // An omitted argument is 0: no lane is on.
    let (code, shown, _) = with(&["--arg", "x=u32[4]:[1,2,3,4]"]);
    assert_eq!(code, Some(0));
    assert!(shown.contains("x = u32[4] [1, 2, 3, 4]"), "{shown}");
    assert_eq!(with(&["--arg", "u64:1"].repeat(9)).0, Some(2));
    // Assembly text declares its parameters.
    let few = ["run", "--isa", "linx", &source, "--arg", "x=u32[4]"];
    let (code, _, errors) = outcome(&few);
    assert!(code == Some(2) && errors.contains("no argument is given for n"), "{errors}");
    // The listing of the binary is that of the text.
    let (_, listing, _) = outcome(&["disasm", "--isa", "linx", &binary]);
    assert!(listing.contains("v.cmp.ltu lc0.ud, ri1.ud, ->p"), "{listing}");
}

#[test]
fn every_option_takes_its_values_and_refuses_others() {
    let source = file("options.linx", DOUBLE);
    let run = ["run", "--isa", "linx", &source, "--arg", "x=u32[8]", "--arg", "u64:4"];
    let code = |args: &[&str]| outcome(&[&run[..], &["--stats", "none"], args].concat()).0;
    let options = [
        ("group-width", &["1", "2", "4", "8", "16", "32", "64"][..], "3"),
        ("inactive", &["merge", "zero", "poison"], "keep"),
        ("region", &["first-terminator", "taken-path"], "all"),
        ("replay", &["on", "off"], "maybe"),
        ("linear-groups", &["on", "off", "attr"], "some"),
        ("lc0", &["lane"], "thread"),
        ("import-order", &["sources", "exports"], "none"),
        ("order", &["0", "7", "18446744073709551615"], "-1"),
        ("align", &["on", "off"], "2"),
        ("lenient-dim", &["on", "off"], ""),
        ("lenient-arg", &["on", "off"], "yes"),
        ("gpr-writes", &["reject", "warn"], "allow"),
        ("l-bstop", &["on", "off"], "L"),
        ("strict-branches", &["on", "off"], "very"),
        ("conflicts", &["on", "off"], "all"),
        ("check", &["on", "off"], "x"),
        ("entry", &["_start", "0x10000", "65536"], "nowhere"),
        ("map", &["0x3000000+4096", "0x3000000+16,0x4000000+16"], "0x3000000"),
        ("tile-ops", &["v0.3", "v0.4"], "v0.2"),
        ("codec", &["regid10"], "c"),
    ];
    for (name, good, bad) in options {
        for value in good {
            // Both groups double the same elements, which this option reports.
            let expected = if (name, *value) == ("conflicts", "on") { 1 } else { 0 };
            let found = code(&["--option", &format!("{name}={value}")]);
            assert_eq!(found, Some(expected), "{name}={value}");
        }
        assert_eq!(code(&["--option", &format!("{name}={bad}")]), Some(2), "{name}={bad}");
    }
    // The diagnostic for an unknown name lists all options.
    let (_, _, errors) = outcome(&[&run[..], &["--option", "colour=red"]].concat());
    for (name, ..) in options {
        assert!(errors.contains(name), "{name}: {errors}");
    }
    // Options with a flag of their own, and one on which this program's lanes depend.
    for flags in [
        &["--group-width", "4"][..],
        &["--inactive", "zero"],
        &["--region", "taken-path"],
        &["--replay"],
        &["--map", "0x3000000+16"],
        &["--seed", "3"],
        &["--tile-ops", "v0.3"],
        &["--mechanism", "exec-poison"],
        &["--warp-size", "2"],
    ] {
        assert_eq!(code(flags), Some(0), "{flags:?}");
    }
    let group = code(&["--option", "lc0=group"]);
    assert_eq!(group, Some(0));
}

#[test]
fn checks_report_conflicts_and_entries_that_nothing_was_pushed_to() {
    let source = file(
        "findings.linx",
        &DOUBLE.replace("v.add   vt#1.uw, vt#1.uw", "v.add   vt#1.uw, vn#1.uw"),
    );
    let run = ["run", "--isa", "linx", &source, "--arg", "x=u32[4]", "--arg", "u64:4"];
    let shown = |args: &[&str]| {
        let (_, out, errors) = outcome(&[&run[..], args].concat());
        out + &errors
    };
    let (conflict, unwritten) = (
        "the result depends on the order of groups: byte 0 of \"x\"",
        "unwritten: 2 reads of queue entries",
    );
    let plain = shown(&[]);
    assert!(!plain.contains(conflict) && !plain.contains("unwritten:"), "{plain}");
    let in_order = shown(&["--option", "conflicts=on"]);
    assert!(in_order.contains(conflict) && in_order.contains("group 1 uses it here"), "{in_order}");
    assert!(shown(&["--option", "check=on"]).contains(unwritten));
    // Another order of groups reports the same dependence.
    let turned = shown(&["--option", "conflicts=on", "--seed", "1"]);
    assert!(turned.contains("the result depends on the order of groups"), "{turned}");
}

#[test]
fn both_codecs_are_written_and_read_and_one_runs() {
    let hex = |codec: &str, digits: &str| {
        outcome(&["disasm", "--isa", "linx", "--codec", codec, "-x", digits])
    };
    let (code, shown, _) = hex("b", "ff0202101da100e0");
    assert!(code == Some(0) && shown.contains("v.shfl.bfly vt#1, p, ->vu#2"), "{shown}");
    let (code, shown, _) = hex("regid10", "7f026b0105004000");
    assert!(code == Some(0) && shown.contains("v.add lc0.sw, lc1.sw, ->vt.w"), "{shown}");
    let source = file(
        "other.linx",
        "_start: C.BSTART.STD\nebreak 0\nbody: v.shfl.bfly vt#1, p, ->vu#2\nC.BSTOP\n",
    );
    let binary = PathBuf::from(&source).with_extension("bin").display().to_string();
    let assemble = ["asm", "--isa", "linx", "--codec", "b", &source, "-o", &binary];
    assert_eq!(outcome(&assemble).0, Some(0));
    let bytes = std::fs::read(&binary).expect("the binary");
    assert!(bytes.windows(8).any(|w| w == [0xff, 2, 2, 0x10, 0x1d, 0xa1, 0, 0xe0]), "{bytes:x?}");
    let (_, listing, _) = outcome(&["disasm", "--isa", "linx", "--codec", "b", &binary]);
    assert!(listing.contains("v.shfl.bfly vt#1, p, ->vu#2"), "{listing}");
    // Without types it cannot be run, and the default codec requires them.
    let (code, _, errors) = outcome(&["run", "--isa", "linx", "--option", "codec=b", &source]);
    assert!(code == Some(2) && errors.contains("cannot be run"), "{errors}");
    assert_eq!(outcome(&["asm", "--isa", "linx", &source, "-o", &binary]).0, Some(2));
    let (code, _, errors) = hex("b", "7f0");
    assert!(code == Some(2) && errors.contains("hexadecimal"), "{errors}");
    // A truncated instruction is disassembled as bytes.
    let (code, shown, _) = hex("regid10", "7f026b");
    assert!(code == Some(0) && shown.contains(".byte 0x7f, 0x02, 0x6b"), "{shown}");
}

#[test]
fn conformance_tables_name_the_rows_that_fail() {
    let (code, shown, _) = outcome(&["conform", "--isa", "linx"]);
    assert_eq!((code, shown.lines().last()), (Some(0), Some("462 passed, 0 failed")));
    let map = file("opcodes.csv", "name,number\nTADD,0\nTEXP,0x40\nV.ADD,0x000000050000007f\n");
    let (code, shown, _) = outcome(&["conform", "--isa", "linx", &map]);
    assert_eq!(code, Some(1));
    assert!(shown.contains("TEXP: expected 0x40, got 0xe"), "{shown}");
    assert_eq!(shown.lines().last(), Some("2 passed, 1 failed"));
    // Two tables are counted together; in the other numbering TEXP has no number.
    let old = file("old.tsv", "name\tnumber\nTADDS\t0x40\nTEXP\t0x40\n");
    let (code, shown, _) = outcome(&["conform", "--isa", "linx", "--tile-ops", "v0.3", &old]);
    assert_eq!((code, shown.lines().last()), (Some(1), Some("1 passed, 1 failed")));
    assert!(shown.contains("0x040 is TADDS"), "{shown}");
    let (code, shown, _) = outcome(&["conform", "--isa", "linx", &map, &old]);
    assert_eq!((code, shown.lines().last()), (Some(1), Some("2 passed, 3 failed")));
}

#[test]
fn check_warns_of_instructions_that_a_body_may_not_contain() {
    let source = file(
        "bodies.linx",
        "_start: BSTART.MPAR 0\nB.TEXT body\nC.B.DIMI 4, ->lb0\nC.BSTART.STD\nebreak 0\n\
         body: lwi [a0, 0], ->t\nb.nz _start\nC.BSTOP\n",
    );
    let (code, _, errors) = outcome(&["check", "--isa", "linx", &source]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(errors.contains("closed in a body") && errors.contains("outside the body"), "{errors}");
    // Empty and truncated programs cause an error, not a panic.
    for (name, contents) in [("empty.bin", ""), ("one.bin", "x")] {
        let path = file(name, contents);
        let (code, _, errors) = outcome(&["run", "--isa", "linx", &path]);
        assert!(matches!(code, Some(2 | 3)), "{name}: {errors}");
    }
}

#[test]
fn a_table_changes_numbers_without_building_anew() {
    let source = file("variant.linx", DOUBLE);
    let table = file(
        "variant.tsv",
        "# Additions and subtractions change places; the body's fetch trap has another number.\n\
         v.add\t\t\t000010050000007f\nv.sub\t\t\t000000050000007f\n@cause body-fetch 0x444\n",
    );
    let [binary, plain] = ["variant.bin", "plain.bin"].map(|n| file(n, ""));
    let asm = |to: &str, more: &[&str]| {
        outcome(&[&["asm", "--isa", "linx", &source, "-o", to], more].concat()).0
    };
    assert_eq!(asm(&binary, &["--table", &table]), Some(0));
    assert_eq!(asm(&plain, &[]), Some(0));
    assert_ne!(std::fs::read(&binary).unwrap(), std::fs::read(&plain).unwrap());
    let run = |more: &[&str]| {
        let common = ["run", "--isa", "linx", "--stats", "none"];
        let arguments = ["--arg", "u32[4]:[1,2,3,4]", "--arg", "u64:3"];
        outcome(&[&common[..], &arguments, more].concat())
    };
    let option = format!("table={table}");
    for more in [["--table", &table], ["--option", &option]] {
        let (code, shown, errors) = run(&[&[binary.as_str()][..], &more].concat());
        assert_eq!((code, errors.as_str()), (Some(0), ""));
        assert!(shown.contains("[4, 8, 12, 4]"), "{shown}");
    }
    // By the numbers of LinxISA it subtracts.
    assert!(run(&[&binary]).1.contains("[0, 0, 0, 4]"));
    let listing =
        |file: &str, more: &[&str]| outcome(&[&["disasm", "--isa", "linx", file], more].concat()).1;
    let text = |listing: String| listing.matches("v.add ").count();
    assert_eq!(text(listing(&binary, &["--table", &table])), 1);
    assert_eq!((text(listing(&binary, &[])), text(listing(&plain, &[]))), (0, 1));
    let alone = run(&[&binary, "--table", &table, "--tile-ops", "v0.3"]);
    assert_eq!(alone.0, Some(2));
    assert!(alone.2.contains("a table goes with codec regid10"), "{}", alone.2);
}

#[test]
fn a_table_with_mistakes_is_told_with_its_lines() {
    let source = file("wrong.linx", DOUBLE);
    let table = file("wrong.tsv", "v.add\t\t\t000020050000007f\nv.plus\t64\n");
    let (code, _, errors) = outcome(&["check", "--isa", "linx", &source, "--table", &table]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("line 2: there is no form `v.plus`"), "{errors}");
    let (code, _, errors) = outcome(&["check", "--isa", "linx", &source, "--table", "none.tsv"]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("the table none.tsv: "), "{errors}");
    // A file without an end.
    let (code, _, errors) = outcome(&["check", "--isa", "linx", &source, "--table", "/dev/zero"]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("/dev/zero: it has more than"), "{errors}");
}
