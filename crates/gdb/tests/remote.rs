//! The remote protocol as it is on the wire.

use std::io::{Read, Write};
use std::net::TcpStream;

use debug::{After, Client as _, Code, Execution};
use isa::FileId;
use pmask::{Launch, Pmask, Program};
use simt::machine::Machine;

const PROGRAM: &str = "\
_start:
    li   a0, 5
    la   a1, word
loop:
    addi a0, a0, -1
    sd   a0, 0(a1)
    bnez a0, loop
    li   a7, 93
    ecall
.data
word:
    .dword 9
";

/// An endless loop.
const ENDLESS: &str = "\
_start:
    addi a0, a0, 1
    j    _start
";

/// A call and its return.
const CALLS: &str = "\
_start:
    li   a0, 1
    jal  ra, one
    j    _start
one:
    ret
";

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> String {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).filter_map(|pair| char::from_u32(pair[0] * 16 + pair.get(1)?)).collect()
}

struct Client(TcpStream);

impl Client {
    /// Sends a packet and returns the answer's payload.
    fn ask(&mut self, payload: &str) -> String {
        self.send(payload);
        self.receive()
    }

    fn send(&mut self, payload: &str) {
        let sum = payload.bytes().fold(0u8, u8::wrapping_add);
        write!(self.0, "${payload}#{sum:02x}").expect("sent");
    }

    fn receive(&mut self) -> String {
        let mut byte = [0];
        let mut text = String::new();
        loop {
            self.0.read_exact(&mut byte).expect("an answer");
            match byte[0] {
                b'+' if text.is_empty() => {}
                b'#' => break,
                other => text.push(other.into()),
            }
        }
        self.0.read_exact(&mut [0; 2]).expect("a checksum");
        self.0.write_all(b"+").expect("sent");
        expand(text.trim_start_matches('$'))
    }

    fn register(&mut self, number: usize) -> u64 {
        let text = self.ask(&format!("p{number:x}"));
        u64::from_str_radix(&text, 16).expect("a number").swap_bytes()
    }
}

/// Undoes run-length encoding: `0*"` is `0000`.
fn expand(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, out.chars().last()) {
            ('*', Some(last)) => {
                let count = chars.next().map_or(0, |c| (c as usize).saturating_sub(29));
                out.extend(std::iter::repeat_n(last, count));
            }
            _ => out.push(c),
        }
    }
    out
}

/// Serves a program to what a client does; returns what became of the launch, and `a0`.
fn with_client(text: &str, client: impl FnOnce(Client) + Send + 'static) -> (After, u64) {
    let program = Program::load(text.as_bytes(), FileId(0)).expect("a program");
    let machine = Pmask::default();
    let state = machine.launch(&program, Launch::default()).expect("starts");
    let explain = |cause: &pmask::trap::StopCause| cause.to_string();
    let mut execution = Execution::new(&machine, &program, state, explain, Code::default())
        .with_exit(|state| state.host.exit);
    let mut server = gdb::Server::listen("127.0.0.1:0").expect("a port");
    let address = server.address().expect("an address");
    let other = std::thread::spawn(move || {
        client(Client(TcpStream::connect(address).expect("connected")));
    });
    let after = server.launch(&mut execution);
    if let Some(error) = server.take_error() {
        panic!("{error}");
    }
    other.join().expect("no panic");
    (after, execution.into_state().x[10])
}

#[test]
fn breakpoints_registers_memory_and_time() {
    let (after, a0) = with_client(PROGRAM, |mut client| {
        assert!(client.ask("qSupported:swbreak+").contains("ReverseContinue+"));
        let pc = client.register(32);
        // `li` takes one instruction, `la` two, and the loop has three.
        let (first, last) = (pc + 12, pc + 20);
        assert_eq!(client.ask(&format!("Z0,{last:x},4")), "OK");
        assert!(client.ask("vCont;c").contains("swbreak"));
        assert_eq!((client.register(32), client.register(10)), (last, 4));
        assert!(client.ask("vCont;c").contains("swbreak"));
        assert_eq!(client.register(10), 3);
        let word = client.register(11);
        assert_eq!(client.ask(&format!("m{word:x},8")), "0300000000000000");
        assert!(client.ask("bc").contains("swbreak"));
        assert_eq!((client.register(32), client.register(10)), (last, 4));
        assert_eq!(client.ask(&format!("z0,{last:x},4")), "OK");
        assert_eq!(client.ask(&format!("Z2,{word:x},8")), "OK");
        // Back to before the store, which is an instruction of the loop.
        assert!(client.ask("bc").contains("watch"));
        assert_eq!(client.register(32), first + 4);
        client.ask("bs");
        assert_eq!(client.register(32), first);
        assert_eq!(client.ask(&format!("z2,{word:x},8")), "OK");
        assert_eq!(client.ask("Pa=0100000000000000"), "OK");
        assert_eq!(client.ask("vCont;c"), "W00");
    });
    assert_eq!((after, a0), (After::Run, 0));
}

#[test]
fn a_second_client_is_turned_away() {
    let (after, _) = with_client(ENDLESS, |mut client| {
        client.ask("qSupported:swbreak+");
        let address = client.0.peer_addr().expect("connected");
        let mut second = TcpStream::connect(address).expect("heard");
        second.set_read_timeout(Some(std::time::Duration::from_secs(30))).expect("set");
        assert_eq!(second.read(&mut [0; 16]).expect("hung up"), 0);
        assert_eq!(client.register(10), 0);
    });
    assert_eq!(after, After::Stop);
}

#[test]
fn a_client_may_leave_while_the_program_runs() {
    let (after, a0) = with_client(ENDLESS, |mut client| {
        client.ask("qSupported:swbreak+");
        client.send("vCont;c");
        std::thread::sleep(std::time::Duration::from_millis(50));
    });
    assert!(after == After::Stop && a0 > 0);
}

#[test]
fn calls_of_a_program_are_known() {
    let (after, _) = with_client(CALLS, |mut client| {
        client.ask("qSupported:swbreak+");
        for wanted in ["1", "2", "1"] {
            client.ask("vCont;s");
            client.send(&format!("qRcmd,{}", hex("where")));
            let mut said = String::new();
            loop {
                match client.receive().as_str() {
                    "OK" => break,
                    text => said.push_str(&unhex(text.trim_start_matches('O'))),
                }
            }
            assert_eq!(said.lines().count().to_string(), wanted, "{said}");
        }
        client.send("k");
    });
    assert_eq!(after, After::Stop);
}

#[test]
fn endless_programs_are_interrupted_and_clients_may_leave() {
    let (after, _) = with_client(ENDLESS, |mut client| {
        client.ask("qSupported:swbreak+");
        client.send("vCont;c");
        std::thread::sleep(std::time::Duration::from_millis(50));
        client.0.write_all(&[3]).expect("sent");
        let stop = client.receive();
        assert!(stop.starts_with("S02") || stop.starts_with("T02"), "{stop}");
        assert!(client.register(10) > 0);
        drop(client);
    });
    assert_eq!(after, After::Stop);
}
