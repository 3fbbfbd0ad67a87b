//! Handles: a context, a stream, and where scalars are.

use culibs::device::put_host;
use culibs::dtype::Param;
use culibs::handles::Handles;
use culibs::stream::{check_context, check_stream, context, submit};
use culibs::{DataType, Error, Number, Outcome, Ptr};

/// What a handle stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handle {
    context: u64,
    stream: u64,
    pub(crate) on_device: bool,
}

static HANDLES: Handles<Handle> = Handles::new(0x57_0000_0000);

pub(crate) fn create(out: Ptr) -> Outcome {
    let context = context()?;
    let handle = HANDLES.add(Handle { context, stream: 0, on_device: false });
    put_host(out, handle).inspect_err(|_| {
        let _ = HANDLES.remove(handle);
    })
}

pub(crate) fn destroy(handle: u64) -> Outcome {
    HANDLES.remove(handle).map(drop)
}

/// Returns what a handle of the current context stands for.
pub(crate) fn get(handle: u64) -> Outcome<Handle> {
    let handle = HANDLES.get(handle)?;
    check_context(handle.context)?;
    Ok(handle)
}

pub(crate) fn set_stream(handle: u64, stream: u64) -> Outcome {
    get(handle)?;
    check_stream(stream)?;
    HANDLES.with(handle, |h| {
        h.stream = stream;
        Ok(())
    })
}

pub(crate) fn stream(handle: u64, out: Ptr) -> Outcome {
    put_host(out, get(handle)?.stream)
}

pub(crate) fn set_mode(handle: u64, mode: i32) -> Outcome {
    get(handle)?;
    if !(0..=1).contains(&mode) {
        return Err(Error::InvalidValue);
    }
    HANDLES.with(handle, |h| {
        h.on_device = mode == 1;
        Ok(())
    })
}

pub(crate) fn mode(handle: u64, out: Ptr) -> Outcome {
    put_host(out, i32::from(get(handle)?.on_device))
}

impl Handle {
    /// Takes a scalar of a client.
    pub(crate) fn param<T: Number>(&self, at: Ptr, dtype: DataType) -> Outcome<Param<T>> {
        Param::take(at, self.on_device, dtype)
    }

    /// Submits work to the handle's stream.
    pub(crate) fn submit(&self, work: impl Fn() -> Outcome + Send + Sync + 'static) -> Outcome {
        submit(self.stream, work)
    }
}

/// Tells the size of a buffer: none is needed, but programs expect some.
pub(crate) fn buffer(handle: u64, out: Ptr) -> Outcome {
    get(handle)?;
    put_host(out, 16_usize)
}

/// The same for functions that tell the size as an `int`.
pub(crate) fn buffer_32(handle: u64, out: Ptr) -> Outcome {
    get(handle)?;
    put_host(out, 16_i32)
}

/// Does nothing, as preparations of products need nothing.
pub(crate) fn nothing(handle: u64) -> Outcome {
    get(handle).map(drop)
}
