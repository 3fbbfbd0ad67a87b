//! Content of a page in addition to the comparison: the program's text, its source, and the graphs
//! of its kernels.

use inputs::file::MAX_PROGRAM_BYTES;
use lab::run::Job;
use machines::ControlFlow;
use places::shown_file;

use crate::divergence::Comparison;
use crate::source_texts::{SourceTexts, last_component, read_text};

/// Most source files.
const MAX_SOURCES: usize = 8;

/// Most graphs: those of kernels, then those of the functions that they call.
const MAX_GRAPHS: usize = 128;

/// A named text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The file as the line table names it, or the program as the user named it.
    pub name: String,
    /// The contents.
    pub text: String,
}

/// The texts and graphs of a page.
#[derive(Clone, Debug, Default)]
pub struct PageData {
    /// The program, if it is text.
    pub program: Option<Text>,
    /// Source files of the line table that could be read.
    pub sources: Vec<Text>,
    /// Source files of the line table that could not.
    pub missing: Vec<String>,
    /// The graphs of the kernels and of the functions that they call, each once.
    pub graphs: Vec<ControlFlow>,
}

impl PageData {
    /// Reads the texts for a comparison of this job.
    #[must_use]
    pub fn of(job: &Job, comparison: &Comparison) -> Self {
        let program = read_text(job.module_path(), MAX_PROGRAM_BYTES)
            .map(|text| Text { name: last_component(job.module_name()).to_owned(), text });
        let mut page_data = Self { program, ..Self::default() };
        let mut texts = SourceTexts::of(job);
        for name in source_files(comparison) {
            let room = page_data.sources.len() < MAX_SOURCES;
            match room.then(|| texts.file(&name).map(str::to_owned)).flatten() {
                Some(text) => page_data.sources.push(Text { name, text }),
                None => page_data.missing.push(name),
            }
        }
        let mut kernels: Vec<&str> = job.kernel_names().collect();
        kernels.sort_unstable();
        kernels.dedup();
        let mut names: Vec<String> = kernels.iter().map(|&k| k.to_owned()).collect();
        for name in kernels.iter().flat_map(|k| job.called(k)) {
            if !names.contains(&name) && names.len() < MAX_GRAPHS {
                names.push(name);
            }
        }
        page_data.graphs = names.iter().filter_map(|name| job.control_flow(name)).collect();
        page_data
    }
}

/// Returns the distinct source files of executed lines as reports show them, sorted.
fn source_files(comparison: &Comparison) -> Vec<String> {
    let views = comparison.rows.iter().filter_map(|row| row.views.as_ref());
    let files = views.flat_map(|v| v.losses.source.iter().map(|((file, _), _)| file));
    let mut files: Vec<String> = files.map(|file| shown_file(file).to_owned()).collect();
    files.sort_unstable();
    files.dedup();
    files
}
