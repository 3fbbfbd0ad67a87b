//! Launches in the debugger.

use std::io;
use std::path::Path;

#[cfg(unix)]
use debug::At;
use debug::{After, Client};
use debug_vm::Begin;
use ir::FuncId;
use vm::State;

use crate::context::{Context, Loaded};
use crate::launch::{Shape, USUAL};
use modules::Module;

/// Receives launches to be debugged.
pub(crate) type DebugClient = Box<dyn Client + Send>;

impl Context {
    /// Listens for a debugger in a folder; it then receives launches before their first issue, or
    /// where they are first to be shown: `fault`, `hang` or a location. Launches in the debugger
    /// run on the exact engine. The first one waits for it.
    ///
    /// # Errors
    /// If the socket cannot be made.
    #[cfg(unix)]
    pub fn listen(&mut self, folder: &Path, shown: Option<&str>) -> io::Result<()> {
        let at = shown.map(At::parse).unwrap_or_default();
        self.debugger = Some(Box::new(attach::Server::open(folder, at)?));
        Ok(())
    }

    /// There are no such sockets on this host.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(unix))]
    pub fn listen(&mut self, _: &Path, _: Option<&str>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Hands a launch, with its memory, to a debugger that wants it; returns it with what is to become
/// of it, or with `None` if nobody has looked at it.
pub(crate) fn debug<'p>(
    client: Option<&mut DebugClient>,
    (loaded, module): (&'p Loaded, &'p Module),
    (kernel, shape, begin): (FuncId, Shape, Begin<'p, 1>),
    state: State<1>,
) -> (State<1>, Option<After>) {
    let Some(client) = client else { return (state, None) };
    if !client.wants_launches() {
        return (state, None);
    }
    let text = debug_vm::text_of(module.program(), kernel, module.sources());
    let [grid, block] = [shape.grid, shape.block].map(|extents| extents.map(u64::from));
    let kernel = debug_vm::Kernel {
        program: module.program(),
        places: loaded.places(),
        text,
        kernel,
        mechanism: USUAL,
        grid,
        block,
        begin,
    };
    let left = debug_vm::run(&kernel, state, &mut **client);
    (left.state, Some(left.after))
}
