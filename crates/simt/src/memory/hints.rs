//! Hints for the region of an access. Kernels alternate between a few buffers, so hints are kept by
//! a hash of the address's page.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use super::Addr;

/// Base-2 logarithm of the number of hints.
const BITS: u32 = 4;

/// Indices of regions to try first; wrong ones cost time only. They are atomics so that loads need
/// no `&mut`.
#[derive(Debug, Default)]
pub(super) struct Hints([AtomicUsize; 1 << BITS]);

impl Hints {
    /// The hint for an address.
    #[inline]
    pub(super) fn near(&self, addr: Addr) -> &AtomicUsize {
        // Fibonacci hashing of the page number: neighbouring pages and pages a power of two apart
        // both spread.
        let page = addr.0 >> 12;
        &self.0[(page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BITS)) as usize]
    }

    /// Remembers that `index` was right where `hint` said something else.
    #[inline]
    pub(super) fn correct(hint: &AtomicUsize, guess: usize, index: usize) {
        if guess != index {
            hint.store(index, Relaxed);
        }
    }
}

/// Hints are not worth copying.
impl Clone for Hints {
    fn clone(&self) -> Self {
        Self::default()
    }
}
