//! A mechanism for an interpreter in Python: `converge::Session`.

use std::sync::{Mutex, PoisonError};

use converge::{Flow, Knobs, Order, SessionError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;
use simt::{LaneMask, Pc};

/// Words of a mask: 1,024 lanes.
const WORDS: usize = 16;

type Mask = LaneMask<WORDS>;

/// The native half of `simtlab.Session`. Masks are lists of words of 64 bits, the lowest first.
#[pyclass]
pub(crate) struct NativeSession(Mutex<converge::Session<WORDS>>);

fn raised(error: SessionError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn mask(words: &[u64]) -> PyResult<Mask> {
    let mut out = [0; WORDS];
    match out.get_mut(..words.len()) {
        Some(part) => part.copy_from_slice(words),
        None => return Err(PyValueError::new_err("lanes are numbered from 0 to 1023")),
    }
    Ok(Mask::from_words(out))
}

fn words(mask: &Mask) -> Vec<u64> {
    mask.words().to_vec()
}

impl NativeSession {
    fn with<T>(
        &self,
        body: impl FnOnce(&mut converge::Session<WORDS>) -> Result<T, SessionError>,
    ) -> PyResult<T> {
        let mut session = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        body(&mut session).map_err(raised)
    }
}

#[pymethods]
impl NativeSession {
    #[new]
    #[pyo3(signature = (mechanism, order=None))]
    fn new(mechanism: &str, order: Option<&str>) -> PyResult<Self> {
        let mut session = converge::Session::new(mechanism).map_err(raised)?;
        if let Some(name) = order {
            let order = Order::ALL.iter().find(|(known, _)| *known == name);
            let order = order.ok_or_else(|| {
                let known = Order::ALL.map(|(name, _)| name).join(", ");
                PyValueError::new_err(format!("there is no order `{name}`; orders are {known}"))
            })?;
            session.set_knobs(Knobs { order: Some(order.1), ..Knobs::default() });
        }
        Ok(Self(Mutex::new(session)))
    }

    /// The mechanism's name in the catalogue.
    #[getter]
    fn mechanism(&self) -> PyResult<&'static str> {
        self.with(|session| Ok(session.mechanism().name))
    }

    /// Sets the graph: for each instruction its kind and the places that it names.
    fn set_graph(&self, code: Vec<(String, Vec<u64>)>) -> PyResult<()> {
        let flow = |(at, (kind, places)): (usize, (String, Vec<u64>))| {
            Ok(match (kind.as_str(), places.as_slice()) {
                ("next", []) => Flow::Next,
                ("jump", &[to]) => Flow::Jump(Pc(to)),
                ("branch", &[to]) => Flow::Branch(Pc(to)),
                ("switch", to) => Flow::Switch(to.iter().copied().map(Pc).collect()),
                ("end", []) => Flow::End,
                _ => {
                    let text = format!(
                        "instruction {at}: an instruction is \"next\", (\"jump\", place), (\"branch\", place), (\"switch\", places) or \"end\""
                    );
                    return Err(PyValueError::new_err(text));
                }
            })
        };
        let code: Vec<Flow> = code.into_iter().enumerate().map(flow).collect::<PyResult<_>>()?;
        self.with(|session| session.set_graph(&code))
    }

    fn begin(&self, place: u64, lanes: Vec<u64>, width: u32) -> PyResult<()> {
        let lanes = mask(&lanes)?;
        if width > 1024 {
            return Err(PyValueError::new_err("a group has 1024 lanes at most"));
        }
        self.with(|session| session.begin(Pc(place), lanes, width))
    }

    /// The place and the active mask of what runs; `None` if all lanes have ended.
    fn now(&self) -> PyResult<Option<(u64, Vec<u64>)>> {
        self.with(|session| Ok(session.now().map(|path| (path.pc.0, words(&path.lanes)))))
    }

    /// All paths, those that wait included.
    fn paths(&self) -> PyResult<Vec<(u64, Vec<u64>)>> {
        self.with(|session| {
            let paths = session.paths();
            Ok(paths.iter().map(|path| (path.pc.0, words(&path.lanes))).collect())
        })
    }

    /// The rows of the mechanism's state: what, place, rejoin point, lanes.
    #[allow(clippy::type_complexity, reason = "a tuple of Python")]
    fn rows(&self) -> PyResult<Vec<(String, Option<u64>, Option<u64>, Vec<u64>)>> {
        self.with(|session| {
            let rows = session.rows().into_iter();
            let place = |pc: Option<Pc>| pc.map(|pc| pc.0);
            Ok(rows.map(|r| (r.what, place(r.pc), place(r.rejoin), words(&r.lanes))).collect())
        })
    }

    fn step(&self) -> PyResult<()> {
        self.with(converge::Session::step)
    }

    fn branch(&self, active: Vec<u64>, taken: Vec<u64>, target: u64) -> PyResult<()> {
        let (active, taken) = (mask(&active)?, mask(&taken)?);
        self.with(|session| session.branch(active, taken, Pc(target)))
    }

    fn jump(&self, target: u64) -> PyResult<()> {
        self.with(|session| session.jump(Pc(target)))
    }

    fn switch(&self, targets: Vec<(u64, Vec<u64>)>) -> PyResult<()> {
        let target = |(place, lanes): (u64, Vec<u64>)| Ok((Pc(place), mask(&lanes)?));
        let targets: Vec<_> = targets.into_iter().map(target).collect::<PyResult<_>>()?;
        self.with(|session| session.switch(&targets))
    }

    fn exit(&self, lanes: Vec<u64>) -> PyResult<()> {
        let lanes = mask(&lanes)?;
        self.with(|session| session.exit(lanes))
    }

    /// The statistics as JSON, and as a table.
    fn statistics(&self) -> PyResult<(String, String)> {
        self.with(|session| {
            let s = session.statistics();
            let value = json!({
                "issues": s.issues,
                "idle_issues": s.idle_issues,
                "active_lanes": s.active_lanes,
                "lane_slots": s.lane_slots,
                "efficiency": s.efficiency(),
                "branches": s.branches,
                "divergent_branches": s.divergent_branches,
                "divergent_paths": s.divergent_paths,
                "divergence_rate": s.divergence_rate(),
                "rejoined": s.rejoined,
                "never_rejoined": s.never_rejoined,
                "mean_reconvergence_time": s.mean_reconvergence_time(),
                "merges": s.charges.merges,
                "pushes": s.charges.pushes,
                "pops": s.charges.pops,
                "max_depth": s.charges.max_depth,
            });
            Ok((value.to_string(), s.to_string()))
        })
    }
}
