//! Launches in the debugger, for a Python object.
//!
//! The launches run on a thread of their own, which ends with the object. It answers one request at
//! a time: a command, or a question about the state.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use ::debug::{After, Client, Debugger, Reason, Session, Target, Value};
use inputs::launch::Located;
use isa::{SourceMap, Span};
use lab::render::{Paint, render_all};
use lab::run::{Job, Settings};
use lab::show;
use machines::{DebuggedMonitor, Unmonitored};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde_json::{Value as Json, json};

use crate::signals::asked;
use crate::subject::Subject;

/// Time between two looks for signals.
const PATIENCE: Duration = Duration::from_millis(50);

/// What is asked of the thread.
struct Question {
    /// `command`, `value`, `lanes`, `registers` or `state`.
    kind: String,
    text: String,
}

/// Launches under the debugger.
#[pyclass(frozen, module = "simtlab._simtlab")]
pub(crate) struct DebugSession {
    inner: Mutex<Option<Inner>>,
    interrupt: Arc<AtomicBool>,
}

struct Inner {
    questions: Sender<Question>,
    answers: Receiver<String>,
    thread: JoinHandle<()>,
}

/// Settings of the launches, as the package's Python half gives them.
#[derive(FromPyObject)]
pub(crate) struct Debugging {
    mechanism: Option<String>,
    warp_size: Option<u64>,
    seed: Option<u64>,
    limit: Option<u64>,
    memory: Option<u32>,
}

impl Debugging {
    fn settings(&self, [mechanism, warp_size]: [Span; 2]) -> Settings {
        let mechanism = self.mechanism.clone().map(|value| Located { value, span: mechanism });
        let warp_size = self.warp_size.map(|value| Located { value, span: warp_size });
        Settings { mechanism, warp_size, seed: self.seed, limit: self.limit, ..Settings::default() }
    }
}

/// Begins the launches of a launch file, or one launch of a program.
#[pyfunction]
pub(crate) fn debug(
    py: Python<'_>,
    subject: Subject<'_>,
    debugging: Debugging,
) -> PyResult<DebugSession> {
    let width = debugging.warp_size.map(|width| width.to_string());
    let words = [("mechanism", debugging.mechanism.as_deref()), ("warp_size", width.as_deref())];
    let settings = |places| debugging.settings(places);
    subject.study(py, ("debug", words), settings, |job, _, sources| {
        Ok(DebugSession::begin(job, sources.clone(), debugging.memory))
    })
}

impl DebugSession {
    fn begin(job: Job, sources: SourceMap, memory: Option<u32>) -> Self {
        let (questions, asked) = channel();
        let (answer, answers) = channel();
        let mut debugger = Debugger::default();
        debugger.budget = memory.map(|mib| mib as usize * (1 << 20));
        let interrupt = debugger.interrupt();
        let thread = std::thread::spawn(move || {
            let mut client = Remote { debugger, asked, answer, launch: 0 };
            let mut monitor = Unmonitored;
            let monitor = &mut DebuggedMonitor { monitor: &mut monitor, client: &mut client };
            let text = match job.run(false, monitor) {
                Ok(report) => {
                    let findings = report.findings();
                    let said = render_all(&findings, &sources, Paint::Plain);
                    format!("{}{said}", show::check_lines(&report))
                }
                Err(found) => render_all(&found, &sources, Paint::Plain),
            };
            // Whoever asked may have gone.
            let _ = client.answer.send(json!({"finished": true, "text": text}).to_string());
        });
        Self { inner: Mutex::new(Some(Inner { questions, answers, thread })), interrupt }
    }
}

#[pymethods]
impl DebugSession {
    /// Waits for the state at the begin of the first launch.
    fn first(&self, py: Python<'_>) -> PyResult<String> {
        self.wait(py, None)
    }

    /// Asks, and returns the answer as JSON. Ctrl-C interrupts what runs.
    fn ask(&self, py: Python<'_>, kind: String, text: String) -> PyResult<String> {
        self.wait(py, Some(Question { kind, text }))
    }

    /// Stops the launch and ends the thread.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.end());
    }
}

impl DebugSession {
    fn wait(&self, py: Python<'_>, question: Option<Question>) -> PyResult<String> {
        let gone = || PyRuntimeError::new_err("the session has ended");
        py.detach(|| {
            let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            let inner = inner.as_ref().ok_or_else(gone)?;
            if let Some(question) = question {
                inner.questions.send(question).map_err(|_| gone())?;
            }
            let mut raised = None;
            loop {
                match inner.answers.recv_timeout(PATIENCE) {
                    Ok(answer) => return raised.map_or(Ok(answer), Err),
                    Err(RecvTimeoutError::Disconnected) => return Err(raised.unwrap_or_else(gone)),
                    Err(RecvTimeoutError::Timeout) => {}
                }
                // The answer of what was interrupted still comes.
                if let Err(error) = Python::attach(asked) {
                    raised = Some(error);
                    self.interrupt.store(true, Ordering::Relaxed);
                }
            }
        })
    }

    fn end(&self) {
        self.interrupt.store(true, Ordering::Relaxed);
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Inner { questions, answers, thread }) = inner {
            drop((questions, answers));
            // A panic of it has been printed.
            let _ = thread.join();
        }
    }
}

