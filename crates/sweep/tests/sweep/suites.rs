//! Suite files with errors, and the rows of what cannot run.

use std::path::{Path, PathBuf};

use isa::SourceMap;
use sweep::{Manifest, Shard, Store, StoreError, Suite, run};

/// Makes an empty folder for one test.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("can make a folder");
    folder
}

/// The bundled kernels.
pub(crate) fn kernels() -> PathBuf {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    kernels.canonicalize().expect("is there")
}

pub(crate) fn load(folder: &Path, text: &str) -> Result<Suite, Vec<String>> {
    let path = folder.join("suite.toml");
    std::fs::write(&path, text).expect("can write");
    let mut sources = SourceMap::new();
    Suite::load(&path, None, &mut sources)
        .map_err(|found| found.iter().map(|f| f.message.clone()).collect())
}

pub(crate) fn manifest(suite: &Suite, shard: Shard) -> Manifest {
    let (suite_name, digest) = (suite.name.clone(), suite.digest.clone());
    Manifest { suite: suite_name, digest, shard, rows: suite.rows() }
}

/// Runs a shard to its end; returns the table without times.
pub(crate) fn finish(suite: &Suite, folder: &Path, shard: Shard, threads: usize) -> String {
    let mut store = Store::open(folder, &manifest(suite, shard), true).expect("opens");
    assert!(run(suite, shard, &mut store, threads, &mut |_| true).expect("writes"));
    table(folder)
}

pub(crate) fn table(folder: &Path) -> String {
    let mut text = Vec::new();
    sweep::csv(folder, &mut text, false).expect("reads");
    String::from_utf8(text).expect("is text")
}

#[test]
fn all_wrong_names_are_told_at_once() {
    let folder = scratch("wrong_names");
    let text = r#"
schema = 1
[[kernels]]
paths = ["nothing/*", "[a"]
[sweep]
mechanisms = ["ipdon", "ipdom"]
orders = ["last"]
profiles = ["turin"]
[sweep.options]
polici = ["first"]
"#;
    let errors = load(&folder, text).expect_err("is wrong");
    for part in [
        "`ipdon`",
        "`last`",
        "`turin`",
        "`polici`",
        "no launch file matches `nothing/*`",
        "`[a` is no pattern",
    ] {
        assert!(errors.iter().any(|e| e.contains(part)), "{part}: {errors:?}");
    }
    assert!(!errors.iter().any(|e| e.contains("`ipdom`")), "{errors:?}");
}

#[test]
fn errors_of_form_and_of_names_are_told_together() {
    let text = "schema = 1\n[[kernels]]\npaths = [\"nothing/*\"]\n[sweep]\nmechanisms = [\"ipdon\"]\nwarp_sizes = [0]\ncolour = 3\n";
    let errors = load(&scratch("together"), text).expect_err("is wrong");
    for part in
        ["no key `colour`", "`warp_sizes` is out of range", "`ipdon`", "matches `nothing/*`"]
    {
        assert!(errors.iter().any(|e| e.contains(part)), "{part}: {errors:?}");
    }
}

#[test]
fn knobs_make_rows_only_where_they_are_read() {
    let folder = scratch("knobs");
    let text = format!(
        "schema = 1\n[[kernels]]\npaths = [\"{}/divergence/nested\"]\n[sweep]\nmechanisms = [\"ipdom\", \"min-pc\", \"serial\"]\nwarp_sizes = [8, 32]\n\
         profiles = [\"pascal\"]\nseeds = [1, 2]\n[sweep.options]\npolicy = [\"first\", \"round-robin\", \"random\"]\n",
        kernels().display()
    );
    let suite = load(&folder, &text).expect("is a suite");
    // At two widths: ipdom and serial once, min-pc under three policies; the profile; two seeds.
    assert_eq!(suite.rows(), 2 * (2 * (1 + 1 + 3) + 1));
}

