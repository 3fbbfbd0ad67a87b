//! The header is what cbindgen makes of the crate, and the struct of statistics is made from
//! [`LaunchTotals`]; `SIMTLAB_BLESS=1` writes both.

use runtime::LaunchTotals;
use std::fmt::Write as _;
use std::path::Path;

/// Compares a file of the crate with what it should be, or rewrites it.
fn check(name: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("SIMTLAB_BLESS").is_some() {
        std::fs::write(&path, made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(made == committed, "{name} is not current: run with SIMTLAB_BLESS=1");
}

/// The source of the struct of statistics. cbindgen reads sources without expanding macros.
fn stats() -> String {
    let mut made = "\
//! The statistics of a launch as C programs see them. Made from `runtime::LaunchTotals` by a test
//! (`SIMTLAB_BLESS=1` writes it anew); do not edit.

/// What a launch did.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct simtlab_stats {
"
    .to_owned();
    for (name, about) in LaunchTotals::COUNTS {
        writeln!(made, "    ///{about}\n    pub {name}: u64,").unwrap();
    }
    made.push_str(
        "    /// Nanoseconds it took.
    pub nanoseconds: u64,
    /// 1 if the fast engine ran it, 0 if the exact one did.
    pub fast: u32,
}
",
    );
    made
}

#[test]
fn the_header_is_current() {
    check("src/stats.rs", &stats());
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let builder = cbindgen::Builder::new().with_src(root.join("src/lib.rs"));
    let mut made = Vec::new();
    builder.with_config(config).generate().unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();
    check("include/simtlab.h", &made);
}
