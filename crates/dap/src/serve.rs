//! Serving one launch.

use std::io;

use debug::{After, Direction, EndKind, Memory, Reason, Session, Step, StopReport};
use serde_json::{Value, json};
use simt::inspect::FramePlace;
use simt::memory::Space;

use crate::answers::{self, address, lane_of, read_memory, thread_id};
use crate::channel::Request;
use crate::{Adapter, base64};

/// What becomes of the launch after a request.
enum Next {
    /// It stands still.
    Wait,
    /// It has moved.
    Moved(StopReport),
    /// The session ends with it.
    Leave(After),
}

impl Adapter {
    /// Serves the client while a launch is there.
    pub(crate) fn serve(&mut self, session: &mut Session<'_>) -> io::Result<After> {
        if let Some(request) = self.begun.take() {
            self.channel.answer(&request, Value::Null)?;
            self.channel.event("initialized", json!({}))?;
        }
        if self.configured
            && let Some(after) = self.begin(session)?
        {
            return Ok(after);
        }
        while let Some(request) = self.channel.next() {
            match self.handle(session, &request)? {
                Next::Wait => {}
                Next::Leave(after) => return Ok(after),
                Next::Moved(report) => {
                    if let Some(after) = self.stopped(session, &report)? {
                        return Ok(after);
                    }
                }
            }
        }
        self.gone = true;
        // A program that was attached to runs on.
        Ok(if self.launch.attach { After::Run } else { After::Stop })
    }

    /// Once the client has said what it wants: stops at the entry, or runs.
    fn begin(&mut self, session: &mut Session<'_>) -> io::Result<Option<After>> {
        match session.reopen() {
            None => {}
            Some(Ok(None)) => return self.reopened(session).map(|()| None),
            Some(Ok(after)) => return Ok(after),
            Some(Err(error)) => {
                let output = format!("error: {error}\n");
                self.channel.event("output", json!({"category": "console", "output": output}))?;
            }
        }
        if self.launch.stop_on_entry {
            let at = session.focus();
            self.forget();
            self.tell_stop(at, "entry", None, &[])?;
            return Ok(None);
        }
        match session.resume(Direction::Forward) {
            Ok(report) => self.stopped(session, &report),
            Err(_) => Ok(Some(After::Stop)),
        }
    }

    /// Tells that the launch stands where the recording has it.
    fn reopened(&mut self, session: &Session<'_>) -> io::Result<()> {
        self.forget();
        let end = session.look().end();
        let reason = match end.map(|end| end.kind) {
            Some(EndKind::Fault | EndKind::Hang) => "exception",
            _ => "goto",
        };
        let text = end.map_or("where the recording stands", |end| end.message.as_str());
        self.tell_stop(session.focus(), reason, Some(text), &[])
    }

    fn tell_stop(
        &mut self,
        at: FramePlace,
        reason: &str,
        text: Option<&str>,
        points: &[u32],
    ) -> io::Result<()> {
        let mut body = json!({
            "reason": reason,
            "threadId": thread_id(at),
            "allThreadsStopped": true,
        });
        if let Some(text) = text {
            body["description"] = text.into();
            body["text"] = text.into();
        }
        if !points.is_empty() {
            body["hitBreakpointIds"] = points.into();
        }
        self.channel.event("stopped", body)
    }

    /// Tells a stop; returns what becomes of a launch that has ended.
    fn stopped(&mut self, session: &Session<'_>, report: &StopReport) -> io::Result<Option<After>> {
        self.forget();
        let at = session.focus();
        let message = session.look().end().map(|end| end.message.clone());
        match &report.reason {
            Reason::End(EndKind::Done) if !self.launch.stop_on_end => return Ok(Some(After::Run)),
            Reason::End(EndKind::Done) => {
                self.tell_stop(at, "pause", message.as_deref(), &[])?;
            }
            Reason::End(_) => self.tell_stop(at, "exception", message.as_deref(), &[])?,
            Reason::Start => self.tell_stop(at, "entry", Some("start of the launch"), &[])?,
            Reason::Step | Reason::Position => self.tell_stop(at, "step", None, &[])?,
            Reason::Gone => self.tell_stop(at, "step", Some("the warp has ended"), &[])?,
            Reason::Interrupted => self.tell_stop(at, "pause", None, &[])?,
            Reason::Breakpoint { number } => self.tell_stop(at, "breakpoint", None, &[*number])?,
            Reason::Told { number, text } => {
                self.tell_stop(at, "data breakpoint", Some(text), &[*number])?;
            }
        }
        Ok(None)
    }

