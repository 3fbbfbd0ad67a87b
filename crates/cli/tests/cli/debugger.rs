//! The debugger as a process: its command line, its terminal interface in tmux, programs that are
//! attached to, and an unmodified GDB.
#![cfg(target_os = "linux")]

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Time in which everything here has to happen.
const PATIENCE: Duration = Duration::from_secs(60);
/// A launch of `loops.ptx`.
const LAUNCH: [&str; 6] = ["--grid", "1", "--block", "4", "--arg", "out=u32[4]"];

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/debugger").join(name)
}

fn kernel(name: &str) -> String {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    kernels.join(name).display().to_string()
}

/// Runs `simtlab debug` with commands on standard input.
fn debug(args: &[&str], commands: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_simtlab"));
    command.arg("debug").args(args).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let written = child.stdin.take().expect("piped").write_all(commands.as_bytes());
    // A command that refuses its arguments may end before it reads anything.
    let unread = |error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
    assert!(written.as_ref().err().is_none_or(unread), "{written:?}");
    let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
    let [stdout, stderr] = [stdout, stderr].map(|b| String::from_utf8_lossy(&b).into_owned());
    (status.code(), stdout, stderr)
}

fn loops(more: &[&str], commands: &str) -> (Option<i32>, String, String) {
    let file = data("loops.ptx").display().to_string();
    debug(&[&[&*file], &LAUNCH[..], more].concat(), commands)
}

#[test]
fn launches_are_first_shown_where_it_was_said() {
    let (code, out, _) = loops(&["--at", "21", "--mechanism", "min-pc"], "print %sum\nquit\n");
    assert_eq!(code, Some(0), "{out}");
    assert!(out.starts_with("kernel `k` under min-pc, grid 1, block 4\nissue "), "{out}");
    assert!(out.contains(": breakpoint 1\n") && out.contains("=>   21  st.global.u32"), "{out}");
    // A launch that does not fault runs to its end.
    let (code, out, _) = loops(&["--at", "fault"], "print 1\n");
    assert!(code == Some(0) && !out.contains("print"), "{out}");
    let short = ["--at", "fault", "--arg", "out=u32[2]"];
    let file = data("loops.ptx").display().to_string();
    let short = [&[&*file], &LAUNCH[..4], &short].concat();
    let (code, out, errors) = debug(&short, "who %out\ndetach\n");
    assert_eq!(code, Some(3), "{out}{errors}");
    assert!(out.contains("fault `out-of-bounds`") && out.contains("written at issue 2"), "{out}");
    assert!(errors.contains("error[out-of-bounds]"), "{errors}");
    let (code, out, _) =
        debug(&[&kernel("spinlock/textbook.toml"), "--at", "hang"], "info lanes\n");
    assert!(code == Some(0) && out.contains("hang `"), "{out}");
    let (code, _, errors) = debug(&["nothing.ptx"], "");
    assert!(code == Some(2) && !errors.is_empty(), "{errors}");
    let (code, out, _) = loops(&["--at", "99"], "where\nquit\n");
    assert!(code == Some(0) && out.contains("there is no code at or behind line 99"), "{out}");
    let (code, out, _) = loops(&["--script", "/nothing"], "");
    assert!(code == Some(2) && out.is_empty(), "{out}");
}

