//! Values of memory for which streams wait.

use cuda_abi::{Outcome, Status};
use runtime::{Addr, read_host};

use super::transfer::device_endpoint;
use crate::errors::of_context;
use crate::state::Driver;
use crate::state::action::{Endpoint, ValueCondition, ValueTest};

/// Returns whether a value is what a stream waits for.
pub(super) fn holds(d: &Driver, condition: &ValueCondition) -> Outcome<bool> {
    let ValueCondition { address, bytes, value, test } = *condition;
    let mut read = [0; 8];
    let part = &mut read[..bytes as usize];
    match device_endpoint(d, address)? {
        Endpoint::Device(at) => {
            d.device.read(Addr(at), part).map_err(|error| of_context(&error))?;
        }
        Endpoint::Host(at) => {
            if read_host(at, part) < part.len() {
                return Err(Status::INVALID_VALUE);
            }
        }
    }
    let now = u64::from_le_bytes(read);
    let mask = if bytes == 8 { u64::MAX } else { u64::from(u32::MAX) };
    Ok(match test {
        // The difference as a signed number of this size is not negative.
        ValueTest::AtLeast => now.wrapping_sub(value) & mask <= mask / 2,
        ValueTest::Equal => now == value & mask,
        ValueTest::And => now & value != 0,
        ValueTest::Nor => !(now | value) & mask != 0,
    })
}
