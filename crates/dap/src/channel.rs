//! Messages: a header with the length, then JSON.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Map, Value, json};

/// Longest message in bytes.
const LONGEST: usize = 64 << 20;
/// Longest line of a header.
const LONGEST_LINE: u64 = 4096;

/// A request of the client.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) sequence: u64,
    pub(crate) command: String,
    pub(crate) arguments: Value,
}

impl Request {
    /// The message again.
    #[cfg(unix)]
    pub(crate) fn message(&self) -> Value {
        json!({
            "seq": self.sequence,
            "type": "request",
            "command": self.command,
            "arguments": self.arguments,
        })
    }
}

/// The connection to a client.
pub(crate) struct Channel<'w> {
    requests: Receiver<Request>,
    output: Box<dyn Write + Send + 'w>,
    sequence: u64,
}

impl<'w> Channel<'w> {
    /// Reads requests on a thread of its own, which ends with the input. Those that interrupt what
    /// runs set the flag when they come.
    pub(crate) fn new(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'w,
        interrupt: Arc<AtomicBool>,
    ) -> Self {
        let (sender, requests) = channel();
        std::thread::spawn(move || {
            let mut input = BufReader::new(input);
            while let Some(message) = read(&mut input) {
                let Some(request) = request(&message) else { continue };
                let stops = matches!(&*request.command, "pause" | "disconnect" | "terminate");
                if sender.send(request).is_err() {
                    break;
                }
                if stops {
                    interrupt.store(true, Ordering::Relaxed);
                }
            }
            // Nobody is there to wait for what runs.
            interrupt.store(true, Ordering::Relaxed);
        });
        Self { requests, output: Box::new(output), sequence: 0 }
    }

    /// Reads nothing.
    pub(crate) fn answering(output: impl Write + Send + 'w) -> Self {
        Self { requests: channel().1, output: Box::new(output), sequence: 0 }
    }

    /// Waits for a request; none when the client has gone.
    pub(crate) fn next(&mut self) -> Option<Request> {
        self.requests.recv().ok()
    }

    /// Returns a request that has come already.
    pub(crate) fn waiting(&mut self) -> Option<Request> {
        self.requests.try_recv().ok()
    }

    /// Takes the requests that are still to come away.
    pub(crate) fn take_requests(&mut self) -> Receiver<Request> {
        std::mem::replace(&mut self.requests, channel().1)
    }

    /// Passes a message of another adapter on.
    pub(crate) fn pass(&mut self, message: &Value) -> io::Result<()> {
        self.sequence = message["seq"].as_u64().unwrap_or(self.sequence);
        write_message(&mut self.output, message)
    }

    fn send(&mut self, mut message: Map<String, Value>) -> io::Result<()> {
        self.sequence += 1;
        message.insert("seq".to_owned(), self.sequence.into());
        write_message(&mut self.output, &Value::Object(message))
    }

    fn respond(&mut self, request: &Request, rest: Value) -> io::Result<()> {
        let mut message = Map::new();
        message.insert("type".to_owned(), "response".into());
        message.insert("request_seq".to_owned(), request.sequence.into());
        message.insert("command".to_owned(), request.command.as_str().into());
        if let Value::Object(rest) = rest {
            message.extend(rest);
        }
        self.send(message)
    }

    /// Answers a request.
    pub(crate) fn answer(&mut self, request: &Request, body: Value) -> io::Result<()> {
        match body {
            Value::Null => self.respond(request, json!({"success": true})),
            body => self.respond(request, json!({"success": true, "body": body})),
        }
    }

    /// Refuses a request.
    pub(crate) fn refuse(&mut self, request: &Request, message: &str) -> io::Result<()> {
        let error = json!({"id": 1, "format": message.replace('{', "(").replace('}', ")")});
        let body = json!({"success": false, "message": message, "body": {"error": error}});
        self.respond(request, body)
    }

    /// Tells an event.
    pub(crate) fn event(&mut self, event: &str, body: Value) -> io::Result<()> {
        let mut message = Map::new();
        message.insert("type".to_owned(), "event".into());
        message.insert("event".to_owned(), event.into());
        message.insert("body".to_owned(), body);
        self.send(message)
    }
}

/// Writes a message with its header.
pub(crate) fn write_message(output: &mut dyn Write, message: &Value) -> io::Result<()> {
    let text = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}

/// Reads the JSON of a message; none at the end of the input, or when it is no message.
pub(crate) fn read(input: &mut impl BufRead) -> Option<Value> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        let count = input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).ok()?;
        if count == 0 {
            return None;
        }
        let line = String::from_utf8_lossy(&line);
        match line.trim() {
            "" if length.is_some() => break,
            "" => {}
            line => {
                if let Some(("Content-Length", value)) = line.split_once(':') {
                    length = value.trim().parse::<usize>().ok();
                }
            }
        }
    }
    let length = length.filter(|&length| length <= LONGEST)?;
    let mut bytes = vec![0; length];
    input.read_exact(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// The request in a message, if it is one.
pub(crate) fn request(message: &Value) -> Option<Request> {
    let text = |name: &str| message.get(name).and_then(Value::as_str);
    (text("type") == Some("request")).then_some(())?;
    Some(Request {
        sequence: message.get("seq").and_then(Value::as_u64).unwrap_or(0),
        command: text("command")?.to_owned(),
        arguments: message.get("arguments").cloned().unwrap_or(Value::Null),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_ends_the_input() {
        let mut whole: &[u8] = b"Content-Length: 2\r\n\r\n{}Content-Length: 99\r\n\r\n{";
        assert_eq!(read(&mut whole), Some(json!({})));
        assert_eq!(read(&mut whole), None);
        let long = format!("Content-Length: {}\r\n\r\n{{}}", u64::MAX);
        assert_eq!(read(&mut long.as_bytes()), None);
        assert_eq!(read(&mut &b"\r\n\r\n\r\n"[..]), None);
        let request = request(&json!({"type": "request", "seq": 3, "command": "next"}));
        assert_eq!(request.map(|r| (r.sequence, r.command)), Some((3, "next".to_owned())));
    }
}
