//! A launch of the RISC-V machine for GDB: its remote serial protocol over a TCP connection.
//!
//! GDB sees one RISC-V hart of 64 bits with its integer and floating-point registers, P0, the mask
//! banks and SVSTATE. Breakpoints, watchpoints, steps and runs go forwards and backwards. The
//! protocol itself is the crate `gdbstub`'s. One client is served at a time; when it leaves, the
//! launch runs on or stops, as the client said.

mod hart;
mod registers;

use std::io::{self, ErrorKind};
use std::marker::PhantomData;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use debug::{After, Client, Debugger, Session, Target};
use gdbstub::common::Signal;
use gdbstub::conn::ConnectionExt as _;
use gdbstub::stub::run_blocking::{BlockingEventLoop, Event, WaitForStopReasonError};
use gdbstub::stub::{DisconnectReason, GdbStub, SingleThreadStopReason};
use thiserror::Error;

use hart::Hart;

/// Time between two looks for data from the client while the launch runs.
const PATIENCE: Duration = Duration::from_millis(20);

/// Why a client could not be served.
#[derive(Debug, Error)]
pub enum GdbError {
    /// The network.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The machine is not RISC-V.
    #[error("GDB is served for the machine pmask alone: this launch has no registers of RISC-V")]
    Machine,
    /// The protocol.
    #[error("{0}")]
    Protocol(String),
}

/// Serves launches to GDB.
pub struct Server {
    listener: TcpListener,
    debugger: Debugger,
    error: Option<GdbError>,
}

impl Server {
    /// Listens at `HOST:PORT`, or `:PORT` of this host.
    ///
    /// # Errors
    /// Returns [`GdbError::Io`] if the address cannot be listened at.
    pub fn listen(address: &str) -> Result<Self, GdbError> {
        let address = match address.strip_prefix(':') {
            Some(port) => format!("127.0.0.1:{port}"),
            None => address.to_owned(),
        };
        let listener = TcpListener::bind(address)?;
        Ok(Self { listener, debugger: Debugger::default(), error: None })
    }

    /// Returns the address at which it listens, as text.
    ///
    /// # Errors
    /// If the system does not know it.
    pub fn address(&self) -> Result<String, GdbError> {
        Ok(self.listener.local_addr()?.to_string())
    }

    /// Returns what went wrong, if anything did.
    pub fn take_error(&mut self) -> Option<GdbError> {
        self.error.take()
    }

    fn serve(&mut self, target: &mut dyn Target) -> Result<After, GdbError> {
        let (stream, _) = self.listener.accept()?;
        stream.set_nodelay(true)?;
        let session = Session::new(&mut self.debugger, target);
        let mut hart = Hart::new(session).ok_or(GdbError::Machine)?;
        self.listener.set_nonblocking(true)?;
        let (listener, done) = (&self.listener, AtomicBool::new(false));
        let reason = std::thread::scope(|scope| {
            scope.spawn(|| turn_away(listener, &done));
            let reason = GdbStub::new(stream).run_blocking::<EventLoop<'_, '_>>(&mut hart);
            done.store(true, Ordering::Relaxed);
            reason
        });
        self.listener.set_nonblocking(false)?;
        match reason {
            Ok(DisconnectReason::Kill) => Ok(After::Stop),
            Ok(_) => Ok(After::Run),
            Err(error) => {
                let text = error.to_string();
                match error.into_connection_error() {
                    Some((error, _)) if gone(error.kind()) => Ok(After::Stop),
                    Some((error, _)) => Err(GdbError::Io(error)),
                    None => Err(GdbError::Protocol(text)),
                }
            }
        }
    }
}

/// Hangs up on clients that come while another one is served: GDB then says that the connection was
/// closed, instead of waiting.
fn turn_away(listener: &TcpListener, done: &AtomicBool) {
    while !done.load(Ordering::Relaxed) {
        if listener.accept().is_err() {
            std::thread::sleep(PATIENCE);
        }
    }
}

/// Whether an error says that the client has gone.
fn gone(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::UnexpectedEof
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
    )
}

impl Client for Server {
    fn launch(&mut self, target: &mut dyn Target) -> After {
        match self.serve(target) {
            Ok(after) => after,
            Err(error) => {
                self.error = Some(error);
                After::Stop
            }
        }
    }
}

/// Runs the hart between two messages of the client.
struct EventLoop<'d, 's>(PhantomData<(&'d (), &'s ())>);

type Waited =
    Result<Event<SingleThreadStopReason<u64>>, WaitForStopReasonError<&'static str, io::Error>>;

impl<'s> BlockingEventLoop for EventLoop<'_, 's> {
    type Target = Hart<'s>;
    type Connection = TcpStream;
    type StopReason = SingleThreadStopReason<u64>;

    fn wait_for_stop_reason(hart: &mut Hart<'s>, stream: &mut TcpStream) -> Waited {
        let (done, interrupt) = (AtomicBool::new(false), hart.interrupt());
        let other = stream.try_clone().map_err(WaitForStopReasonError::Connection)?;
        let stopped = std::thread::scope(|scope| {
            // Anything that the client sends while the hart runs interrupts it.
            scope.spawn(|| {
                let mut byte = [0];
                let _ = other.set_read_timeout(Some(PATIENCE));
                while !done.load(Ordering::Relaxed) {
                    match other.peek(&mut byte) {
                        Err(error)
                            if matches!(
                                error.kind(),
                                ErrorKind::WouldBlock | ErrorKind::TimedOut
                            ) => {}
                        _ => {
                            interrupt.store(true, Ordering::Relaxed);
                            std::thread::sleep(PATIENCE);
                        }
                    }
                }
            });
            let stopped = hart.run();
            done.store(true, Ordering::Relaxed);
            stopped
        });
        hart.interrupt().store(false, Ordering::Relaxed);
        stream.set_read_timeout(None).map_err(WaitForStopReasonError::Connection)?;
        match stopped.map_err(WaitForStopReasonError::Target)? {
            Some(reason) => Ok(Event::TargetStopped(reason)),
            None => {
                let byte = stream.read().map_err(WaitForStopReasonError::Connection)?;
                Ok(Event::IncomingData(byte))
            }
        }
    }

    fn on_interrupt(_: &mut Hart<'s>) -> Result<Option<SingleThreadStopReason<u64>>, &'static str> {
        Ok(Some(SingleThreadStopReason::Signal(Signal::SIGINT)))
    }
}
