//! Linkers, and the options of loading and linking.

use cuda_abi::host::{Ptr, get_list, put, put_bytes};
use cuda_abi::{CUjit_option, Outcome, Status};
use images::Text;

/// The inputs so far, and the image once it is complete.
pub(crate) struct Linker {
    pub(crate) texts: Vec<Text>,
    /// Whether CUDA's device runtime library is one of them.
    pub(crate) runtime: bool,
    pub(crate) options: JitOptions,
    pub(crate) image: Vec<u8>,
}

/// The options with an effect: where texts go. All messages other than errors are empty.
#[derive(Debug, Default)]
pub(crate) struct JitOptions {
    /// The buffer of errors, and its size.
    errors: (Ptr, usize),
    /// Where the sizes of texts go.
    sizes: Vec<Ptr>,
}

impl JitOptions {
    /// Reads a list of options: constants, and values of eight bytes.
    pub(crate) fn read(count: u32, options: Ptr, values: Ptr) -> Outcome<Self> {
        let mut found = Self::default();
        if count == 0 {
            return Ok(found);
        }
        if count > 1024 {
            return Err(Status::INVALID_VALUE);
        }
        let kinds = get_list::<i32>(options, count as usize)?;
        let list = get_list::<u64>(values, count as usize)?;
        for (i, (kind, value)) in kinds.into_iter().zip(list).enumerate() {
            match CUjit_option::of(kind) {
                Ok(CUjit_option::INFO_LOG_BUFFER_SIZE_BYTES) => found.sizes.push(values + 8 * i),
                Ok(CUjit_option::ERROR_LOG_BUFFER) => found.errors.0 = value as Ptr,
                Ok(CUjit_option::ERROR_LOG_BUFFER_SIZE_BYTES) => {
                    found.errors.1 = value as u32 as usize;
                    found.sizes.push(values + 8 * i);
                }
                Err(_) => {}
            }
        }
        Ok(found)
    }

    /// Writes the text of an error to the client's buffer.
    pub(crate) fn error(&self, text: &str) {
        let (at, room) = self.errors;
        if at == 0 || room == 0 {
            return;
        }
        let mut bytes = text.as_bytes()[..text.len().min(room - 1)].to_vec();
        bytes.push(0);
        // An invalid buffer loses the text, not the status.
        let _ = put_bytes(at, &bytes);
    }

    /// Reports that all texts are empty.
    pub(crate) fn no_texts(&self) {
        for &size in &self.sizes {
            // An invalid address of a size is ignored.
            let _ = put(size, &0_u32);
        }
    }
}
