//! Kernels for which clients have handles.

use std::ffi::CString;
use std::sync::Arc;

use cuda_abi::{CUsharedMemoryMode, Outcome, Status};
use runtime::device::{Capability, Device, MAX_THREADS, MULTIPROCESSORS, STATIC_SHARED};
use runtime::{KernelId, MAX_CLUSTER, Module, ModuleId, Shape};

/// A kernel for which the client has a handle.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) module: u64,
    pub(crate) code: Arc<Module>,
    pub(crate) id: ModuleId,
    pub(crate) kernel: KernelId,
    pub(crate) attributes: Attributes,
    /// The kernel's name, for clients that ask for a pointer to it.
    pub(crate) name: CString,
    /// The launch settings of the API before version 4.
    pub(crate) legacy: Legacy,
}

/// What clients can set of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes {
    /// The maximum dynamic shared memory of a launch in bytes.
    pub(crate) max_dynamic: i32,
    pub(crate) shared_mode: CUsharedMemoryMode,
    /// The blocks of a cluster in x, y and z: all zero, or all positive when a launch begins.
    pub(crate) cluster: [i32; 3],
    // Without an effect.
    pub(crate) carveout: i32,
    pub(crate) non_portable: i32,
    pub(crate) policy: i32,
}

/// Launch settings, as calls of the API before version 4 make them.
#[derive(Clone, Debug)]
pub(crate) struct Legacy {
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) params: Vec<u8>,
}

impl Function {
    pub(crate) fn new(module: u64, code: Arc<Module>, id: ModuleId, kernel: KernelId) -> Self {
        let fixed = code.shared_bytes(kernel).min(STATIC_SHARED);
        let name = code.function(kernel).map_or("", |f| f.name.as_str());
        let name = CString::new(name).unwrap_or_default();
        let legacy = Legacy { block: [1; 3], shared: 0, params: Vec::new() };
        let attributes = Attributes {
            max_dynamic: (STATIC_SHARED - fixed) as i32,
            shared_mode: CUsharedMemoryMode::DEFAULT,
            cluster: [0; 3],
            carveout: -1,
            non_portable: 0,
            policy: 0,
        };
        Self { module, code, id, kernel, attributes, name, legacy }
    }

    /// Returns the virtual architecture that the kernel's text names: 75 for `sm_75`.
    pub(crate) fn target(&self) -> Option<i32> {
        let Capability { major, minor } = self.code.target()?;
        i32::try_from(major * 10 + minor).ok()
    }

    /// Returns the maximum number of threads of a block.
    pub(crate) fn max_threads(&self) -> i32 {
        let bounds = self.code.block_bounds(self.kernel);
        let threads = bounds.map_or(MAX_THREADS, |b| b.into_iter().fold(1, u32::saturating_mul));
        threads.min(MAX_THREADS) as i32
    }

    /// Checks whether the kernel can be launched with blocks of this size.
    pub(crate) fn can_have(&self, block: &[u32; 3]) -> bool {
        let threads = block.iter().copied().fold(1, u32::saturating_mul);
        threads > 0 && threads <= self.max_threads() as u32
    }

    /// Returns the blocks of a cluster that the kernel declares.
    pub(crate) fn declared_cluster(&self) -> Option<[i32; 3]> {
        self.code.cluster(self.kernel).map(|dims| dims.map(|d| d as i32))
    }

    /// Returns the blocks of a cluster that the kernel declares, or that clients have set; zeros if
    /// neither has been done.
    pub(crate) fn cluster(&self) -> [i32; 3] {
        self.declared_cluster().unwrap_or(self.attributes.cluster)
    }

    /// Returns the blocks of a launch's cluster, of those that the launch asks for.
    pub(crate) fn cluster_of(&self, asked: Option<[u32; 3]>) -> Outcome<Option<[u32; 3]>> {
        let set = self.attributes.cluster.map(i32::cast_unsigned);
        if set == [0; 3] {
            return Ok(asked);
        }
        let blocks = set.into_iter().fold(1, u32::saturating_mul);
        if blocks == 0 || blocks > MAX_CLUSTER || asked.is_some_and(|asked| asked != set) {
            return Err(Status::INVALID_CLUSTER_SIZE);
        }
        Ok(Some(set))
    }

    /// Returns the most dynamic shared memory in bytes that a launch may ask for. What it says
    /// itself comes before what was set of the kernel.
    pub(crate) fn most_dynamic(&self, device: &Device, of_launch: CUsharedMemoryMode) -> u64 {
        use CUsharedMemoryMode as Mode;
        let mode = match of_launch {
            Mode::DEFAULT => self.attributes.shared_mode,
            mode => mode,
        };
        let together = match mode {
            Mode::DEFAULT => return self.attributes.max_dynamic.max(0) as u64,
            Mode::REQUIRE_PORTABLE => STATIC_SHARED,
            // The device has no more than what it takes to opt in.
            Mode::ALLOW_NON_PORTABLE
            | Mode::ALLOW_OVERSIZED_SHARED_MEMORY
            | Mode::PREFER_OVERSIZED_SHARED_MEMORY => device.shared_opt_in,
        };
        together.saturating_sub(self.code.shared_bytes(self.kernel))
    }

    /// Returns the size of the module's constant variables in bytes.
    pub(crate) fn constants(&self) -> i32 {
        self.code.constant_bytes().min(i32::MAX as u64) as i32
    }

    /// Returns an estimate of a thread's registers: those that the function names, between 8 and
    /// 255.
    pub(crate) fn registers(&self) -> i32 {
        self.code.function(self.kernel).map_or(0, |f| f.regs.len().clamp(8, 255) as i32)
    }

    /// Returns the number of blocks of this size that a multiprocessor holds.
    pub(crate) fn resident_blocks(&self, device: &Device, threads: i32, dynamic: u64) -> i32 {
        if threads <= 0 || threads > self.max_threads() {
            return 0;
        }
        let shared = self.code.shared_bytes(self.kernel).saturating_add(dynamic);
        device.blocks_of(threads as u32, shared) as i32
    }

    /// Checks whether the device holds all blocks of a launch at once.
    pub(crate) fn fits(&self, device: &Device, shape: &Shape) -> bool {
        let product = |extents: &[u32; 3]| extents.iter().map(|&n| u64::from(n)).product::<u64>();
        let threads = i32::try_from(product(&shape.block)).unwrap_or(i32::MAX);
        let blocks = self.resident_blocks(device, threads, shape.shared);
        product(&shape.grid) <= blocks as u64 * u64::from(MULTIPROCESSORS)
    }
}
