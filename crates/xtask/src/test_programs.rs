//! Test programs of a copy of the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// A built test program: its file, and the folder of its package.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) file: PathBuf,
    pub(crate) package: PathBuf,
}

impl Program {
    /// Returns the command that runs it as cargo does.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.file);
        command.current_dir(&self.package);
        command
    }
}

/// Test programs by package and name.
pub(crate) struct Programs(BTreeMap<(String, String), Program>);

impl Programs {
    /// Builds the programs of these names in these packages, with settings of cargo.
    ///
    /// # Errors
    /// Returns the compiler's messages if the copy does not build.
    pub(crate) fn build<'a>(
        copy: &Path,
        target: &Path,
        tests: impl Iterator<Item = (&'a str, &'a str)>,
        settings: &[impl AsRef<str>],
    ) -> Result<Self> {
        let (packages, names): (BTreeSet<&str>, BTreeSet<&str>) = tests.unzip();
        let built = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["test", "--locked", "--no-run", "-q"])
            .args(["--message-format", "json-render-diagnostics"])
            .args(packages.iter().flat_map(|package| ["-p", package]))
            .args(names.iter().flat_map(|name| ["--test", name]))
            .args(settings.iter().flat_map(|setting| ["--config", setting.as_ref()]))
            .arg("--target-dir")
            .arg(target)
            .current_dir(copy)
            .output()
            .context("cannot run cargo")?;
        if !built.status.success() {
            bail!("the copy does not build:\n{}", String::from_utf8_lossy(&built.stderr));
        }
        Ok(Self(String::from_utf8(built.stdout)?.lines().filter_map(program).collect()))
    }

    /// Returns a program.
    pub(crate) fn get(&self, package: &str, name: &str) -> Result<&Program> {
        let found = self.0.get(&(package.to_owned(), name.to_owned()));
        found.with_context(|| format!("cargo has built no program `{name}` of {package}"))
    }
}

/// The program that a message of cargo names, with its package and name.
fn program(message: &str) -> Option<((String, String), Program)> {
    let message: Value = serde_json::from_str(message).ok()?;
    let file = message["executable"].as_str()?.into();
    let package = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    let (_, id) = message["package_id"].as_str()?.rsplit_once('#')?;
    let package_name = id.split_once('@').map_or(id, |(name, _)| name);
    let key = (package_name.to_owned(), message["target"]["name"].as_str()?.to_owned());
    Some((key, Program { file, package }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_messages_of_cargo() {
        let line = |executable: &str| {
            format!(
                r#"{{"package_id":"path+file:///a/crates/vm#simtlab-vm@0.1.0","manifest_path":"/a/crates/vm/Cargo.toml","target":{{"name":"engine"}},"executable":{executable},"rendered":"say \"no\""}}"#
            )
        };
        let key = ("simtlab-vm".to_owned(), "engine".to_owned());
        let found = Program { file: "/t/engine-1".into(), package: "/a/crates/vm".into() };
        assert_eq!(program(&line(r#""/t/engine-1""#)), Some((key, found)));
        assert_eq!(program(&line("null")), None);
        assert_eq!(program("no message"), None);
    }
}
