//! Every file below `tests/` is a test, and so is every launch file below the repository's
//! `kernels/`.
//!
//! `SIMTLAB_BLESS=1`, or `--bless` after `--`, rewrites statistics and texts of errors instead of
//! comparing them.

use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let asked = std::env::var_os("SIMTLAB_BLESS").is_some_and(|v| !v.is_empty() && v != "0");
    let bless = asked || std::env::args().any(|a| a == "--bless");
    let arguments = Arguments::from_iter(std::env::args().filter(|a| a != "--bless"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut trials = Vec::new();
    for (prefix, folder) in [("", root.join("tests")), ("kernels/", root.join("../../kernels"))] {
        let cases = match filetests::cases(&folder) {
            Ok(cases) => cases,
            Err(error) => {
                let name = folder.display().to_string();
                let failed = move || Err(error.to_string().into());
                trials.push(Trial::test(name, failed));
                continue;
            }
        };
        for path in cases {
            let inside = path.strip_prefix(&folder).unwrap_or(&path).to_owned();
            if prefix.is_empty() || inside.extension().is_some_and(|e| e == "toml") {
                let name = format!("{prefix}{}", inside.display());
                trials.push(Trial::test(name, move || run(&path, bless)));
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn run(path: &Path, bless: bool) -> Result<(), libtest_mimic::Failed> {
    if bless {
        filetests::bless(path)?;
    }
    filetests::check(path).map_err(Into::into)
}
