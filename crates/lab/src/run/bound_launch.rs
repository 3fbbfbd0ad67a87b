//! Jobs as data, for runners outside the laboratory, such as real devices.

use inputs::argspec::ArgValue;
use inputs::array::Array;
use inputs::bind::{Pointer, bind_pointers};
use inputs::elem::shortened;
use inputs::launch::MachineOption;
use isa::{Diagnostic, Diagnostics, Span};

use super::job::{Job, Result};

/// A launch whose buffers have no addresses yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundLaunch {
    /// The kernel's name.
    pub kernel: String,
    /// Size of the grid in x, y, z, in blocks.
    pub grid: [u64; 3],
    /// Size of a block in x, y, z, in threads.
    pub block: [u64; 3],
    /// Dynamic shared memory in bytes.
    pub shared: u64,
    /// The parameter block, with an offset into a buffer at each of `pointers`.
    pub params: Vec<u8>,
    /// The places in `params` to which buffer addresses have to be added.
    pub pointers: Vec<Pointer>,
}

impl Job {
    /// Returns the initial contents of the buffers, including those created for arguments.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, &Array)> {
        self.buffers.iter().map(|(buffer, array)| (buffer.name.value.as_str(), array))
    }

    /// Returns the machine's options, both those of the job and those of each launch.
    pub fn options(&self) -> impl Iterator<Item = &MachineOption> {
        self.options.iter().chain(self.launches.iter().flat_map(|(_, launch)| &launch.options))
    }

    /// Returns the place of the first argument that is a tensor map. Maps have the virtual device's
    /// form, which no other device reads.
    #[must_use]
    pub fn tensor_map(&self) -> Option<Span> {
        let mut args = self.launches.iter().flat_map(|(_, launch)| &launch.args);
        args.find(|arg| matches!(arg.value, ArgValue::Tensor(_))).map(|arg| arg.span)
    }

    /// Returns the launches in order.
    ///
    /// # Errors
    /// Returns diagnostics if arguments do not fit the kernels.
    pub fn bound_launches(&self) -> Result<Vec<BoundLaunch>> {
        let mut found = Diagnostics::new();
        let mut launches = Vec::with_capacity(self.launches.len());
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
                Ok((params, pointers)) => launches.push(BoundLaunch {
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
        if found.has_errors() { Err(found) } else { Ok(launches) }
    }
}
