//! The lane slots that a launch loses, the first difference between two mechanisms, and the times
//! at which lanes ran: `explain`, `diff`, `trace`.

use inputs::launch::Located;
use isa::Span;
use lab::run::{Job, Settings, Variant, VariantRun, Word};
use machines::End;
use pyo3::prelude::*;
use serde_json::json;
use study::divergence;

use crate::signals::Signals;
use crate::subject::{At, Subject};

/// Under what the launch runs, as the package's Python half gives it.
#[derive(FromPyObject)]
pub(crate) struct Conditions {
    /// One mechanism, or two with a comma for `diff`.
    mechanisms: Option<String>,
    warp_size: Option<u64>,
    order: Option<String>,
    seed: Option<u64>,
    limit: Option<u64>,
}

/// The conditions with their places in the call.
struct Placed {
    mechanisms: Word,
    warp_size: Word,
    order: Word,
}

impl Conditions {
    fn settings(&self) -> Settings {
        Settings { seed: self.seed, limit: self.limit, ..Settings::default() }
    }

    /// Runs `study` on the subject's job.
    fn of<T: Send>(
        &self,
        py: Python<'_>,
        (function, subject): (&str, &Subject<'_>),
        study: impl FnOnce(&Job, &Placed) -> Result<T, At> + Send,
    ) -> PyResult<T> {
        let width = self.warp_size.map(|width| width.to_string());
        let name = if function == "diff" { "mechanisms" } else { "mechanism" };
        let words = [
            (name, self.mechanisms.as_deref()),
            ("warp_size", width.as_deref()),
            ("order", self.order.as_deref()),
        ];
        let settings = |_| self.settings();
        subject.study(py, (function, words), settings, |job, places, _| {
            let word =
                |value: &Option<String>, span| value.clone().map(|value| Located { value, span });
            let [mechanisms, warp, order] = places;
            let placed = Placed {
                mechanisms: word(&self.mechanisms, mechanisms),
                warp_size: word(&width, warp),
                order: word(&self.order, order),
            };
            study(&job, &placed)
        })
    }
}

impl Placed {
    fn variant(&self, job: &Job) -> Result<Variant, At> {
        Ok(divergence::variant_named(job, &self.mechanisms, &self.warp_size, &self.order)?)
    }
}

/// Whether a signal stopped one of the launches.
fn interrupted(runs: &[VariantRun]) -> bool {
    runs.iter().any(|run| matches!(run.ends.last(), Some(End::Interrupted)))
}

/// How the last launch ended: `done`, or the short name of its fault or hang.
fn end_name(run: &VariantRun) -> &'static str {
    run.ends.last().map_or("done", End::name)
}

/// Explains lost lane slots, with at most `lines` lines in the text. Returns JSON and text.
#[pyfunction]
pub(crate) fn explain(
    py: Python<'_>,
    subject: Subject<'_>,
    conditions: Conditions,
    lines: usize,
) -> PyResult<(String, String)> {
    conditions.of(py, ("explain", &subject), |job, placed| {
        let variant = placed.variant(job)?;
        let mut signals = Signals::new();
        let (run, explanation) = divergence::explain(job, &variant, &mut signals)?;
        if interrupted(std::slice::from_ref(&run)) {
            return Err(At::Raised(signals.raised));
        }
        let mut value = explanation.to_json();
        value["module"] = json!(job.module_name());
        value["kernels"] = json!(job.kernel_names().collect::<Vec<_>>());
        value["mechanism"] = json!(variant.mechanism);
        value["warp_size"] = json!(variant.warp_size);
        value["end"] = json!(end_name(&run));
        Ok((value.to_string(), explanation.to_text(lines)))
    })
}

/// Finds the first difference between two mechanisms. Returns JSON and text.
#[pyfunction]
pub(crate) fn diff(
    py: Python<'_>,
    subject: Subject<'_>,
    conditions: Conditions,
) -> PyResult<(String, String)> {
    conditions.of(py, ("diff", &subject), |job, placed| {
        let nothing = || Located { value: String::new(), span: Span::default() };
        let named = placed.mechanisms.clone().unwrap_or_else(nothing);
        let variants = divergence::variants_named(job, &named, &placed.warp_size, &placed.order)?;
        let mut signals = Signals::new();
        let diff = divergence::diff(job, &variants, &mut signals)?;
        if interrupted(&diff.runs) {
            return Err(At::Raised(signals.raised));
        }
        Ok((diff.to_json().to_string(), diff.to_text()))
    })
}

/// Traces a launch. Returns the trace's JSON, whether it has all events, and how the launch ended.
#[pyfunction]
pub(crate) fn trace(
    py: Python<'_>,
    subject: Subject<'_>,
    conditions: Conditions,
    events: usize,
) -> PyResult<(String, bool, &'static str)> {
    conditions.of(py, ("trace", &subject), |job, placed| {
        let variant = placed.variant(job)?;
        let mut signals = Signals::new();
        let (run, text, complete) = divergence::trace(job, &variant, events, &mut signals)?;
        if interrupted(std::slice::from_ref(&run)) {
            return Err(At::Raised(signals.raised));
        }
        Ok((text, complete, end_name(&run)))
    })
}
