//! Zero-filled word storage from the allocator: fallible, and left untouched so that the host commits no page before
//! the guest writes it. The standard library offers either of the two in safe code, not both.
#![allow(
    unsafe_code,
    reason = "a fallible zeroed allocation has no safe form in the standard library"
)]

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::sync::atomic::AtomicU64;

/// The host has no memory left for a guest allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the host cannot provide {bytes} bytes of memory")]
pub struct OutOfHostMemory {
    /// How many bytes were asked for.
    pub bytes: u64,
}

impl OutOfHostMemory {
    /// Ends the process as an infallible allocation does: for `Clone`, which cannot fail otherwise.
    pub(super) fn abort(self) -> ! {
        let bytes = usize::try_from(self.bytes).unwrap_or(isize::MAX as usize);
        handle_alloc_error(Layout::from_size_align(bytes, 1).unwrap_or(Layout::new::<u64>()))
    }
}

/// `count` words of zero.
pub(super) fn zeroed_words(count: usize) -> Result<Box<[AtomicU64]>, OutOfHostMemory> {
    let error = OutOfHostMemory { bytes: (count as u64).saturating_mul(8) };
    if count == 0 {
        return Ok(Box::default());
    }
    let layout = Layout::array::<AtomicU64>(count).map_err(|_| error)?;
    // SAFETY: the layout's size is not zero, since `count` is not.
    let words = unsafe { alloc_zeroed(layout) }.cast::<AtomicU64>();
    if words.is_null() {
        return Err(error);
    }
    // SAFETY: the pointer comes from the global allocator with the layout of `[AtomicU64; count]`, nobody else has it,
    // and all-zero bytes are a valid `AtomicU64`.
    Ok(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(words, count)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn words_are_zero_and_writable() {
        let mut words = zeroed_words(1000).unwrap();
        assert!(words.iter().all(|w| w.load(Relaxed) == 0));
        *words[999].get_mut() = 7;
        assert_eq!(words[999].load(Relaxed), 7);
        assert_eq!(zeroed_words(0).unwrap().len(), 0);
    }

    #[test]
    fn impossible_sizes_are_errors() {
        assert_eq!(zeroed_words(usize::MAX).unwrap_err().bytes, u64::MAX);
        assert!(zeroed_words(isize::MAX as usize / 8).is_err());
    }
}