    fn handle(&mut self, session: &mut Session<'_>, request: &Request) -> io::Result<Next> {
        let arguments = &request.arguments;
        let step = |step, direction| Some((Some(step), direction));
        let motion = match request.command.as_str() {
            "continue" => Some((None, Direction::Forward)),
            "reverseContinue" => Some((None, Direction::Backward)),
            "next" => step(Step::Over, Direction::Forward),
            "stepIn" => step(Step::Line, Direction::Forward),
            "stepOut" => step(Step::Out, Direction::Forward),
            "stepBack" => step(Step::Over, Direction::Backward),
            _ => None,
        };
        if let Some(motion) = motion {
            return self.go(session, request, motion);
        }
        let answer: Result<Value, String> = match request.command.as_str() {
            "configurationDone" => {
                self.channel.answer(request, Value::Null)?;
                self.configured = true;
                return Ok(match self.begin(session)? {
                    Some(after) => Next::Leave(after),
                    None => Next::Wait,
                });
            }
            "disconnect" | "terminate" => {
                self.channel.answer(request, Value::Null)?;
                self.gone = true;
                let stops = arguments["terminateDebuggee"].as_bool();
                let detach = !stops.unwrap_or(!self.launch.attach);
                session.rearm();
                return Ok(Next::Leave(if detach { After::Run } else { After::Stop }));
            }
            // What ran has been interrupted, and has said so.
            "pause" => {
                session.rearm();
                Ok(Value::Null)
            }
            "threads" => Ok(answers::threads(session)),
            "stackTrace" => known(self.stack(session, arguments)),
            "scopes" => known(self.scopes(session, arguments)),
            "variables" => known(self.variables(session, arguments)),
            "evaluate" => self.evaluate(session, arguments),
            "setVariable" => self.set_variable(session, arguments),
            "setBreakpoints" => Ok(self.set_lines(session, arguments)),
            "setFunctionBreakpoints" => Ok(self.set_functions(session, arguments)),
            "setInstructionBreakpoints" => Ok(self.set_instructions(session, arguments)),
            "disassemble" => answers::disassembly(session, arguments),
            "setExceptionBreakpoints" => Ok(self.set_events(session, arguments)),
            "dataBreakpointInfo" => Ok(self.data_info(session, arguments)),
            "setDataBreakpoints" => Ok(self.set_data(session, arguments)),
            "readMemory" => read_memory(session, arguments),
            "writeMemory" => write_memory(session, arguments),
            "exceptionInfo" => known(exception(session)),
            "source" => known(Some(json!({"content": &*session.look().code().text}))),
            other => Err(format!("`{other}` is not supported")),
        };
        match answer {
            Ok(body) => self.channel.answer(request, body)?,
            Err(message) => self.channel.refuse(request, &message)?,
        }
        Ok(Next::Wait)
    }

