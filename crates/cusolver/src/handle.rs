//! Handles: a context, a stream, and a mode.

use culibs::device::{put_host, write};
use culibs::handles::Handles;
use culibs::stream::{check_context, check_stream, context, submit};
use culibs::{Error, Outcome, Ptr};

/// What a handle stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handle {
    context: u64,
    pub(crate) stream: u64,
    mode: i32,
}

static HANDLES: Handles<Handle> = Handles::new(0x55_0000_0000);

/// Handles of sparse solvers.
static SPARSE_HANDLES: Handles<Handle> = Handles::new(0x60_0000_0000);

fn create_in(table: &Handles<Handle>, out: Ptr) -> Outcome {
    let context = context()?;
    let handle = table.add(Handle { context, stream: 0, mode: 1 });
    put_host(out, handle).inspect_err(|_| {
        let _ = table.remove(handle);
    })
}

fn get_in(table: &Handles<Handle>, handle: u64) -> Outcome<Handle> {
    let handle = table.get(handle)?;
    check_context(handle.context)?;
    Ok(handle)
}

fn set_stream_in(table: &Handles<Handle>, handle: u64, stream: u64) -> Outcome {
    get_in(table, handle)?;
    check_stream(stream)?;
    table.with(handle, |h| {
        h.stream = stream;
        Ok(())
    })
}

pub(crate) fn create(out: Ptr) -> Outcome {
    create_in(&HANDLES, out)
}

pub(crate) fn destroy(handle: u64) -> Outcome {
    HANDLES.remove(handle).map(drop)
}

/// Returns what a handle of the current context stands for.
pub(crate) fn get(handle: u64) -> Outcome<Handle> {
    get_in(&HANDLES, handle)
}

pub(crate) fn set_stream(handle: u64, stream: u64) -> Outcome {
    set_stream_in(&HANDLES, handle, stream)
}

pub(crate) fn stream(handle: u64, out: Ptr) -> Outcome {
    put_host(out, get(handle)?.stream)
}

pub(crate) fn create_sparse(out: Ptr) -> Outcome {
    create_in(&SPARSE_HANDLES, out)
}

pub(crate) fn destroy_sparse(handle: u64) -> Outcome {
    SPARSE_HANDLES.remove(handle).map(drop)
}

/// Returns what a handle of sparse solvers stands for, if it is of the current context.
pub(crate) fn get_sparse(handle: u64) -> Outcome<Handle> {
    get_in(&SPARSE_HANDLES, handle)
}

pub(crate) fn set_sparse_stream(handle: u64, stream: u64) -> Outcome {
    set_stream_in(&SPARSE_HANDLES, handle, stream)
}

pub(crate) fn sparse_stream(handle: u64, out: Ptr) -> Outcome {
    put_host(out, get_sparse(handle)?.stream)
}

/// Sets whether results must be the same in each run, which they always are.
pub(crate) fn set_mode(handle: u64, mode: i32) -> Outcome {
    get(handle)?;
    if !(1..=2).contains(&mode) {
        return Err(Error::InvalidValue);
    }
    HANDLES.with(handle, |h| {
        h.mode = mode;
        Ok(())
    })
}

pub(crate) fn mode(handle: u64, out: Ptr) -> Outcome {
    put_host(out, get(handle)?.mode)
}

impl Handle {
    /// Submits work that returns what its `info` on the device says.
    pub(crate) fn submit(
        &self,
        info: u64,
        work: impl Fn() -> Outcome<i32> + Send + Sync + 'static,
    ) -> Outcome {
        if info == 0 {
            return Err(Error::InvalidValue);
        }
        submit(self.stream, move || write(info, &[work()?]))
    }

    /// The same for batches, where each matrix has its own.
    pub(crate) fn submit_batch(
        &self,
        info: u64,
        batch: usize,
        work: impl Fn(usize) -> Outcome<i32> + Send + Sync + 'static,
    ) -> Outcome {
        if info == 0 && batch > 0 {
            return Err(Error::InvalidValue);
        }
        submit(self.stream, move || {
            for k in 0..batch {
                write(info + (k * 4) as u64, &[work(k)?])?;
            }
            Ok(())
        })
    }
}

/// Tells the size of a workspace in elements: none is needed, but programs expect some.
pub(crate) fn workspace(handle: u64, out: Ptr) -> Outcome {
    get(handle)?;
    put_host(out, 1_i32)
}

/// Tells the sizes of workspaces in bytes, on the device, and on the host if there is one.
pub(crate) fn workspace_bytes(handle: u64, device: Ptr, host: Option<Ptr>) -> Outcome {
    get(handle)?;
    put_host(device, 16_usize)?;
    host.map_or(Ok(()), |host| put_host(host, 0_usize))
}