#[test]
fn recordings_open_at_the_same_issue_elsewhere() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recordings");
    let (here, there) = (folder.join("here"), folder.join("there"));
    for folder in [&here, &there] {
        std::fs::create_dir_all(folder).expect("a folder");
    }
    let program = here.join("loops.ptx");
    std::fs::copy(data("loops.ptx"), &program).expect("copied");
    let (file, program) = (here.join("r.json"), program.display().to_string());
    let record = ["--record", &file.display().to_string()];
    let args = [&[&*program], &LAUNCH[..], &record].concat();
    let commands = "break 18\ncontinue\nfocus lane 2\nset %t@3 = 1\nstepi 4\ndigest\nwhere\nquit\n";
    let (code, out, errors) = debug(&args, commands);
    assert_eq!(code, Some(0), "{out}{errors}");
    // On another computer the program is not there.
    let moved = there.join("r.json");
    std::fs::rename(&file, &moved).expect("moved");
    std::fs::remove_file(&program).expect("removed");
    let moved = moved.display().to_string();
    let answers = |out: &str| {
        let from = out.find("(simtlab) digest").expect("asked");
        out[from..].to_owned()
    };
    let (code, again, errors) = debug(&[&moved], "digest\nwhere\nquit\n");
    assert_eq!(code, Some(0), "{again}{errors}");
    assert_eq!(answers(&again), answers(&out), "{again}");
    let (_, again, _) = debug(&[&moved], "info branches\nbranch 0\nrewind 8\nprint %t@3\nquit\n");
    assert!(again.contains("*1 from branch 0") && again.contains("%t@3 = 3"), "{again}");
    // With other settings it begins at the start.
    let (_, again, _) = debug(&[&moved, "--mechanism", "min-pc"], "where\nquit\n");
    assert!(again.starts_with("kernel `k` under min-pc") && again.contains("line 9"), "{again}");
    let text = std::fs::read_to_string(&moved).expect("text");
    for (from, to, said) in [
        ("set %t@3 = 1", "set %t@3 = 2", "is not the recorded one"),
        ("\"loops.ptx\": {", "\"../loops.ptx\": {", "lies outside of the recording"),
        ("\"simtlab_recording\": 1", "\"simtlab_recording\": 9", "version 9 of recordings"),
        ("\"words\"", "\"letters\"", "the recording: missing field `words`"),
        ("{", "", "cannot be opened"),
        ("set %t@3 = 1", "log stolen.txt", "change 0 of launch 0, `log stolen.txt`"),
        ("{{loops.ptx}}", "loops.ptx", "names no file of the recording"),
    ] {
        assert!(text.contains(from), "{from}: {text}");
        let other = there.join("other.json");
        std::fs::write(&other, text.replacen(from, to, 1)).expect("written");
        let (_, out, errors) = debug(&[&other.display().to_string()], "quit\n");
        assert!(out.contains(said) || errors.contains(said), "{said}: {out}{errors}");
    }
}

#[test]
fn pages_of_comparisons_contain_the_run() {
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loops.html").display().to_string();
    let file = data("loops.ptx").display().to_string();
    let mut compare = Command::new(env!("CARGO_BIN_EXE_simtlab"));
    compare.args(["compare", &file]).args(LAUNCH).args(["--mechanisms", "ipdom,min-pc"]);
    assert!(compare.args(["--html", &page]).status().expect("runs").success());
    let (code, out, errors) = debug(&[&page, "--mechanism", "min-pc"], "stepi 3\nwhere\nquit\n");
    assert_eq!(code, Some(0), "{out}{errors}");
    assert!(out.starts_with("kernel `k` under min-pc, grid 1, block 4"), "{out}");
    let other = Path::new(env!("CARGO_TARGET_TMPDIR")).join("other.html");
    std::fs::write(&other, "<html></html>").expect("written");
    let (code, _, errors) = debug(&[&other.display().to_string()], "");
    assert!(code == Some(2) && errors.contains("contains no recording"), "{errors}");
}

/// Runs a target with `--record`, and returns the recording.
fn recorded(name: &str, args: &[&str], exit: i32) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recorded");
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(name).display().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_simtlab"));
    let output = command.arg("run").args(args).args(["--record", &file]).output().expect("runs");
    assert_eq!(output.status.code(), Some(exit), "{}", String::from_utf8_lossy(&output.stderr));
    file
}

