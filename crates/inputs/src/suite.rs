//! Suite files: what a sweep runs, written in TOML.
//!
//! A suite names launch files by patterns, and the values of each axis; docs/sweeps.md describes
//! the form. It is read here as data: that mechanisms exist and patterns match is checked by
//! whoever runs it.

use isa::{Diagnostic, Diagnostics, FileId, Span};
use toml::de::{DeTable, DeValue};

use crate::launch::Located;
use crate::toml_reader::{Reader, Table};

/// The only version of the form.
pub const SUITE_SCHEMA_VERSION: u64 = 1;

/// Keys of the root table.
pub const SUITE_KEYS: &[&str] = &["schema", "name", "description", "kernels", "sweep"];
/// Keys of `[[kernels]]`.
pub const KERNELS_KEYS: &[&str] = &["paths", "exclude"];
/// Keys of `[sweep]`.
pub const SWEEP_KEYS: &[&str] =
    &["mechanisms", "warp_sizes", "orders", "profiles", "options", "seeds", "limit"];

/// Widest issue group.
const WIDEST: u64 = 1024;
/// Most values of an axis.
const MOST: usize = 4096;

/// A suite file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SuiteFile {
    /// The sweep's name; by default that of the file.
    pub name: Option<Located<String>>,
    /// The launch files.
    pub kernels: Vec<SuiteKernels>,
    /// Mechanisms; none for all of the launch file's machine.
    pub mechanisms: Vec<Located<String>>,
    /// Warp sizes; none for that of the launch file.
    pub warp_sizes: Vec<u64>,
    /// Sides of a branch that run first.
    pub orders: Vec<Located<String>>,
    /// Profiles of real machines.
    pub profiles: Vec<Located<String>>,
    /// Options with their values; all combinations are run.
    pub options: Vec<(Located<String>, Vec<Located<String>>)>,
    /// Seeds of random inputs; none for that of the launch file.
    pub seeds: Vec<u64>,
    /// Limit of issues.
    pub limit: Option<Located<u64>>,
}

/// Launch files of a suite.
#[derive(Clone, Debug, PartialEq)]
pub struct SuiteKernels {
    /// Patterns of launch files, or of directories that hold a `launch.toml`, relative to the suite
    /// file.
    pub paths: Vec<Located<String>>,
    /// Patterns of what is left out.
    pub exclude: Vec<Located<String>>,
    /// The table's place.
    pub span: Span,
}

impl SuiteFile {
    /// Parses the text of a suite file; `file` is its entry in the caller's source map. All errors
    /// of the file are added to `found`. What is returned then is what could be read, so that its
    /// names can be checked, too; nothing if the text is no TOML.
    pub fn parse(text: &str, file: FileId, found: &mut Diagnostics) -> Option<Self> {
        if u32::try_from(text.len()).is_err() {
            found.push(Diagnostic::error("suite::size", "the suite file is too large"));
            return None;
        }
        let (document, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            let range = error.span().unwrap_or(0..0);
            let span = Span::new(file, range.start as u32, range.end as u32);
            found.push(Diagnostic::error("suite::toml", error.message()).at(span, ""));
        }
        if found.has_errors() {
            return None;
        }
        let (value_code, key_code) = ("suite::value", "suite::key");
        let mut reader = Reader { file, found, value_code, key_code };
        let span = reader.span(&document.span());
        Some(reader.suite(document.get_ref(), span))
    }
}

