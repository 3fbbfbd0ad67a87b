//! Values of the conditions of graphs.

use cuda_abi::Outcome;
use runtime::Addr;

use crate::errors::of_context;
use crate::state::Driver;

/// Sets conditions to the values that they have at the beginning of a launch.
pub(super) fn begin(d: &mut Driver, conditions: &[u64]) -> Outcome {
    conditions.iter().try_for_each(|&handle| {
        match d.shared.conditions.get(&handle).and_then(|found| found.default) {
            Some(value) => set_value(d, handle, value),
            None => Ok(()),
        }
    })
}

/// Sets the value of a condition.
pub(crate) fn set_value(d: &mut Driver, condition: u64, value: u32) -> Outcome {
    d.device.write(Addr(condition), &value.to_le_bytes()).map_err(|error| of_context(&error))
}

/// Returns the value of a condition.
pub(super) fn value(d: &Driver, condition: u64) -> Outcome<u32> {
    let mut bytes = [0; 4];
    d.device.read(Addr(condition), &mut bytes).map_err(|error| of_context(&error))?;
    Ok(u32::from_le_bytes(bytes))
}