#[test]
fn runs_are_recorded_and_opened_where_they_ended() {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recorded-loops.ptx");
    std::fs::copy(data("loops.ptx"), &program).expect("copied");
    let program = program.display().to_string();
    let done = recorded("done.json", &[&[&*program], &LAUNCH[..]].concat(), 0);
    let fault = [&[&*program], &LAUNCH[..4], &["--arg", "out=u32[2]"]].concat();
    let fault = recorded("fault.json", &fault, 3);
    let short = [&[&*program], &LAUNCH[..], &["--limit", "10"]].concat();
    let short = recorded("short.json", &short, 3);
    std::fs::remove_file(&program).expect("removed");
    let (code, out, errors) = debug(&[&done], "reverse-stepi\nwhere\nquit\n");
    assert_eq!(code, Some(0), "{out}{errors}");
    assert!(out.contains(": the launch has ended\n(simtlab) reverse-stepi\nissue "), "{out}");
    assert!(out.contains("=>   22  ret;") && out.contains("*0 line 22 in `k`"), "{out}");
    let (code, out, _) = debug(&[&fault], "who %out\ndetach\n");
    assert_eq!(code, Some(3), "{out}");
    assert!(out.contains("fault `out-of-bounds`") && out.contains("written at issue 2"), "{out}");
    let (_, out, _) = debug(&[&short], "where\nquit\n");
    assert!(out.contains("issue 10: hang `limit`"), "{out}");
    let hang = recorded("hang.json", &[&kernel("spinlock/textbook.toml")], 0);
    let (_, out, _) = debug(&[&hang], "info lanes\nquit\n");
    assert!(out.contains("hang `") && out.contains("# active"), "{out}");
    let sieve = recorded("sieve.json", &[&kernel("pmask/sieve/sieve.elf")], 0);
    let (_, out, _) = debug(&[&sieve], "reverse-stepi\nquit\n");
    assert!(out.contains("=> 0x8") && out.contains("ecall"), "{out}");
    // With other settings the launch begins at its start.
    let (_, out, _) = debug(&[&fault, "--mechanism", "min-pc"], "where\nquit\n");
    assert!(out.starts_with("kernel `k` under min-pc") && out.contains("line 9"), "{out}");
    let text = std::fs::read_to_string(&fault).expect("text");
    assert!(text.contains("\"out-of-bounds\""), "{text}");
    std::fs::write(&fault, text.replace("\"out-of-bounds\"", "\"misaligned\"")).expect("written");
    let (_, out, _) = debug(&[&fault], "quit\n");
    assert!(out.contains("ends with `out-of-bounds`, not with the recorded `misaligned`"), "{out}");
    let input = ["--isa", "pmask", "--option", "input=@-", "--record", "/dev/null"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_simtlab"));
    command.arg("run").arg(kernel("pmask/sieve/sieve.elf")).args(input).stdin(Stdio::null());
    let said = command.output().expect("runs");
    let errors = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.code() == Some(2) && errors.contains("standard input"), "{errors}");
}

#[test]
fn recordings_that_are_cut_or_corrupt_are_refused() {
    let program = data("loops.ptx").display().to_string();
    let file = recorded("cut.json", &[&[&*program], &LAUNCH[..]].concat(), 0);
    let bytes = std::fs::read(&file).expect("bytes");
    let other = format!("{file}.json");
    let opens = |bytes: &[u8]| {
        std::fs::write(&other, bytes).expect("written");
        let (code, out, errors) = debug(&[&other], "quit\n");
        let refused = code == Some(2) && errors.starts_with("error");
        assert!(refused || code == Some(0) && !out.is_empty(), "{code:?} {out}{errors}");
        refused
    };
    for length in (0..bytes.len() - 2).step_by(bytes.len() / 12) {
        assert!(opens(&bytes[..length]), "{length} bytes");
    }
    let mut refused = 0;
    for index in (0..24).map(|i| (i * 977 + 13) % bytes.len()) {
        let mut bad = bytes.clone();
        bad[index] ^= 1 << (index % 7);
        refused += u32::from(opens(&bad));
    }
    assert!(refused > 0);
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(opens(deep.as_bytes()));
    let odd = r#"{"simtlab_recording": 1, "words": ["{{a}}"], "launches": [],
        "files": {"a/b": {"hex": "0"}}}"#;
    assert!(opens(odd.as_bytes()));
}

