//! A client speaks with the adapter from `initialize` to `disconnect`, forwards and backwards.

mod schema;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;

use dap::{Adapter, DapError};
use debug::{After, Client as _, Code, Execution, Instruction};
use isa::{FileId, SourceFile};
use serde_json::{Value, json};
use simt::Pc;
use simt::machine::Machine;
use simt::memory::MemoryMap;
use toy::Toy;

const PROGRAM: &str = "\
    li    r1, 5
loop:
    addi  r1, r1, -1
    slt   p1, r2, r1
    bany  p1, loop
    halt
";

/// A loop without an end.
const ENDLESS: &str = "\
    li    r1, 5
loop:
    addi  r2, r1, -1
    slt   p1, r2, r1
    bany  p1, loop
    halt
";

/// Serves one client with one launch of the toy machine.
fn serve(stream: UnixStream, program: &'static str) -> Result<(), DapError> {
    let image = toy::assemble(FileId(0), program).expect("a program");
    let text = SourceFile::new("t.toys", program);
    let source = program;
    let instruction = |line: &isa::asm::Line| Instruction {
        pc: Pc(line.address),
        text: source[line.span.range()].into(),
        line: Some(text.line_col(line.span.start).line),
        source: None,
    };
    let instructions = image.lines.iter().map(instruction).collect();
    let program = Toy.load(&toy::binary(&image).expect("a binary")).expect("loads");
    let launch =
        toy::Launch { threads: 4, width: 4, arguments: Vec::new(), memory: MemoryMap::new() };
    let state = Toy.launch(&program, launch).expect("starts");
    let code = Code::new("t.toys", source, instructions, Vec::new());
    let explain = |cause: &toy::Trap| cause.to_string();
    let mut execution = Execution::new(&Toy, &program, state, explain, code);
    let mut adapter = Adapter::new(stream.try_clone()?, stream);
    let wanted = adapter.handshake()?;
    if wanted.target != std::path::Path::new("/t.toys") {
        return adapter.refuse("there is no such program");
    }
    adapter.set_program("/t.toys");
    let after = adapter.launch(&mut execution);
    adapter.finish(if after == After::Run { 0 } else { 1 })
}

struct Client {
    input: BufReader<UnixStream>,
    output: UnixStream,
    sequence: u64,
    events: Vec<Value>,
    schema: schema::Schema,
}

impl Client {
    fn new() -> (Self, std::thread::JoinHandle<Result<(), DapError>>) {
        Self::of(PROGRAM)
    }

    fn of(program: &'static str) -> (Self, std::thread::JoinHandle<Result<(), DapError>>) {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let server = std::thread::spawn(move || serve(theirs, program));
        let input = BufReader::new(ours.try_clone().expect("a copy"));
        let schema = schema::Schema::new();
        (Self { input, output: ours, sequence: 0, events: Vec::new(), schema }, server)
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.input.read_line(&mut line).expect("a header");
        let length = line.trim().strip_prefix("Content-Length: ").expect("a length");
        let mut bytes = vec![0; 2 + length.parse::<usize>().expect("a number")];
        self.input.read_exact(&mut bytes).expect("a message");
        let message = serde_json::from_slice(&bytes[2..]).expect("JSON");
        self.schema.check(&message);
        message
    }