impl Drop for DebugSession {
    fn drop(&mut self) {
        self.end();
    }
}

/// The thread's end.
struct Remote {
    debugger: Debugger,
    asked: Receiver<Question>,
    answer: Sender<String>,
    launch: usize,
}

impl Client for Remote {
    fn launch(&mut self, target: &mut dyn Target) -> After {
        let mut debugger = std::mem::take(&mut self.debugger);
        let mut session = Session::new(&mut debugger, target);
        let after = self.serve(&mut session).unwrap_or(After::Stop);
        session.rearm();
        self.debugger = debugger;
        self.launch += 1;
        after
    }
}

impl Remote {
    /// `None` if nobody asks any more.
    fn serve(&mut self, session: &mut Session<'_>) -> Option<After> {
        let say = |answer: Json| self.answer.send(answer.to_string()).ok();
        say(json!({"text": ::debug::summary(session), "state": self.state(session)}))?;
        loop {
            let Question { kind, text } = self.asked.recv().ok()?;
            let answer = match kind.as_str() {
                "value" => session.evaluate(&text).map(|(value, _)| number(value)),
                "lanes" => session.across(&text).map(|lanes| {
                    let row = |(lane, value): (u32, ::debug::Evaluated)| {
                        json!([lane, value.map_or(Json::Null, |(value, _)| number(value))])
                    };
                    lanes.into_iter().map(row).collect()
                }),
                "registers" => Ok(registers(session)),
                "variables" => Ok(variables(session)),
                "memory" => memory(session, &text),
                _ => {
                    let reply = session.command(&text);
                    if let Some(after) = reply.after {
                        return Some(after);
                    }
                    match reply.text.strip_prefix("error: ") {
                        Some(error) => Err(error.trim_end().to_owned()),
                        None => Ok(reply.text.into()),
                    }
                }
            };
            let (name, answer) = match answer {
                Ok(answer) => ("answer", answer),
                Err(error) => ("error", error.into()),
            };
            say(json!({name: answer, "state": self.state(session)}))?;
        }
    }

    fn state(&self, session: &Session<'_>) -> Json {
        let (look, at) = (session.look(), session.focus());
        let stop = session.last_stop().map(|stop| &stop.reason);
        let (reason, number, text) = match stop {
            None | Some(Reason::Start) => ("start", None, None),
            Some(Reason::Step) => ("step", None, None),
            Some(Reason::Position) => ("position", None, None),
            Some(Reason::Breakpoint { number }) => ("breakpoint", Some(*number), None),
            Some(Reason::Told { number, text }) => ("event", Some(*number), Some(text.clone())),
            Some(Reason::End(_)) => ("end", None, look.end().map(|end| end.message.clone())),
            Some(Reason::Interrupted) => ("interrupted", None, None),
            Some(Reason::Gone) => ("gone", None, None),
        };
        let place = session.place().and_then(|pc| look.code().at(pc));
        let source = place.and_then(|place| place.source.as_ref());
        json!({
            "launch": self.launch,
            "kernel": places::shown(look.kernel()).to_string(),
            "position": look.position(),
            "reason": reason,
            "number": number,
            "text": text,
            "end": look.end().map(|end| end.code),
            "line": place.and_then(|place| place.line),
            "source": source.map(|source| json!([&*source.file, source.line])),
            "instruction": place.map(|place| &*place.text),
            "block": at.group.cta,
            "warp": at.group.group,
            "lane": at.lane,
        })
    }
}

/// A number without loss: whole ones of any size are text.
fn number(value: Value) -> Json {
    match value {
        Value::Int(int) => json!({"int": int.to_string()}),
        Value::Float(float) => json!({"float": float.to_string()}),
    }
}

fn registers(session: &Session<'_>) -> Json {
    let at = session.focus();
    let value = |register: &simt::inspect::Register| {
        let value = session.look().register(at, register.index).ok()?;
        Some(json!([&*register.name, value.to_string()]))
    };
    session.registers().iter().filter_map(value).collect()
}

/// Variables of the source: name, type, value as text, and as a number where it is one.
fn variables(session: &Session<'_>) -> Json {
    let shown = |variable: ::debug::ShownVariable| {
        let value = session.evaluate(&variable.name).ok().map(|(value, _)| number(value));
        json!([variable.name, variable.ty, variable.value, value])
    };
    ::debug::variables(session.look(), session.focus()).into_iter().map(shown).collect()
}

/// Bytes of global memory, in hexadecimal: `ADDRESS LENGTH`.
fn memory(session: &Session<'_>, text: &str) -> Result<Json, String> {
    let (address, length) = text.split_once(' ').unwrap_or_default();
    let number = |text: &str| text.parse::<u64>().map_err(|error| error.to_string());
    let (address, length) = (number(address)?, number(length)?.min(1 << 28));
    let mut bytes = vec![0; length as usize];
    let memory = ::debug::Memory { space: simt::memory::Space::Global, at: session.focus() };
    let read = session.look().read(memory, address, &mut bytes);
    read.map_err(|error| error.to_string())?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into())
}
