//! A job as data, for whatever runs launches outside of this laboratory: a device.

use isa::{Diagnostic, Diagnostics};

use super::{Job, Result};
use crate::array::Array;
use crate::bind::{Pointer, bind_pointers};
use crate::elem::shortened;
use crate::launch::MachineOption;

/// One launch with its arguments, in which buffers have no addresses yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The kernel's name.
    pub kernel: String,
    /// Blocks in x, y, z.
    pub grid: [u64; 3],
    /// Threads of a block in x, y, z.
    pub block: [u64; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u64,
    /// The parameter block. It holds the distance from the start of a buffer at each of `pointers`.
    pub params: Vec<u8>,
    /// Where addresses of buffers are to be added.
    pub pointers: Vec<Pointer>,
}

impl Job {
    /// The buffers as they are before the first launch, those made for arguments included.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, &Array)> {
        self.buffers.iter().map(|(buffer, array)| (buffer.name.value.as_str(), array))
    }

    /// The machine's options, of the job and of each launch.
    pub fn options(&self) -> impl Iterator<Item = &MachineOption> {
        self.options.iter().chain(self.launches.iter().flat_map(|(_, launch)| &launch.options))
    }

    /// The launches in order.
    ///
    /// # Errors
    /// Arguments that do not fit the kernels.
    pub fn orders(&self) -> Result<Vec<Order>> {
        let mut found = Diagnostics::new();
        let mut orders = Vec::with_capacity(self.launches.len());
        for (kernel, launch) in &self.launches {
            let span = Some(launch.args_span);
            let bound = bind_pointers(kernel, &launch.args, span, &mut |reference, span| {
                if self.inputs().any(|(name, _)| name == reference.name) {
                    return Ok(());
                }
                let message = format!("there is no buffer `{}`", shortened(&reference.name));
                Err(Diagnostic::error("arg::reference", message).at(span, ""))
            });
            match bound {
                Ok((params, pointers)) => orders.push(Order {
                    kernel: kernel.name.clone(),
                    grid: launch.grid.as_ref().map_or([1; 3], |g| g.value),
                    block: launch.block.as_ref().map_or([1; 3], |b| b.value),
                    shared: launch.shared.as_ref().map_or(0, |s| s.value),
                    params,
                    pointers,
                }),
                Err(more) => found.append(more),
            }
        }
        if found.has_errors() { Err(found) } else { Ok(orders) }
    }
}
