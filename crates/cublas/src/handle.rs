//! Handles: a context, a stream, and settings.

use culibs::dtype::{Param, Place};
use culibs::handles::Handles;
use culibs::stream::{check_context, context, submit};
use culibs::{DataType, Number, Outcome, Ptr};

/// What a handle stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handle {
    pub(crate) context: u64,
    pub(crate) stream: u64,
    /// Whether scalars are on the device.
    pub(crate) on_device: bool,
    pub(crate) atomics: i32,
    pub(crate) math: i32,
    pub(crate) multiprocessors: i32,
    pub(crate) emulation: i32,
    pub(crate) fixed_point: FixedPoint,
}

/// Settings of products in fixed point. They are kept, and change nothing: such products are
/// computed in their own type.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FixedPoint {
    /// How the length of numbers is chosen.
    pub(crate) control: i32,
    /// Their greatest length in bits.
    pub(crate) most_bits: i32,
    /// What is added to the length.
    pub(crate) bit_offset: i32,
    /// Which special values are kept.
    pub(crate) special_values: i32,
}

/// All handles.
pub(crate) static HANDLES: Handles<Handle> = Handles::new(0x53_0000_0000);

/// Creates a handle for the current context.
pub(crate) fn create() -> Outcome<u64> {
    let context = context()?;
    Ok(HANDLES.add(Handle {
        context,
        stream: 0,
        on_device: false,
        atomics: 0,
        math: 0,
        multiprocessors: 0,
        emulation: 0,
        fixed_point: FixedPoint::default(),
    }))
}

/// Returns what a handle of the current context stands for.
pub(crate) fn get(handle: u64) -> Outcome<Handle> {
    let handle = HANDLES.get(handle)?;
    check_context(handle.context)?;
    Ok(handle)
}

impl Handle {
    /// Takes a scalar of a client.
    pub(crate) fn param<T: Number>(&self, at: Ptr) -> Outcome<Param<T>> {
        Param::take(at, self.on_device, T::TYPE)
    }

    /// Takes a scalar of a type.
    pub(crate) fn param_of<T: Number>(&self, at: Ptr, dtype: DataType) -> Outcome<Param<T>> {
        Param::take(at, self.on_device, dtype)
    }

    /// Takes the address of a result.
    pub(crate) fn place<T: Number>(&self, at: Ptr) -> Outcome<Place> {
        Place::take(at, self.on_device, T::TYPE)
    }

    /// Submits work to the handle's stream.
    pub(crate) fn submit(&self, work: impl Fn() -> Outcome + Send + Sync + 'static) -> Outcome {
        submit(self.stream, work)
    }
}
