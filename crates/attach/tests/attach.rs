//! Both ends of the socket, with a launch of the toy machine.
#![cfg(unix)]

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use attach::{Answer, Server, Terminal, find};
use debug::{After, At, Client as _, Code, Execution, Instruction, Look as _, Pane, Wanted};
use isa::{FileId, SourceFile};
use simt::Pc;
use simt::machine::Machine as _;
use simt::memory::MemoryMap;
use toy::Toy;

/// A loop without an end.
const ENDLESS: &str = "\
    li    r1, 5
loop:
    addi  r2, r1, -1
    slt   p1, r2, r1
    bany  p1, loop
    halt
";

/// A folder for sockets that goes with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("attach-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Launches the program under a server; returns what becomes of it, and its position.
fn launch(folder: &Folder) -> (Terminal, JoinHandle<(After, u64)>) {
    let mut server = Server::open(&folder.0, At::Start).expect("a socket");
    let launched = std::thread::spawn(move || {
        let image = toy::assemble(FileId(0), ENDLESS).expect("a program");
        let text = SourceFile::new("t.toys", ENDLESS);
        let instruction = |line: &isa::asm::Line| Instruction {
            pc: Pc(line.address),
            text: ENDLESS[line.span.range()].into(),
            line: Some(text.line_col(line.span.start).line),
            source: None,
        };
        let instructions = image.lines.iter().map(instruction).collect();
        let program = Toy.load(&toy::binary(&image).expect("a binary")).expect("loads");
        let (arguments, memory) = (Vec::new(), MemoryMap::new());
        let launch = toy::Launch { threads: 4, width: 4, arguments, memory };
        let state = Toy.launch(&program, launch).expect("starts");
        let code = Code::new("t.toys", ENDLESS, instructions, Vec::new());
        let explain = |cause: &toy::Trap| cause.to_string();
        let mut execution = Execution::new(&Toy, &program, state, explain, code);
        let after = server.launch(&mut execution);
        (after, execution.position())
    });
    let sockets = find(Some(&folder.0), &std::env::temp_dir());
    (Terminal::connect(&sockets[0]).expect("connected"), launched)
}

fn text(answer: Answer) -> String {
    match answer {
        Answer::Text(text) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn commands_are_answered_and_what_runs_is_interrupted() {
    let folder = Folder::new("commands");
    let (mut terminal, launched) = launch(&folder);
    let flag = AtomicBool::new(false);
    assert!(text(terminal.listen(&flag).expect("heard")).starts_with("kernel"));
    assert_eq!(text(terminal.ask("print 1 + 1", &flag).expect("heard")), "1 + 1 = 2\n");
    // A line that is none ends nothing.
    assert!(text(terminal.ask("pri\u{3}nt\n 1", &flag).expect("heard")).contains("= 1"));
    let wanted = Wanted { pane: Pane::Mechanism, source: true, moved: 1 };
    let view = terminal.view(&wanted).expect("a view");
    assert!(view.program.starts_with("t.toys") && view.lanes.len() > 2, "{view:?}");
    assert!(view.lines[0].here && view.middle == 1 && view.pane == "mechanism", "{view:?}");
    assert_eq!(view.neighbours, [Some(3), Some(1)]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            flag.store(true, Ordering::Relaxed);
        });
        let said = text(terminal.ask("continue", &flag).expect("heard"));
        assert!(said.contains(": interrupted"), "{said}");
    });
    assert_eq!(terminal.ask("quit", &flag).expect("heard"), Answer::Last(String::new()));
    let (after, position) = launched.join().expect("no panic");
    assert!(after == After::Stop && position > 0);
}

#[test]
fn clients_leave_while_it_runs_and_others_are_turned_away() {
    let folder = Folder::new("leave");
    let (mut terminal, launched) = launch(&folder);
    let flag = AtomicBool::new(false);
    text(terminal.listen(&flag).expect("heard"));
    let sockets = find(Some(&folder.0), &std::env::temp_dir());
    let mut second = Terminal::connect(&sockets[0]).expect("heard");
    match second.listen(&flag).expect("heard") {
        Answer::Last(said) => assert!(said.contains("another debugger is attached"), "{said}"),
        other => panic!("{other:?}"),
    }
    // The second interrupt says that nobody waits: the program does not know yet.
    let (stop, flag) = (&AtomicBool::new(false), &flag);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                flag.store(true, Ordering::Relaxed);
            }
        });
        let answer = terminal.ask("continue", flag).expect("heard");
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(answer, Answer::Unheard | Answer::Text(_)), "{answer:?}");
    });
    drop(terminal);
    assert_eq!(launched.join().expect("no panic").0, After::Run);
}