    /// Answers, and moves the launch.
    fn go(
        &mut self,
        session: &mut Session<'_>,
        request: &Request,
        (step, direction): (Option<Step>, Direction),
    ) -> io::Result<Next> {
        let arguments = &request.arguments;
        if let Some(at) = arguments["threadId"].as_u64().and_then(|id| lane_of(session.look(), id))
        {
            // It is a live lane, or the focus stays.
            let _ = session.set_focus(at);
        }
        let body = match request.command.as_str() {
            "continue" => json!({"allThreadsContinued": true}),
            _ => Value::Null,
        };
        self.channel.answer(request, body)?;
        let ended = session.look().end().is_some() && direction == Direction::Forward;
        if ended {
            // Nothing is left but what ends the launch.
            return Ok(Next::Leave(After::Run));
        }
        let fine = arguments["granularity"].as_str() == Some("instruction");
        let moved = match step {
            Some(_) if fine => session.step(Step::Issue, direction),
            Some(step) => session.step(step, direction),
            None => session.resume(direction),
        };
        match moved {
            Ok(report) => Ok(Next::Moved(report)),
            Err(error) => {
                let output = json!({"category": "stderr", "output": format!("{error}\n")});
                self.channel.event("output", output)?;
                let reason = Reason::Step;
                Ok(Next::Moved(StopReport { reason, position: session.look().position() }))
            }
        }
    }

    /// An expression, or in the console a command.
    fn evaluate(&mut self, session: &mut Session<'_>, arguments: &Value) -> Result<Value, String> {
        if let Some(id) = arguments["frameId"].as_u64()
            && let Some(at) = self.frame_of(id)
        {
            session.set_focus(at)?;
        }
        let text = arguments["expression"].as_str().unwrap_or("");
        if arguments["context"].as_str() == Some("repl") {
            let moves =
                ["continue", "c", "step", "s", "next", "n", "quit", "q", "kill", "detach", "retry"];
            let word = text.split_whitespace().next().unwrap_or("");
            if moves.contains(&word) {
                return Err(format!("`{word}`: use the editor's own commands to move"));
            }
            let before = session.look().position();
            if session.evaluate(text).is_err() {
                let reply = session.command(text);
                if session.look().position() != before {
                    self.forget();
                    let at = session.focus();
                    let stopped = self.tell_stop(at, "goto", None, &[]);
                    stopped.map_err(|error| error.to_string())?;
                }
                return Ok(json!({"result": reply.text.trim_end(), "variablesReference": 0}));
            }
        }
        let (value, _) = session.evaluate(text)?;
        let mut answer = json!({"result": value.to_string(), "variablesReference": 0});
        if let debug::Value::Int(int) = value
            && let Ok(address) = u64::try_from(int)
        {
            answer["memoryReference"] = format!("{address:#x}").into();
        }
        Ok(answer)
    }

    fn set_variable(
        &mut self,
        session: &mut Session<'_>,
        arguments: &Value,
    ) -> Result<Value, String> {
        let name = arguments["name"].as_str().unwrap_or("");
        let value = arguments["value"].as_str().unwrap_or("");
        let number = arguments["variablesReference"].as_u64().unwrap_or(0);
        let at = self.frame_of_reference(number).ok_or("this cannot be changed")?;
        session.set_focus(at)?;
        let text = session.command(&format!("set {name} = {value}")).text;
        if let Some(error) = text.strip_prefix("error: ") {
            return Err(error.trim_end().to_owned());
        }
        let (value, _) = session.evaluate(name)?;
        Ok(json!({"value": value.to_string()}))
    }
}

fn known(answer: Option<Value>) -> Result<Value, String> {
    answer.ok_or_else(|| "there is no such thing now".to_owned())
}

/// What a fault or a hang is.
fn exception(session: &Session<'_>) -> Option<Value> {
    let end = session.look().end()?;
    Some(json!({
        "exceptionId": end.code,
        "description": end.message,
        "breakMode": "always",
    }))
}

fn write_memory(session: &mut Session<'_>, arguments: &Value) -> Result<Value, String> {
    let (address, _) = address(arguments)?;
    let data = arguments["data"].as_str().unwrap_or("");
    let bytes = base64::decode(data).ok_or("the data are not base64")?;
    let memory = Memory { space: Space::Global, at: session.focus() };
    let what = format!("{} bytes at {address:#x}", bytes.len());
    let written = session.target().write(memory, address, &bytes, &what);
    written.map_err(|error| error.to_string())?;
    Ok(json!({"bytesWritten": bytes.len()}))
}