#[test]
fn launches_that_hang_begin_again_under_another_mechanism() {
    let target = kernel("spinlock/textbook.toml");
    let commands = "retry nonsense\nretry\nwhere\nbreak 1\ncontinue\nretry ipdom\ndetach\n";
    let (code, out, errors) = debug(&[&target, "--at", "hang"], commands);
    assert_eq!(code, Some(0), "{out}{errors}");
    assert!(out.contains("hang `") && out.contains("error: "), "{out}");
    let kernels: Vec<&str> = out.lines().filter(|line| line.starts_with("kernel ")).collect();
    assert!(kernels.len() == 3, "{out}");
    assert!(kernels[0].contains("under ipdom") && !kernels[1].contains("under ipdom"), "{out}");
    let (first, rest) = out.split_once(kernels[1]).expect("it begins again");
    assert!(!first.contains("issue 0") && rest.contains("*0 line"), "{out}");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join("retried.json").display().to_string();
    let commands = "retry\nrewind 100\ndigest\nquit\n";
    let (_, out, _) = debug(&[&target, "--at", "hang", "--record", &file], commands);
    let (_, again, _) = debug(&[&file], "digest\nquit\n");
    let digest = |out: &str| out.lines().last().unwrap_or_default().to_owned();
    let digests =
        [&out, &again].map(|out| digest(out.split("(simtlab) quit").next().unwrap_or("")));
    assert!(digests[0] == digests[1] && !digests[0].is_empty(), "{out}{again}");
    let (_, out, _) = debug(&[&kernel("pmask/sieve")], "retry\nquit\n");
    assert!(out.contains("error: launches of this machine run under `masks` alone"), "{out}");
}

/// A message of the Debug Adapter Protocol.
fn message(stream: &mut impl std::io::BufRead) -> String {
    let mut line = String::new();
    stream.read_line(&mut line).expect("a header");
    let length = line.trim().rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0usize);
    let mut body = vec![0; 2 + length];
    stream.read_exact(&mut body).expect("a body");
    String::from_utf8_lossy(&body[2..]).into_owned()
}