impl Reader<'_> {
    fn suite(&mut self, document: &DeTable<'_>, span: Span) -> SuiteFile {
        let root = self.open_known("a suite file", document, span, SUITE_KEYS);
        match self.integer(&root, "schema", 0, u64::MAX) {
            None if root.get("schema").is_none() => self.missing(&root, "schema", "schema = 1"),
            Some(Located { value, span }) if value != SUITE_SCHEMA_VERSION => {
                let message = format!("suite files of schema {value} are not known");
                self.wrong(span, message, format!("this version reads {SUITE_SCHEMA_VERSION}"));
            }
            _ => {}
        }
        let mut suite = SuiteFile { name: self.string(&root, "name"), ..SuiteFile::default() };
        if let Some(name) = &suite.name
            && (name.value.is_empty() || name.value.len() > 100)
        {
            self.wrong(name.span, "the name of a suite has 1 to 100 bytes", "shorten it");
        }
        // The description has no function.
        let _ = self.string(&root, "description");
        for (table, span) in self.tables(&root, "kernels") {
            let table = self.open_known("[[kernels]]", table, span, KERNELS_KEYS);
            let paths = self.strings(&table, "paths").unwrap_or_default();
            if table.get("paths").is_none() {
                self.missing(&table, "paths", "paths = [\"kernels/*/launch.toml\"]");
            }
            let exclude = self.strings(&table, "exclude").unwrap_or_default();
            suite.kernels.push(SuiteKernels { paths, exclude, span });
        }
        if root.get("kernels").is_none() {
            self.missing(&root, "kernels", "[[kernels]] with paths = [\"kernels/*\"]");
        }
        if let Some((table, span)) = self.table(&root, "sweep") {
            let table = self.open_known("[sweep]", table, span, SWEEP_KEYS);
            self.axes(&table, &mut suite);
        }
        suite
    }

    fn axes(&mut self, table: &Table<'_>, suite: &mut SuiteFile) {
        suite.mechanisms = self.axis(table, "mechanisms");
        suite.orders = self.axis(table, "orders");
        suite.profiles = self.axis(table, "profiles");
        let sizes = self.integers(table, "warp_sizes", 1..=MOST, 1, WIDEST);
        suite.warp_sizes = sizes.map_or_else(Vec::new, |sizes| sizes.value);
        let seeds = self.integers(table, "seeds", 1..=MOST, 0, u64::MAX);
        suite.seeds = seeds.map_or_else(Vec::new, |seeds| seeds.value);
        suite.limit = self.integer(table, "limit", 1, u64::MAX);
        let Some((options, span)) = self.table(table, "options") else { return };
        let options = self.open("[sweep.options]", options, span);
        for entry in options.entries() {
            let key = Located { value: entry.key.to_owned(), span: entry.key_span };
            let values = match entry.value {
                DeValue::Array(items) => items
                    .iter()
                    .filter_map(|item| {
                        let span = self.span(&item.span());
                        self.literal(entry.key, item.get_ref(), span)
                    })
                    .collect(),
                value => Vec::from_iter(self.literal(entry.key, value, entry.span)),
            };
            if values.is_empty() {
                let message = format!("`{}` has no values", entry.key);
                self.wrong(entry.span, message, "name at least one");
            }
            suite.options.push((key, values));
        }
    }

    /// Reads the names of an axis, at least one.
    fn axis(&mut self, table: &Table<'_>, key: &str) -> Vec<Located<String>> {
        let Some(names) = self.strings(table, key) else { return Vec::new() };
        if let (true, Some(entry)) = (names.is_empty(), table.get(key)) {
            self.wrong(
                entry.span,
                format!("`{key}` is empty"),
                "name at least one, or leave it away",
            );
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SuiteFile, Vec<String>> {
        let mut found = Diagnostics::new();
        let read = SuiteFile::parse(text, FileId(0), &mut found);
        read.filter(|_| !found.has_errors())
            .ok_or(found)
            .map_err(|found| found.iter().map(|f| f.message.clone()).collect())
    }

    #[test]
    fn a_suite_with_every_axis() {
        let text = r#"
schema = 1
name = "all"
[[kernels]]
paths = ["a/*", "b/launch.toml"]
exclude = "a/slow*"
[sweep]
mechanisms = ["ipdom", "min-pc"]
warp_sizes = [8, 32]
orders = "taken"
profiles = ["pascal"]
seeds = [1, 2]
limit = 1000
[sweep.options]
policy = ["first", "round-robin"]
slice = 64
"#;
        let suite = read(text).expect("is a suite");
        assert_eq!(suite.kernels[0].paths.len(), 2);
        assert_eq!(suite.kernels[0].exclude[0].value, "a/slow*");
        assert_eq!((suite.warp_sizes, suite.seeds), (vec![8, 32], vec![1, 2]));
        assert_eq!(suite.options[0].1.len(), 2);
        assert_eq!(suite.options[1].1[0].value, "64");
        assert_eq!(suite.limit.map(|l| l.value), Some(1000));
    }

    #[test]
    fn all_errors_at_once() {
        let text = "schema = 2\nkernel = 1\n[[kernels]]\npath = 1\n[sweep]\nwarp_sizes = [0]\nmechanisms = []\n[sweep.options]\npolicy = []\nslice = true\n";
        let errors = read(text).expect_err("is wrong");
        for part in [
            "schema 2",
            "no key `kernel`",
            "no key `path`",
            "needs `paths`",
            "`warp_sizes` is out of range",
            "`mechanisms` is empty",
            "`policy` has no values",
            "`slice` is made of numbers",
        ] {
            assert!(errors.iter().any(|e| e.contains(part)), "{part}: {errors:?}");
        }
        assert!(read("schema = [").is_err());
        assert_eq!(read("schema = 1"), Err(vec!["a suite file needs `kernels`".to_owned()]));
    }
}