#[test]
fn what_cannot_run_is_a_row() {
    let folder = scratch("failures");
    let put = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("can write");
    put("broken.toml", "schema = 1\nmachine = \"ptx\"\nmodule = 3\n");
    put(
        "absent.toml",
        "schema = 1\nmachine = \"ptx\"\nmodule = \"absent.ptx\"\n[[launch]]\nkernel = \"k\"\n",
    );
    put(
        "bad.ptx",
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { frob; }\n",
    );
    put(
        "bad.toml",
        "schema = 1\nmachine = \"ptx\"\nmodule = \"bad.ptx\"\n[[launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [1]\n",
    );
    put(
        "spin.ptx",
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { L: bra L; }\n",
    );
    put(
        "spin.toml",
        "schema = 1\nmachine = \"ptx\"\nmodule = \"spin.ptx\"\n[[launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [4]\n",
    );
    let text = "schema = 1\n[[kernels]]\npaths = [\"*.toml\"]\nexclude = [\"suite.toml\"]\n[sweep]\nmechanisms = [\"ipdom\", \"min-pc\"]\nlimit = 5000\n";
    let suite = load(&folder, text).expect("is a suite");
    let rows = folder.join("rows");
    let table = finish(&suite, &rows, Shard::WHOLE, 2);
    let lines: Vec<&str> = table.lines().skip(1).collect();
    assert_eq!(lines.len(), suite.rows(), "{table}");
    let of = |name: &str, verdict: &str| {
        let here =
            |l: &&&str| l.contains(&format!(",{name},")) && l.contains(&format!(",{verdict},"));
        lines.iter().filter(here).count()
    };
    assert_eq!(of("broken.toml", "error"), 1, "{table}");
    assert_eq!(of("absent.toml", "error"), 2, "{table}");
    assert_eq!(of("bad.toml", "error"), 2, "{table}");
    assert_eq!(of("spin.toml", "hang"), 2, "{table}");
    // Plots and a report of nothing but failures.
    assert!(sweep::report(&rows).expect("reads").contains("hang"));
}

#[test]
fn directories_of_others_are_refused() {
    let folder = scratch("others");
    let text = |name: &str| {
        format!(
            "schema = 1\nname = \"{name}\"\n[[kernels]]\npaths = [\"{}/divergence/nested\"]\n[sweep]\nmechanisms = [\"ipdom\"]\n",
            kernels().display()
        )
    };
    let suite = load(&folder, &text("one")).expect("is a suite");
    let rows = folder.join("rows");
    finish(&suite, &rows, Shard::WHOLE, 1);
    let open = |suite: &Suite, resume| Store::open(&rows, &manifest(suite, Shard::WHOLE), resume);
    assert!(matches!(open(&suite, false), Err(StoreError::Begun { rows: 1, .. })));
    let other = load(&folder, &text("two")).expect("is a suite");
    assert!(matches!(open(&other, true), Err(StoreError::Other { .. })));
    let held = open(&suite, true).expect("opens");
    assert!(matches!(open(&suite, true), Err(StoreError::Busy(_))));
    drop(held);
    let manifest_file = rows.join("sweep.json");
    let old = std::fs::read_to_string(&manifest_file).expect("is there");
    let (before, _) = old.split_once("(rows ").expect("names the version of rows");
    let older = format!("{before}(rows 0)\",{}", old.split_once(")\",").expect("goes on").1);
    std::fs::write(&manifest_file, older).expect("can write");
    assert!(matches!(open(&suite, true), Err(StoreError::Version { .. })));
    std::fs::write(&manifest_file, "{}").expect("can write");
    assert!(matches!(open(&suite, true), Err(StoreError::NotASweep(_))));
    // A folder with something else in it.
    let strange = scratch("strange");
    std::fs::write(strange.join("thesis.tex"), "").expect("can write");
    let opened = Store::open(&strange, &manifest(&suite, Shard::WHOLE), false);
    assert!(matches!(opened, Err(StoreError::NotASweep(_))));
}