#[test]
fn a_second_editor_is_turned_away() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_simtlab"))
        .args(["dap", "--port", "0"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut errors = BufReader::new(server.stderr.take().expect("piped"));
    let mut line = String::new();
    errors.read_line(&mut line).expect("a line");
    let address = line.trim().rsplit(' ').next().unwrap_or_default().to_owned();
    let request =
        r#"{"seq":1,"type":"request","command":"initialize","arguments":{"adapterID":"x"}}"#;
    let request = format!("Content-Length: {}\r\n\r\n{request}", request.len());
    let ask = || {
        let mut stream = std::net::TcpStream::connect(&*address).expect("listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        stream.write_all(request.as_bytes()).expect("sent");
        let said = message(&mut BufReader::new(&stream));
        (stream, said)
    };
    let (first, said) = ask();
    assert!(said.contains("\"success\":true"), "{said}");
    let (_, said) = ask();
    assert!(said.contains("another editor is served") && said.contains("false"), "{said}");
    drop(first);
    server.wait().expect("it ends");
}

#[test]
fn binaries_are_shown_as_instructions() {
    let target = kernel("pmask/sieve");
    let (code, out, _) = debug(&[&target], "break print_number\ncontinue\nwho a0\nwhere\nquit\n");
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("breakpoint 1: 0x80000000") && out.contains("in `print_number`"), "{out}");
    let line =
        out.lines().find(|line| line.starts_with("a0: written at issue")).unwrap_or_default();
    assert!(line.contains(": addi a0, a0, 94"), "{out}");
}

/// The session with a program for `simtlab exec --debug`.
struct Debugged {
    child: Child,
    errors: BufReader<std::process::ChildStderr>,
    folder: String,
}

impl Debugged {
    /// Starts the client of the tests of `exec`.
    fn start(words: &[&str], options: &[&str]) -> Self {
        let test = std::env::current_exe().expect("a name");
        let mut command = Command::new(env!("CARGO_BIN_EXE_simtlab"));
        command.arg("exec").arg("--libraries").arg(test.parent().expect("a folder"));
        command.arg("--debug").args(options).arg("--").arg(super::exec::client()).args(words);
        let mut child =
            command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("starts");
        let mut errors = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        errors.read_line(&mut line).expect("a line");
        let folder = line.trim().rsplit(' ').next().unwrap_or_default().to_owned();
        assert!(
            line.starts_with("kernels wait for a debugger: simtlab debug --attach /"),
            "{line}"
        );
        Self { child, errors, folder }
    }

    fn attach(&self, commands: &str) -> String {
        let (code, out, errors) = debug(&["--attach", &self.folder], commands);
        assert_eq!(code, Some(0), "{out}{errors}");
        out
    }

    fn end(mut self) -> (Option<i32>, String) {
        let mut text = String::new();
        self.errors.read_to_string(&mut text).expect("text");
        (self.child.wait().expect("it ends").code(), text)
    }
}

#[test]
fn a_program_is_attached_to() {
    let program = Debugged::start(&[], &[]);
    let out = program.attach(
        "where\nstepi 3\nreverse-stepi\nbreak fill.cu:99\ncontinue\nreverse-continue\n\
                              info registers\ncontinue\ncontinue\n",
    );
    assert!(out.starts_with("kernel `fill` under ipdom, grid 1, block "), "{out}");
    assert!(out.contains("(simtlab) reverse-stepi\nissue 2\n"), "{out}");
    assert!(out.contains(": the launch has ended\n"), "{out}");
    assert!(out.contains("(simtlab) reverse-continue\nissue 0: the start"), "{out}");
    let (code, text) = program.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("1 launch of 1 kernel, 0 faults"), "{text}");
}

/// An editor that speaks with `simtlab dap`.
struct Editor {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    sequence: u64,
}

impl Editor {
    fn start() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_simtlab"));
        command.arg("dap").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("starts");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, output, sequence: 0 }
    }

    fn ask(&mut self, command: &str, arguments: &str) {
        self.sequence += 1;
        let text = format!(
            r#"{{"seq":{},"type":"request","command":"{command}","arguments":{arguments}}}"#,
            self.sequence
        );
        let input = self.child.stdin.as_mut().expect("piped");
        write!(input, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("sent");
        input.flush().expect("sent");
    }

    /// The next message in which these words are.
    fn until(&mut self, words: &[&str]) -> String {
        loop {
            let said = message(&mut self.output);
            assert!(!said.is_empty(), "the adapter has left before {words:?}");
            if words.iter().all(|word| said.contains(word)) {
                return said;
            }
        }
    }
}

