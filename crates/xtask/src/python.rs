//! A Python virtual environment under `target/` with the packages that a requirements file pins.
//!
//! It is made on first use and again whenever that file changes; the system's own Python stays as
//! it is.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::tree;

/// A virtual environment that holds exactly what its requirements file names.
pub(crate) struct Python {
    interpreter: PathBuf,
}

impl Python {
    /// The environment in `folder` for `requirements`; made if it is not there or not current.
    pub(crate) fn with(folder: &Path, requirements: &Path) -> Result<Self> {
        let wanted = fs::read_to_string(requirements)
            .with_context(|| format!("cannot read {}", tree::shown(requirements)))?;
        let python = Self { interpreter: interpreter_in(folder) };
        // Written last, so an installation that was broken off is not taken for a finished one.
        let stamp = folder.join("installed.txt");
        if python.interpreter.exists()
            && fs::read_to_string(&stamp).is_ok_and(|found| found == wanted)
        {
            return Ok(python);
        }
        tree::fresh_folder(folder)?;
        create(folder)?;
        python.install(requirements, &folder.join("pip.log"))?;
        fs::write(&stamp, wanted)
            .with_context(|| format!("cannot write {}", tree::shown(&stamp)))?;
        Ok(python)
    }

    fn install(&self, requirements: &Path, log: &Path) -> Result<()> {
        let status = Command::new(&self.interpreter)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"])
            .arg("--log")
            .arg(log)
            .arg("--requirement")
            .arg(requirements)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .context("cannot run pip")?;
        if !status.success() {
            bail!(
                "pip could not install what {} names; the reasons are in {}\n\
                 Without network access, set PIP_FIND_LINKS to a folder that holds the packages, and PIP_NO_INDEX=1.",
                tree::shown(requirements),
                tree::shown(log)
            );
        }
        Ok(())
    }

    /// Runs a script in `folder` with `arguments`; its messages go to this terminal, its failure is
    /// an error.
    pub(crate) fn run<A: AsRef<OsStr>>(
        &self,
        script: &Path,
        arguments: &[A],
        folder: &Path,
    ) -> Result<()> {
        let status = Command::new(&self.interpreter)
            .arg("-B")
            .args(["-W", "error"])
            .arg(script)
            .args(arguments)
            .current_dir(folder)
            .status()
            .with_context(|| format!("cannot run {}", tree::shown(script)))?;
        if !status.success() {
            bail!("{} failed ({status})", tree::shown(script));
        }
        Ok(())
    }
}

/// Makes an empty virtual environment with the system's Python, or the one that `PYTHON` names.
fn create(folder: &Path) -> Result<()> {
    let system = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let output = Command::new(&system).args(["-m", "venv"]).arg(folder).output().with_context(|| {
        format!(
            "cannot run {}: this chore takes Python 3.11 or later; install it, or name it in the variable PYTHON",
            system.display()
        )
    })?;
    if !output.status.success() {
        bail!(
            "{} cannot make a virtual environment (on Debian and Ubuntu, install the package python3-venv):\n{}{}",
            system.display(),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}

fn interpreter_in(folder: &Path) -> PathBuf {
    if cfg!(windows) {
        folder.join("Scripts").join("python.exe")
    } else {
        folder.join("bin").join("python")
    }
}
