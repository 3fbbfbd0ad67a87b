//! The parser of launch files.

use std::path::PathBuf;

use isa::suggest::nearest;
use isa::{Diagnostic, Diagnostics, FileId, Span};
use toml::de::{DeTable, DeValue};

use super::{
    EXPECT_KEYS, Expectation, Expected, ExpectedBuffer, ExpectedContents, ExpectedMemory,
    ExpectedStatistic, ExpectedTrap, LAUNCH_KEYS, LaunchEntry, LaunchFile, Located, MachineOption,
    NamedBuffer, OptionValue, ROOT_KEYS, RUN_KEYS, RunDefaults, SCHEMA_VERSION,
};
use crate::argspec::{ArgSpec, parse_argument, parse_buffer};
use crate::elem::{ElemType, shortened};
use crate::tolerance::Tolerance;
use crate::toml_reader::{Reader, Table};

/// The kinds of hangs.
const HANGS: [&str; 3] = ["deadlock", "repeats", "limit"];

/// Most elements of an expectation that one literal describes.
const MOST_EXPECTED: u64 = 1 << 24;

impl LaunchFile {
    /// Parses the text of a launch file; `file` is its entry in the caller's source map.
    ///
    /// # Errors
    /// Returns all errors of the file, in text order.
    pub fn parse(text: &str, file: FileId) -> Result<Self, Diagnostics> {
        let mut found = Diagnostics::new();
        if u32::try_from(text.len()).is_err() {
            found.push(Diagnostic::error("launch::size", "the launch file is too large"));
            return Err(found);
        }
        let (document, errors) = DeTable::parse_recoverable(text);
        let mut last = None;
        for error in &errors {
            let range = error.span().unwrap_or(0..0);
            // The parser reports unclosed nested brackets once for each level, at the same place.
            if last.replace((error.message(), range.clone()))
                == Some((error.message(), range.clone()))
            {
                continue;
            }
            let span = Span::new(file, range.start as u32, range.end as u32);
            found.push(Diagnostic::error("launch::toml", error.message()).at(span, ""));
        }
        if found.has_errors() {
            return Err(in_text_order(&found));
        }
        let mut reader = Reader {
            file,
            found: &mut found,
            value_code: "launch::value",
            key_code: "launch::key",
        };
        let span = reader.span(&document.span());
        let read = reader.launch_file(document.get_ref(), span);
        match read {
            Some(read) if !found.has_errors() => Ok(read),
            _ => Err(in_text_order(&found)),
        }
    }
}

/// Sorts diagnostics by the place of their primary label.
fn in_text_order(found: &Diagnostics) -> Diagnostics {
    let mut list: Vec<Diagnostic> = found.iter().cloned().collect();
    list.sort_by_key(|d| d.primary.as_ref().map_or(0, |label| label.span.start));
    let mut sorted = Diagnostics::new();
    list.into_iter().for_each(|d| sorted.push(d));
    sorted
}

