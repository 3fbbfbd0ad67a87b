//! Kernels for which clients have handles.

use std::ffi::CString;
use std::sync::Arc;

use runtime::device::{Device, MAX_THREADS, MULTIPROCESSORS, STATIC_SHARED};
use runtime::{KernelId, Module, ModuleId, Shape};

/// A kernel for which the client has a handle.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) module: u64,
    pub(crate) code: Arc<Module>,
    pub(crate) id: ModuleId,
    pub(crate) kernel: KernelId,
    /// The maximum dynamic shared memory of a launch in bytes.
    pub(crate) max_dynamic: i32,
    pub(crate) carveout: i32,
    /// The kernel's name, for clients that ask for a pointer to it.
    pub(crate) name: CString,
    /// The launch settings of the API before version 4.
    pub(crate) legacy: Legacy,
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
        let max_dynamic = (STATIC_SHARED - fixed) as i32;
        Self { module, code, id, kernel, max_dynamic, carveout: -1, name, legacy }
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

    /// Returns the blocks of a cluster that the kernel declares; zeros if it declares none.
    pub(crate) fn cluster(&self) -> [i32; 3] {
        self.code.cluster(self.kernel).map_or([0; 3], |dims| dims.map(|d| d as i32))
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
