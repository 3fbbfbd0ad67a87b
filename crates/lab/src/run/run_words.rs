//! The options of `run` as words with spans, shared by the command line and the `run:` lines of
//! file tests.

use inputs::argspec::{ArgSpec, parse_argument};
use inputs::elem::parse_any_integer;
use inputs::launch::{LaunchEntry, Located, MachineOption};
use isa::{Diagnostic, Diagnostics, Span};

use super::job::Settings;

/// An optional word.
pub type Word = Option<Located<String>>;

/// The unparsed options.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunWords {
    /// `--kernel`.
    pub kernel: Word,
    /// `--grid`.
    pub grid: Word,
    /// `--block`.
    pub block: Word,
    /// `--shared`.
    pub shared: Word,
    /// `--mechanism`.
    pub mechanism: Word,
    /// `--warp-size`.
    pub warp_size: Word,
    /// `--seed`.
    pub seed: Word,
    /// `--limit`.
    pub limit: Word,
    /// Each `--arg`.
    pub args: Vec<Located<String>>,
    /// Each `--option`.
    pub options: Vec<MachineOption>,
    /// The whole command, to which diagnostics about missing options refer.
    pub span: Span,
}

impl RunWords {
    /// Returns the words that describe a launch, with the names of their options. A launch file
    /// excludes them.
    pub fn launch_words(&self) -> impl Iterator<Item = (&'static str, &Located<String>)> {
        let options = [
            ("kernel", &self.kernel),
            ("grid", &self.grid),
            ("block", &self.block),
            ("shared", &self.shared),
        ];
        let given = options.into_iter().filter_map(|(name, word)| Some((name, word.as_ref()?)));
        given.chain(self.args.first().map(|word| ("arg", word)))
    }

    /// Parses the settings of the run.
    pub fn settings(&self, found: &mut Diagnostics) -> Settings {
        let mut whole = |word: &Word, name: &str, lo: u64, hi: u64| {
            let word = word.as_ref()?;
            let value = parse_any_integer(&word.value).and_then(|v| u64::try_from(v).ok());
            let value = value.filter(|v| (lo..=hi).contains(v));
            if value.is_none() {
                let message = format!("--{name} takes a whole number from {lo} to {hi}");
                found.push(Diagnostic::error("run::number", message).at(word.span, ""));
            }
            value.map(|value| Located { value, span: word.span })
        };
        Settings {
            mechanism: self.mechanism.clone(),
            warp_size: whole(&self.warp_size, "warp-size", 1, 1024),
            seed: whole(&self.seed, "seed", 0, u64::MAX).map(|v| v.value),
            limit: whole(&self.limit, "limit", 1, u64::MAX).map(|v| v.value),
            ..Settings::default()
        }
    }

    /// Sets grid and block to 1 unless they are given, for machines without a grid.
    #[must_use]
    pub fn without_grid(mut self) -> Self {
        let span = self.span;
        let one = || Located { value: "1".to_owned(), span };
        self.grid.get_or_insert_with(one);
        self.block.get_or_insert_with(one);
        self
    }

    /// Parses the launch.
    pub fn launch(&self, found: &mut Diagnostics) -> LaunchEntry {
        let grid = self.extents("grid", &self.grid, found);
        let block = self.extents("block", &self.block, found);
        let shared = self.shared.as_ref().and_then(|word| {
            let value = parse_any_integer(&word.value).and_then(|v| u32::try_from(v).ok());
            if value.is_none() {
                let message = "--shared takes a number of bytes from 0 to 4294967295";
                found.push(Diagnostic::error("run::number", message).at(word.span, ""));
            }
            value.map(|value| Located { value: u64::from(value), span: word.span })
        });
        let mut args: Vec<ArgSpec> = Vec::new();
        for word in &self.args {
            match parse_argument(&word.value, word.span) {
                Ok(arg) => args.push(arg),
                Err(finding) => found.push(finding),
            }
        }
        let args_span = self.args.iter().map(|w| w.span).reduce(Span::to).unwrap_or(self.span);
        LaunchEntry {
            kernel: self.kernel.clone(),
            grid,
            block,
            shared,
            args,
            args_span,
            options: self.options.clone(),
            span: self.span,
        }
    }

    /// Parses the required extents `X[,Y,Z]`.
    fn extents(
        &self,
        name: &str,
        word: &Word,
        found: &mut Diagnostics,
    ) -> Option<Located<[u64; 3]>> {
        let help = format!("write --{name} X, --{name} X,Y or --{name} X,Y,Z");
        let Some(word) = word else {
            let finding = Diagnostic::error("run::missing", format!("--{name} is missing"));
            found.push(finding.at(self.span, "to run this").help(help));
            return None;
        };
        let extents: Vec<Option<u64>> = word
            .value
            .split(',')
            .map(|part| {
                parse_any_integer(part).and_then(|v| u64::try_from(v).ok()).filter(|&v| v > 0)
            })
            .collect();
        let mut value = [1; 3];
        if extents.len() > 3 || extents.iter().any(Option::is_none) {
            let message = format!("--{name} takes one to three whole numbers from 1 up");
            found.push(Diagnostic::error("run::extents", message).at(word.span, "").help(help));
            return None;
        }
        for (to, from) in value.iter_mut().zip(extents.into_iter().flatten()) {
            *to = from;
        }
        Some(Located { value, span: word.span })
    }
}