impl Reader<'_> {
    fn launch_file(&mut self, document: &DeTable<'_>, span: Span) -> Option<LaunchFile> {
        let root = self.open_known("a launch file", document, span, ROOT_KEYS);
        self.schema_version(&root);
        let machine = self.string(&root, "machine");
        if root.get("machine").is_none() {
            self.missing(&root, "machine", "machine = \"ptx\" or another machine");
        }
        let module = self.path(&root, "module");
        if root.get("module").is_none() {
            self.missing(&root, "module", "module = \"kernel.ptx\", the program's file");
        }
        // The description has no function.
        let _ = self.string(&root, "description");
        let run = self.run_defaults(&root);
        let options = self.options(&root);
        let buffers = self.buffers(&root);
        let launches: Vec<LaunchEntry> = self
            .tables(&root, "launch")
            .into_iter()
            .map(|(table, span)| self.launch(table, span, &buffers))
            .collect();
        if launches.is_empty() && root.get("launch").is_none() {
            self.missing(&root, "launch", "[[launch]] with kernel, grid, block and args");
        }
        let expectations = self
            .tables(&root, "expect")
            .into_iter()
            .filter_map(|(table, span)| self.expectation(table, span, &buffers, launches.len()))
            .collect();
        let (machine, module) = (machine?, module?);
        Some(LaunchFile { machine, module, run, options, buffers, launches, expectations })
    }

    fn schema_version(&mut self, root: &Table<'_>) {
        if root.get("schema").is_none() {
            self.missing(root, "schema", "schema = 1");
        }
        if let Some(version) = self.integer(root, "schema", 0, u64::MAX)
            && version.value != SCHEMA_VERSION
        {
            let message = format!("version {} of the format is not known", version.value);
            self.wrong(version.span, message, format!("write schema = {SCHEMA_VERSION}"));
        }
    }

    fn path(&mut self, table: &Table<'_>, key: &str) -> Option<Located<PathBuf>> {
        let text = self.string(table, key)?;
        if text.value.is_empty() {
            self.wrong(text.span, format!("`{key}` is empty"), "write the file's name");
        }
        Some(Located { value: PathBuf::from(text.value), span: text.span })
    }

    fn run_defaults(&mut self, root: &Table<'_>) -> RunDefaults {
        let Some((table, span)) = self.table(root, "run") else { return RunDefaults::default() };
        let table = self.open_known("[run]", table, span, RUN_KEYS);
        RunDefaults {
            mechanism: self.string(&table, "mechanism"),
            warp_size: self.integer(&table, "warp_size", 1, 1024),
            seed: self.integer(&table, "seed", 0, u64::MAX),
            limit: self.integer(&table, "limit", 1, u64::MAX),
        }
    }

    fn options(&mut self, table: &Table<'_>) -> Vec<MachineOption> {
        let Some((inner, span)) = self.table(table, "options") else { return Vec::new() };
        let inner = self.open("[options]", inner, span);
        let mut options = Vec::new();
        for entry in inner.entries() {
            let value = match entry.value {
                DeValue::String(text) => OptionValue::String(text.to_string()),
                DeValue::Boolean(value) => OptionValue::Boolean(*value),
                DeValue::Integer(n) => match i64::from_str_radix(n.as_str(), n.radix()) {
                    Ok(value) => OptionValue::Integer(value),
                    Err(_) => {
                        self.wrong(
                            entry.span,
                            "the integer does not fit 64 bits",
                            "write a smaller one",
                        );
                        continue;
                    }
                },
                DeValue::Float(x) => match x.as_str().parse() {
                    Ok(value) => OptionValue::Float(value),
                    Err(_) => {
                        self.wrong(entry.span, "this is not a number", "write a decimal number");
                        continue;
                    }
                },
                _ => {
                    let message =
                        format!("option `{}` is neither text nor a number", shortened(entry.key));
                    self.wrong(entry.span, message, "options are strings, numbers and booleans");
                    continue;
                }
            };
            options.push(MachineOption {
                key: Located { value: entry.key.to_owned(), span: entry.key_span },
                value: Located { value, span: entry.span },
            });
        }
        options
    }

    fn buffers(&mut self, root: &Table<'_>) -> Vec<NamedBuffer> {
        let Some((table, span)) = self.table(root, "buffers") else { return Vec::new() };
        let table = self.open("[buffers]", table, span);
        let mut buffers = Vec::new();
        for entry in table.entries() {
            let name = Located { value: entry.key.to_owned(), span: entry.key_span };
            let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '%' | '-');
            if name.value.is_empty() || !name.value.chars().all(plain) {
                self.wrong(
                    name.span,
                    "this cannot be a buffer's name",
                    "use letters, digits and _",
                );
            }
            let DeValue::String(text) = entry.value else {
                let message =
                    format!("buffer `{}` is not described by a string", shortened(entry.key));
                self.wrong(
                    entry.span,
                    message,
                    "write type[extents]:contents in quotes, as in \"f32[1024]:zeros\"",
                );
                continue;
            };
            match parse_buffer(text, self.text_span(entry.span, text)) {
                Ok(spec) => buffers.push(NamedBuffer { name, spec }),
                Err(finding) => self.found.push(finding),
            }
        }
        buffers
    }

    fn launch(&mut self, table: &DeTable<'_>, span: Span, buffers: &[NamedBuffer]) -> LaunchEntry {
        let table = self.open_known("[[launch]]", table, span, LAUNCH_KEYS);
        let kernel = self.string(&table, "kernel");
        let grid = self.extents(&table, "grid");
        let block = self.extents(&table, "block");
        let shared = self.integer(&table, "shared", 0, u64::from(u32::MAX));
        let (args, args_span) = self.arguments(&table);
        for arg in &args {
            if let Some(reference) = arg.value.buffer() {
                self.known_buffer(&reference.name, arg.span, buffers);
            }
        }
        let options = self.options(&table);
        LaunchEntry { kernel, grid, block, shared, args, args_span, options, span }
    }

    /// Reads one to three extents; missing ones are 1.
    fn extents(&mut self, table: &Table<'_>, key: &str) -> Option<Located<[u64; 3]>> {
        let given = self.integers(table, key, 1..=3, 1, u64::from(u32::MAX))?;
        let mut value = [1; 3];
        for (to, from) in value.iter_mut().zip(&given.value) {
            *to = *from;
        }
        Some(Located { value, span: given.span })
    }

    /// Reads arguments: an array in parameter order, or a table by parameter name.
    fn arguments(&mut self, table: &Table<'_>) -> (Vec<ArgSpec>, Span) {
        let Some(entry) = table.get("args") else { return (Vec::new(), table.span) };
        let span = entry.span;
        let mut args = Vec::new();
        if let DeValue::Table(named) = entry.value {
            let named = self.open("args", named, span);
            for entry in named.entries() {
                if let Some(mut arg) = self.argument(entry.value, entry.span) {
                    arg.name = Some(entry.key.to_owned());
                    args.push(arg);
                }
            }
        } else if let DeValue::Array(array) = entry.value {
            for item in array {
                let span = self.span(&item.span());
                args.extend(self.argument(item.get_ref(), span));
            }
        } else {
            self.wrong(
                span,
                "`args` is neither an array nor a table",
                "write args = [\"u32:1024\", \"&x\"]",
            );
        }
        (args, span)
    }

    fn argument(&mut self, value: &DeValue<'_>, span: Span) -> Option<ArgSpec> {
        let DeValue::String(text) = value else {
            self.wrong(
                span,
                "an argument is written in quotes, with its type",
                "write \"u32:1024\" or \"&buffer\"",
            );
            return None;
        };
        match parse_argument(text, self.text_span(span, text)) {
            Ok(arg) => Some(arg),
            Err(finding) => {
                self.found.push(finding);
                None
            }
        }
    }

    fn known_buffer(&mut self, name: &str, span: Span, buffers: &[NamedBuffer]) {
        if buffers.iter().any(|b| b.name.value == name) {
            return;
        }
        let names = buffers.iter().map(|b| b.name.value.as_str());
        let help = match nearest(name, names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("add it: [buffers] {} = \"f32[1024]:zeros\"", shortened(name)),
        };
        let message = format!("there is no buffer `{}`", shortened(name));
        let finding = Diagnostic::error("launch::buffer", message);
        self.found.push(finding.at(span, "not declared in [buffers]").help(help));
    }

    fn expectation(
        &mut self,
        table: &DeTable<'_>,
        span: Span,
        buffers: &[NamedBuffer],
        launches: usize,
    ) -> Option<Expectation> {
        let table = self.open_known("[[expect]]", table, span, EXPECT_KEYS);
        let mechanisms = self.strings(&table, "mechanism").unwrap_or_default();
        let warp_sizes = self.integers(&table, "warp_size", 1..=16, 1, 1024);
        let subjects: Vec<&str> = ["buffer", "memory", "statistic", "trap", "hang"]
            .into_iter()
            .filter(|key| table.get(key).is_some())
            .collect();
        let launch = self.launch_number(&table, launches);
        let what = match subjects.as_slice() {
            ["buffer"] => Expected::Buffer(self.expected_buffer(&table, buffers)?),
            ["memory"] => Expected::Memory(self.expected_memory(&table)?),
            ["statistic"] => Expected::Statistic(self.expected_statistic(&table, launch)?),
            ["trap"] => Expected::Trap(self.expected_trap(&table, launch)?),
            [_hang] => {
                self.only(&table, "hang", &["launch"]);
                Expected::Hang { kind: self.one_of(&table, "hang", &HANGS)?, launch }
            }
            [] => {
                self.missing(
                    &table,
                    "buffer",
                    "buffer = \"name\", or memory, statistic, trap or hang",
                );
                return None;
            }
            [first, second, ..] => {
                let message = format!("an expectation is about `{first}` or `{second}`, not both");
                self.wrong(table.span, message, "make two of it, each under [[expect]]");
                return None;
            }
        };
        let warp_sizes = warp_sizes.map(|sizes| sizes.value).unwrap_or_default();
        Some(Expectation { mechanisms, warp_sizes, what, span })
    }

    fn launch_number(&mut self, table: &Table<'_>, launches: usize) -> Option<u64> {
        let launch = self.integer(table, "launch", 0, u64::MAX)?;
        if launch.value >= launches as u64 {
            let message = format!("there is no launch {}", launch.value);
            self.wrong(
                launch.span,
                message,
                format!("launches are counted from 0; the file has {launches}"),
            );
            return None;
        }
        Some(launch.value)
    }

    /// Reports keys that belong to other kinds of expectations.
    fn only(&mut self, table: &Table<'_>, subject: &str, allowed: &[&str]) {
        for entry in table.entries() {
            let common = [subject, "mechanism", "warp_size"].contains(&entry.key);
            if common || allowed.contains(&entry.key) || !EXPECT_KEYS.contains(&entry.key) {
                continue;
            }
            let message = format!("`{}` means nothing for an expected {subject}", entry.key);
            let help = match allowed {
                [] => format!("leave it away: `{subject}` stands alone"),
                _ => format!("with `{subject}` go {}", allowed.join(", ")),
            };
            let finding = Diagnostic::error(self.key_code, message);
            self.found.push(finding.at(entry.key_span, "").help(help));
        }
    }

    fn one_of(
        &mut self,
        table: &Table<'_>,
        key: &str,
        known: &[&'static str],
    ) -> Option<Located<String>> {
        let given = self.string(table, key)?;
        if !known.contains(&given.value.as_str()) {
            let message = format!("`{}` is not a {key}", shortened(&given.value));
            self.wrong(given.span, message, format!("write {}", known.join(", ")));
            return None;
        }
        Some(given)
    }

    fn expected_buffer(
        &mut self,
        table: &Table<'_>,
        buffers: &[NamedBuffer],
    ) -> Option<ExpectedBuffer> {
        let contents_keys = ["file", "values", "fill", "multiset", "range", "atol", "rtol", "ulp"];
        self.only(table, "buffer", &contents_keys);
        let buffer = self.string(table, "buffer")?;
        self.known_buffer(&buffer.value, buffer.span, buffers);
        let contents = self.expected_contents(table);
        let tolerance = self.tolerances(table);
        let multiset = self.boolean(table, "multiset").is_some_and(|v| v.value);
        if multiset && tolerance != Tolerance::EXACT {
            self.wrong(
                table.span,
                "a multiset is compared exactly",
                "leave atol, rtol and ulp away",
            );
        }
        let range = self.integers(table, "range", 2..=2, 0, u64::MAX).and_then(|r| {
            Some(Located { value: [*r.value.first()?, *r.value.get(1)?], span: r.span })
        });
        Some(ExpectedBuffer { buffer, contents: contents?, tolerance, multiset, range })
    }

    fn expected_memory(&mut self, table: &Table<'_>) -> Option<ExpectedMemory> {
        let keys = ["type", "count", "file", "values", "fill", "atol", "rtol", "ulp"];
        self.only(table, "memory", &keys);
        let place = self.string(table, "memory")?;
        let ty = match self.string(table, "type") {
            None => Some(ElemType::U32),
            Some(name) => {
                let ty = ElemType::from_name(&name.value);
                if ty.is_none() {
                    let message = format!("there is no type `{}`", shortened(&name.value));
                    self.wrong(
                        name.span,
                        message,
                        "write u32, f32, s64 or another type of buffers",
                    );
                }
                ty
            }
        };
        let contents = self.expected_contents(table)?;
        let count = self.integer(table, "count", 1, MOST_EXPECTED);
        let filled = matches!(contents, ExpectedContents::Fill(_));
        match &count {
            None if filled => self.missing(table, "count", "count = N, the number of elements"),
            Some(count) if !filled => self.wrong(
                count.span,
                "the contents tell how many elements there are",
                "leave `count` away",
            ),
            _ => {}
        }
        if count.is_none() && filled {
            return None;
        }
        let tolerance = self.tolerances(table);
        Some(ExpectedMemory { place, ty: ty?, contents, count, tolerance })
    }

    fn tolerances(&mut self, table: &Table<'_>) -> Tolerance {
        Tolerance {
            atol: self.tolerance(table, "atol"),
            rtol: self.tolerance(table, "rtol"),
            ulp: self.integer(table, "ulp", 0, u64::MAX).map_or(0, |v| v.value),
        }
    }

    fn tolerance(&mut self, table: &Table<'_>, key: &str) -> f64 {
        let Some(given) = self.number(table, key) else { return 0.0 };
        if given.value >= 0.0 {
            return given.value;
        }
        self.wrong(given.span, format!("`{key}` is not a distance"), "write a number from 0 up");
        0.0
    }

    fn expected_contents(&mut self, table: &Table<'_>) -> Option<ExpectedContents> {
        let given: Vec<&str> =
            ["file", "values", "fill"].into_iter().filter(|key| table.get(key).is_some()).collect();
        match given.as_slice() {
            ["file"] => self.path(table, "file").map(ExpectedContents::File),
            ["fill"] => {
                let entry = table.get("fill")?;
                self.literal("fill", entry.value, entry.span).map(ExpectedContents::Fill)
            }
            ["values"] => self.expected_values(table),
            [] => {
                self.missing(table, "file", "file = \"expected.npy\", or values or fill");
                None
            }
            _ => {
                let message =
                    format!("the buffer is expected to be {} at once", given.join(" and "));
                self.wrong(table.span, message, "make two of it, each under [[expect]]");
                None
            }
        }
    }

    fn expected_values(&mut self, table: &Table<'_>) -> Option<ExpectedContents> {
        let entry = table.get("values")?;
        let DeValue::Array(array) = entry.value else {
            self.wrong(
                entry.span,
                "`values` takes an array of the elements",
                "write values = [1, 2, 3]",
            );
            return None;
        };
        let values: Vec<_> = array
            .iter()
            .map(|v| {
                let span = self.span(&v.span());
                self.literal("values", v.get_ref(), span)
            })
            .collect();
        let value = values.into_iter().collect::<Option<Vec<_>>>()?;
        Some(ExpectedContents::Values(Located { value, span: entry.span }))
    }

    fn expected_statistic(
        &mut self,
        table: &Table<'_>,
        launch: Option<u64>,
    ) -> Option<ExpectedStatistic> {
        self.only(table, "statistic", &["launch", "equals", "min", "max"]);
        let name = self.string(table, "statistic")?;
        if simt::counts::metric(&name.value).is_none() {
            let names = simt::counts::METRICS.iter().map(|m| m.name);
            let help = match nearest(&name.value, names) {
                Some(near) => format!("did you mean {near}?"),
                None => "docs/statistics.md lists them all".to_owned(),
            };
            self.wrong(
                name.span,
                format!("there is no statistic `{}`", shortened(&name.value)),
                help,
            );
        }
        let mut bound = |key: &str| self.number(table, key).map(|v| v.value);
        let (equals, min, max) = (bound("equals"), bound("min"), bound("max"));
        if equals.is_none() && min.is_none() && max.is_none() {
            self.missing(table, "equals", "equals, min or max");
        }
        Some(ExpectedStatistic { name, launch, equals, min, max })
    }

    fn expected_trap(&mut self, table: &Table<'_>, launch: Option<u64>) -> Option<ExpectedTrap> {
        self.only(table, "trap", &["launch", "line", "message"]);
        Some(ExpectedTrap {
            code: self.string(table, "trap")?,
            launch,
            line: self.integer(table, "line", 1, u64::from(u32::MAX)).map(|v| v.value),
            message: self.string(table, "message").map(|v| v.value),
        })
    }
}
