//! The debugger for launches of another process, over a Unix socket.
//!
//! A [`Server`] is a [`debug::Client`] in the process that launches kernels. It listens in a
//! folder that only the user can enter, hands launches to the one that has connected, and leaves
//! them alone while nobody has. [`Terminal`] is the other end: it passes commands on and shows
//! answers.
//!
//! On the socket commands are lines, and answers are text. ENQ behind a text says that a command
//! is wanted, ETX before a command interrupts what runs. A line that begins with ACK asks what a
//! screen shows ([`debug::Wanted`], [`debug::View`]).

#![cfg(unix)]

mod server;
mod terminal;

pub use server::Server;
pub use terminal::{Answer, AttachError, Terminal, find, find_editors};

/// Says that the launch stands still and a command is wanted (ASCII ENQ).
const ASKS: u8 = 5;
/// Interrupts what runs (ASCII ETX, what Ctrl-C is).
const INTERRUPT: u8 = 3;
/// Begins a line that asks what a screen shows (ASCII ACK).
const VIEW: char = '\u{6}';
/// The extension of sockets; their names are numbers of processes.
const EXTENSION: &str = "socket";
/// The extension of sockets for editors, by the Debug Adapter Protocol.
const EDITORS: &str = "dap";