#[test]
fn an_editor_attaches_to_a_program() {
    let program = Debugged::start(&[], &[]);
    let mut editor = Editor::start();
    editor.ask("initialize", r#"{"adapterID":"simtlab"}"#);
    editor.until(&["initialize", "supportsStepBack"]);
    let folder = &program.folder;
    // The program may not have come to its first call yet.
    let start = Instant::now();
    let is_socket = |entry: std::fs::DirEntry| entry.path().extension().is_some_and(|e| e == "dap");
    let listens = || std::fs::read_dir(folder).into_iter().flatten().flatten().any(is_socket);
    while !listens() {
        assert!(start.elapsed() < PATIENCE, "nobody listens in {folder}");
        std::thread::sleep(Duration::from_millis(20));
    }
    editor.ask("attach", &format!(r#"{{"folder":"{folder}","stopOnEntry":true}}"#));
    editor.until(&["\"event\"", "\"initialized\""]);
    editor.ask("configurationDone", "{}");
    editor.until(&["\"stopped\"", "entry"]);
    editor.ask("next", r#"{"threadId":1}"#);
    editor.until(&["\"stopped\"", "step"]);
    editor.ask("stepBack", r#"{"threadId":1,"granularity":"instruction"}"#);
    editor.until(&["\"stopped\""]);
    editor.ask("evaluate", r#"{"expression":"issue"}"#);
    let said = editor.until(&["evaluate"]);
    assert!(said.contains("\"success\":true"), "{said}");
    editor.ask("disconnect", "{}");
    editor.until(&["disconnect", "\"success\":true"]);
    let (code, text) = program.end();
    assert_eq!(code, Some(0), "{text}");
    editor.until(&["terminated"]);
    drop(editor.child.stdin.take());
    editor.child.wait().expect("it ends");

    let mut editor = Editor::start();
    editor.ask("initialize", r#"{"adapterID":"simtlab"}"#);
    editor.ask("attach", r#"{"folder":"/nothing"}"#);
    let said = editor.until(&["\"command\":\"attach\""]);
    assert!(said.contains("no program waits"), "{said}");
    drop(editor.child.stdin.take());
    editor.child.wait().expect("it ends");
}

#[test]
fn an_editor_opens_a_recording() {
    let program = data("loops.ptx").display().to_string();
    let fault = [&[&*program], &LAUNCH[..4], &["--arg", "out=u32[2]"]].concat();
    let file = recorded("edited.json", &fault, 3);
    let mut editor = Editor::start();
    editor.ask("initialize", r#"{"adapterID":"simtlab"}"#);
    editor.ask("launch", &format!(r#"{{"program":"{file}"}}"#));
    editor.until(&["\"event\"", "\"initialized\""]);
    editor.ask("configurationDone", "{}");
    editor.until(&["\"stopped\"", "exception"]);
    editor.ask("stepBack", r#"{"threadId":1,"granularity":"instruction"}"#);
    editor.until(&["\"stopped\"", "step"]);
    editor.ask("disconnect", "{}");
    editor.until(&["disconnect", "\"success\":true"]);
    drop(editor.child.stdin.take());
    editor.child.wait().expect("it ends");
}

/// What the examples for editors name is what the extension declares.
#[test]
fn examples_for_editors_have_declared_attributes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors/vscode");
    let read = |name: &str| -> serde_json::Value {
        let text = std::fs::read_to_string(folder.join(name)).expect("a file");
        serde_json::from_str(&text).expect("JSON")
    };
    let (package, launch) = (read("package.json"), read("launch.json"));
    let debugger = &package["contributes"]["debuggers"][0];
    let mut requests = Vec::new();
    for example in launch["configurations"].as_array().expect("a list") {
        let request = example["request"].as_str().expect("text");
        assert_eq!(example["type"], debugger["type"]);
        let declared = &debugger["configurationAttributes"][request]["properties"];
        // These are the editor's own.
        let own = ["type", "request", "name", "debugServer"];
        for (name, value) in example.as_object().expect("a map") {
            let kind = match value {
                serde_json::Value::Bool(_) => "boolean",
                serde_json::Value::Array(_) => "array",
                _ => "string",
            };
            let known = own.contains(&&**name) || declared[name]["type"] == kind;
            assert!(known, "{name} of {}", example["name"]);
        }
        requests.push(request);
    }
    assert!(requests.contains(&"launch") && requests.contains(&"attach"));
}

#[test]
fn a_second_debugger_is_told_so() {
    let program = Debugged::start(&[], &[]);
    let mut first = Command::new(env!("CARGO_BIN_EXE_simtlab"))
        .args(["debug", "--attach", &program.folder])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut said = [0; 16];
    first.stdout.as_mut().expect("piped").read_exact(&mut said).expect("it is attached");
    let (_, out, errors) = debug(&["--attach", &program.folder], "where\n");
    assert!(out.contains("another debugger is attached"), "{out}{errors}");
    drop(first.stdin.take());
    first.wait().expect("it ends");
    assert_eq!(program.end().0, Some(0));
}

#[test]
fn a_fault_of_a_program_is_shown_and_goes_on() {
    let program = Debugged::start(&["fault"], &["--at", "fault"]);
    let out = program.attach("who %a\nreverse-stepi\ncontinue\ncontinue\n");
    assert!(out.contains(": fault `out-of-bounds`"), "{out}");
    assert!(out.contains("%a: written at issue "), "{out}");
    let (code, text) = program.end();
    assert!(code == Some(3) && text.contains("1 fault, 0 hangs"), "{text}");
}

#[test]
fn clients_that_leave_let_the_program_run_on_and_quit_stops_the_launch() {
    let program = Debugged::start(&[], &[]);
    program.attach("stepi\n");
    let (code, text) = program.end();
    assert_eq!(code, Some(0), "{text}");
    let program = Debugged::start(&[], &[]);
    program.attach("quit\n");
    let (code, _) = program.end();
    assert!(code.is_some_and(|code| code != 0));
    // Nobody listens in a folder that is gone.
    let (code, _, errors) = debug(&["--attach", "/nothing"], "");
    assert!(code == Some(2) && errors.contains("no program waits"), "{errors}");
}

/// A terminal that a program runs in.
struct Tmux {
    socket: String,
}

impl Tmux {
    /// `None` without tmux on this host.
    fn start(name: &str, (width, height): (u32, u32), command: &str) -> Option<Self> {
        let socket = format!("simtlab-{name}-{}", std::process::id());
        let this = Self { socket };
        let size = ["-x", &width.to_string(), "-y", &height.to_string()];
        let words = [&["-f", "/dev/null", "new-session", "-d"], &size[..], &[command]].concat();
        let started = this.call(&words).ok()?;
        assert!(started.status.success(), "{started:?}");
        Some(this)
    }

    fn call(&self, words: &[&str]) -> std::io::Result<Output> {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.socket]).args(words).env_remove("TMUX").env("LC_ALL", "C.UTF-8");
        command.output()
    }

    fn keys(&self, keys: &[&str]) {
        let sent = self.call(&[&["send-keys"], keys].concat()).expect("tmux");
        assert!(sent.status.success(), "{sent:?}");
    }

    fn screen(&self) -> String {
        let output = self.call(&["capture-pane", "-p"]).expect("tmux");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().fold(String::new(), |mut out, line| {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{}", line.trim_end());
            out
        })
    }

    /// Waits until the screen contains a text.
    fn wait_for(&self, text: &str) {
        let start = Instant::now();
        while !self.screen().contains(text) {
            assert!(start.elapsed() < PATIENCE, "{text}:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until the screen is that of a file.
    fn expect(&self, name: &str) {
        let path = data(name);
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        let start = Instant::now();
        let bless = std::env::var_os("SIMTLAB_BLESS").is_some();
        loop {
            let screen = self.screen();
            if screen == expected {
                return;
            }
            let late = start.elapsed() > if bless { Duration::from_secs(3) } else { PATIENCE };
            if late && bless {
                return std::fs::write(&path, screen).expect("written");
            }
            assert!(!late, "{name} is not what is shown:\n{screen}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.call(&["kill-server"]);
    }
}

#[test]
fn screens_of_the_terminal_interface() {
    let simtlab = env!("CARGO_BIN_EXE_simtlab");
    let folder = data("");
    let command =
        format!("cd {}; {simtlab} debug loops.ptx {}; cat", folder.display(), LAUNCH.join(" "));
    let Some(tmux) = Tmux::start("screens", (110, 36), &command) else {
        return eprint(b"NOT RUN: there is no tmux\n");
    };
    tmux.expect("start.txt");
    tmux.keys(&["break 18", "Enter", "F5"]);
    tmux.expect("break.txt");
    tmux.keys(&["rejoin", "Enter", "F3"]);
    tmux.expect("rejoin.txt");
    tmux.keys(&["Left", "Left", "who %sum depth 2", "Enter", "Tab"]);
    tmux.expect("back.txt");
    tmux.keys(&["frobnicate", "Enter"]);
    tmux.expect("error.txt");
    assert!(tmux.call(&["resize-window", "-x", "50", "-y", "20"]).is_ok());
    tmux.expect("small.txt");
    assert!(tmux.call(&["resize-window", "-x", "110", "-y", "36"]).is_ok());
    tmux.keys(&["d 1", "Enter", "F5"]);
    tmux.expect("end.txt");
    tmux.keys(&["detach", "Enter"]);
    tmux.expect("after.txt");
}

#[test]
fn a_program_is_attached_to_in_the_whole_terminal() {
    let program = Debugged::start(&[], &[]);
    let simtlab = env!("CARGO_BIN_EXE_simtlab");
    let command = format!("{simtlab} debug --attach {}; echo left; cat", program.folder);
    let Some(tmux) = Tmux::start("attached", (110, 36), &command) else {
        program.attach("");
        return eprint(b"NOT RUN: there is no tmux\n");
    };
    tmux.wait_for("fill under ipdom | issue 0 | block 0 warp 0 lane 0");
    tmux.keys(&["Right", "Right", "Right", "Left", "Tab"]);
    tmux.wait_for("fill under ipdom | issue 2 | block 0 warp 0 lane 1");
    tmux.keys(&["F3", "F5"]);
    tmux.wait_for("the launch has ended");
    tmux.wait_for("mechanism\u{2500}");
    tmux.keys(&["C-d"]);
    tmux.wait_for("left");
    let (code, text) = program.end();
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn endless_kernels_are_interrupted_in_the_terminal() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("endless.ptx");
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out) {\n\
                .reg .b64 %i, %o;\nld.param.u64 %o, [out];\nL: add.u64 %i, %i, 1;\nst.global.u64 [%o], %i;\n\
                bra L;\n}\n";
    std::fs::write(&file, text).expect("a file");
    let simtlab = env!("CARGO_BIN_EXE_simtlab");
    let command = format!("{simtlab} debug {} --grid 1 --block 1 --arg out=u64[1]", file.display());
    let Some(tmux) = Tmux::start("endless", (100, 30), &command) else {
        return eprint(b"NOT RUN: there is no tmux\n");
    };
    tmux.wait_for("issue 0");
    tmux.keys(&["F5"]);
    tmux.wait_for("runs; Esc interrupts");
    tmux.keys(&["Escape"]);
    tmux.wait_for(": interrupted");
}

#[test]
fn an_unmodified_gdb() {
    let Ok(found) = Command::new("gdb-multiarch").arg("--version").output() else {
        return eprint(b"NOT RUN: there is no gdb-multiarch\n");
    };
    assert!(found.status.success());
    let mut server = Command::new(env!("CARGO_BIN_EXE_simtlab"))
        .args(["debug", &kernel("pmask/sieve"), "--gdb", "127.0.0.1:0"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("starts");
    let mut errors = BufReader::new(server.stderr.take().expect("piped"));
    let mut line = String::new();
    errors.read_line(&mut line).expect("a line");
    let port = line.trim().rsplit(':').next().unwrap_or_default();
    let output = Command::new("gdb-multiarch")
        .args(["-nx", "-batch", "-ex", &format!("target remote 127.0.0.1:{port}"), "-x"])
        .arg(data("sieve.gdb"))
        .arg(kernel("pmask/sieve/sieve.elf"))
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr).into_owned();
    server.wait().expect("it ends");
    let path = data("sieve.gdb.txt");
    if std::env::var_os("SIMTLAB_BLESS").is_some() {
        std::fs::write(&path, &said).expect("written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(said, expected, "{wrong}");
    // What `monitor` says is on GDB's other stream.
    assert!(
        wrong.contains("a1: written at issue") && wrong.contains("*1 from branch 0"),
        "{wrong}"
    );
}

fn eprint(text: &[u8]) {
    // A test that cannot say so has nobody to say it to.
    let _ = std::io::stderr().write_all(text);
}