    /// Sends a request and returns the response; events are kept.
    fn request(&mut self, command: &str, arguments: impl Into<Value>) -> Value {
        let arguments = arguments.into();
        self.sequence += 1;
        let message = json!({
            "seq": self.sequence, "type": "request", "command": command, "arguments": arguments,
        });
        self.schema.check(&message);
        let text = message.to_string();
        write!(self.output, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("sent");
        loop {
            let message = self.read();
            if message["type"] == "response" {
                assert_eq!(message["request_seq"], self.sequence);
                assert_eq!(message["command"], command);
                return message;
            }
            self.events.push(message);
        }
    }

    fn ask(&mut self, command: &str, arguments: impl Into<Value>) -> Value {
        let response = self.request(command, arguments);
        assert_eq!(response["success"], true, "{response}");
        response["body"].clone()
    }

    /// Waits for an event.
    fn event(&mut self, name: &str) -> Value {
        loop {
            if let Some(index) = self.events.iter().position(|event| event["event"] == name) {
                return self.events.remove(index)["body"].clone();
            }
            let message = self.read();
            self.events.push(message);
        }
    }

    fn line(&mut self) -> u64 {
        let stopped = self.event("stopped");
        let frames = self.ask("stackTrace", json!({"threadId": stopped["threadId"]}));
        frames["stackFrames"][0]["line"].as_u64().expect("a line")
    }
}

#[test]
fn a_session_with_steps_back() {
    let (mut client, server) = Client::new();
    let can = client.ask("initialize", json!({"adapterID": "simtlab"}));
    assert_eq!(can["supportsStepBack"], true);
    assert_eq!(client.request("threads", json!({}))["success"], false);
    client.ask("launch", json!({"program": "/t.toys", "stopOnEntry": true}));
    client.event("initialized");
    let points = json!({
        "source": {"path": "/t.toys"},
        "breakpoints": [{"line": 2}, {"line": 5, "condition": "r1 == 2"}, {"line": 99}],
    });
    let points = client.ask("setBreakpoints", points);
    // The label's line has no code.
    assert_eq!(points["breakpoints"][0]["line"], 3);
    assert_eq!(points["breakpoints"][1]["verified"], true);
    assert_eq!(points["breakpoints"][2]["verified"], false);
    client.ask("configurationDone", json!({}));
    assert_eq!(client.line(), 1);
    let threads = client.ask("threads", json!({}));
    assert_eq!(threads["threads"].as_array().map(Vec::len), Some(4));
    let lane = threads["threads"][2]["id"].clone();
    client.ask("continue", json!({"threadId": lane}));
    assert_eq!(client.line(), 3);
    client.ask("next", json!({"threadId": lane}));
    assert_eq!(client.line(), 4);
    let frames = client.ask("stackTrace", json!({"threadId": lane}));
    let frame = frames["stackFrames"][0]["id"].clone();
    let here = frames["stackFrames"][0]["instructionPointerReference"].clone();
    let around = json!({"memoryReference": here, "instructionOffset": -4, "instructionCount": 8});
    let around = client.ask("disassemble", around);
    let rows = around["instructions"].as_array().expect("rows");
    assert_eq!(rows.len(), 8);
    assert_eq!((&rows[4]["address"], &rows[4]["line"]), (&here, &json!(4)));
    assert_eq!(rows[4]["instruction"], "slt   p1, r2, r1");
    assert_eq!(
        (&rows[0]["presentationHint"], &rows[7]["presentationHint"]),
        (&json!("invalid"), &json!("invalid"))
    );
    let points = json!({"breakpoints": [{"instructionReference": here}, {"instructionReference": "0x9999"}]});
    let points = client.ask("setInstructionBreakpoints", points);
    assert_eq!(points["breakpoints"][0]["verified"], true);
    assert_eq!(points["breakpoints"][1]["verified"], false);
    client.ask("setInstructionBreakpoints", json!({"breakpoints": []}));
    // This machine has no check for races.
    client.ask("setExceptionBreakpoints", json!({"filters": ["split", "day"]}));
    client.ask("setExceptionBreakpoints", json!({"filters": []}));
    let scopes = client.ask("scopes", json!({"frameId": frame}));
    let registers = scopes["scopes"][0]["variablesReference"].clone();
    let variables = client.ask("variables", json!({"variablesReference": registers}));
    assert_eq!(variables["variables"][1]["value"], "4 (0x4)");
    let across = variables["variables"][1]["variablesReference"].clone();
    let across = client.ask("variables", json!({"variablesReference": across}));
    assert_eq!(across["variables"].as_array().map(Vec::len), Some(4));
    let value = client.ask("evaluate", json!({"expression": "r1 * 10", "frameId": frame}));
    assert_eq!(value["result"], "40");
    let wrong = client.request("evaluate", json!({"expression": "r1 *", "frameId": frame}));
    assert_eq!(wrong["success"], false);
    let set = json!({"variablesReference": registers, "name": "r1", "value": "3"});
    assert_eq!(client.ask("setVariable", set)["value"], "3");
    client.ask("setBreakpoints", json!({"source": {"path": "/t.toys"}, "breakpoints": []}));
    let info = json!({"variablesReference": registers, "name": "r1"});
    let info = client.ask("dataBreakpointInfo", info);
    let points = json!({"breakpoints": [{"dataId": info["dataId"]}]});
    client.ask("setDataBreakpoints", points);
    client.ask("continue", json!({"threadId": lane}));
    let stopped = client.event("stopped");
    assert_eq!(stopped["reason"], "data breakpoint");
    assert_eq!(stopped["text"], "r1 of lane 2: 0x3 -> 0x2");
    client.ask("stepBack", json!({"threadId": lane, "granularity": "instruction"}));
    assert_eq!(client.line(), 3);
    client.ask("setDataBreakpoints", json!({"breakpoints": []}));
    client.ask("reverseContinue", json!({"threadId": lane}));
    assert_eq!(client.event("stopped")["reason"], "entry");
    let said = json!({"expression": "info branches", "context": "repl"});
    let said = client.ask("evaluate", said);
    assert!(said["result"].as_str().is_some_and(|text| text.contains("*1 from branch 0")));
    client.ask("continue", json!({"threadId": lane}));
    assert_eq!(client.event("exited")["exitCode"], 0);
    client.event("terminated");
    client.ask("disconnect", json!({}));
    server.join().expect("no panic").expect("no error");
}

#[test]
fn endless_programs_are_interrupted_and_left() {
    let (mut client, server) = Client::of(ENDLESS);
    client.ask("launch", json!({"program": "/t.toys", "stopOnEntry": true}));
    client.ask("configurationDone", json!({}));
    assert_eq!(client.event("stopped")["reason"], "entry");
    client.ask("continue", json!({"threadId": 1}));
    client.ask("pause", json!({"threadId": 1}));
    let stopped = client.event("stopped");
    assert_eq!(stopped["reason"], "pause");
    let issues = client.ask("evaluate", json!({"expression": "issue"}));
    assert!(issues["result"].as_str().and_then(|n| n.parse().ok()).is_some_and(|n: u64| n > 0));
    // Commands that would leave the launch are not the editor's.
    for word in ["quit", "retry", "continue"] {
        let asked = json!({"expression": word, "context": "repl"});
        assert_eq!(client.request("evaluate", asked)["success"], false, "{word}");
    }
    client.ask("continue", json!({"threadId": 1}));
    std::thread::sleep(std::time::Duration::from_millis(50));
    drop(client);
    // Whether the farewell still reaches the client does not matter.
    let _ = server.join().expect("no panic");
}

#[test]
fn clients_that_leave() {
    let (mut client, server) = Client::new();
    client.ask("initialize", json!({"adapterID": "simtlab"}));
    drop(client);
    assert!(matches!(server.join().expect("no panic"), Err(DapError::Gone)));

    let (mut client, server) = Client::new();
    assert_eq!(client.request("launch", json!({}))["success"], false);
    assert_eq!(client.request("launch", json!({"program": "/x"}))["success"], false);
    client.event("terminated");
    drop(client);
    server.join().expect("no panic").expect("refused in order");

    let (mut client, server) = Client::new();
    client.ask("launch", json!({"program": "/t.toys"}));
    client.ask("disconnect", json!({}));
    drop(client);
    // Whether the farewell still reaches the client does not matter.
    let _ = server.join().expect("no panic");
}
