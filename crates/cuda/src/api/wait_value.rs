//! Waits for values of memory in stream order.

use cuda_abi::host::{Ptr, get};
use cuda_abi::{CUstreamBatchMemOpType, Outcome, Status};

use super::capture::submit_new;
use super::copy;
use crate::execution::transfer::device_endpoint;
use crate::state::Driver;
use crate::state::action::{Action, ValueCondition, ValueTest};

/// Bytes of an operation in a batch.
const OPERATION: usize = 48;
/// The most operations of a batch, as on devices.
const MOST_OPERATIONS: u32 = 256;
/// The flag of waits that also make the writes of other devices visible.
const FLUSH: u32 = 1 << 30;

/// Creates the wait for a value of 4 or 8 bytes.
pub(crate) fn waiting(
    d: &Driver,
    address: u64,
    value: u64,
    bytes: u64,
    flags: u32,
) -> Outcome<Action> {
    let test = match flags & !FLUSH {
        0 => ValueTest::AtLeast,
        1 => ValueTest::Equal,
        2 => ValueTest::And,
        3 => ValueTest::Nor,
        _ => return Err(Status::INVALID_VALUE),
    };
    if !address.is_multiple_of(bytes) {
        return Err(Status::INVALID_VALUE);
    }
    device_endpoint(d, address)?;
    Ok(Action::WaitValue(ValueCondition { address, bytes, value, test }))
}

/// Submits the operations of a batch, each after the one before.
pub(crate) fn batch(d: &mut Driver, stream: u64, count: u32, at: Ptr, flags: u32) -> Outcome {
    use CUstreamBatchMemOpType as T;
    if count > MOST_OPERATIONS || flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let mut actions = Vec::new();
    for index in 0..count as usize {
        let at = at + OPERATION * index;
        let kind = T::of(get(at)?)?;
        let (address, value, flags) = (get::<u64>(at + 8)?, get::<u64>(at + 16)?, get(at + 24)?);
        let word = value as u32;
        actions.push(match kind {
            T::WAIT_VALUE_32 => waiting(d, address, word.into(), 4, flags)?,
            T::WAIT_VALUE_64 => waiting(d, address, value, 8, flags)?,
            T::WRITE_VALUE_32 => copy::fill_row(d, address, word.to_ne_bytes(), 1)?,
            T::WRITE_VALUE_64 => copy::fill_row(d, address, value.to_ne_bytes(), 1)?,
            T::FLUSH_REMOTE_WRITES | T::BARRIER => Action::Nothing,
        });
    }
    actions.into_iter().try_for_each(|action| submit_new(d, stream, |_| Ok(action)))
}
