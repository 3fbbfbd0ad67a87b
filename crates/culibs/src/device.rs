//! Device memory, copied row by row with the driver's checks, and values that clients pass by
//! address, on the host or on the device.

use bytemuck::Pod;
use hostmem::{read_host, write_host};

use cuda_abi::Status;
use cuda_abi::host::Ptr;

use crate::call::{current, size};
use crate::driver::simtlab_transfer;
use crate::error::{Error, Outcome};

/// The driver's status of an access that has just faulted.
const FAULTED: Status = Status(-1);

fn failure(status: Status) -> Error {
    match status {
        FAULTED => Error::Fault,
        Status::INVALID_VALUE => Error::InvalidValue,
        _ => Error::Execution,
    }
}

/// Rows in device memory: `height` rows of `width` elements, `pitch` elements apart. A matrix in
/// column-major order has its columns as rows here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// The address of the first element.
    pub at: u64,
    /// The elements of a row.
    pub width: usize,
    /// The number of rows.
    pub height: usize,
    /// The distance of rows in elements.
    pub pitch: usize,
}

impl Rows {
    /// Adjacent elements.
    #[must_use]
    pub fn flat(at: u64, len: usize) -> Self {
        Self { at, width: len, height: 1, pitch: len }
    }

    /// Elements that are `step` elements apart.
    #[must_use]
    pub fn strided(at: u64, len: usize, step: usize) -> Self {
        if step == 1 {
            return Self::flat(at, len);
        }
        Self { at, width: 1, height: len, pitch: step }
    }

    fn transfer<T: Pod>(&self, host: Ptr, store: bool) -> Outcome {
        let bytes = |n: usize| Ok(size(&[n, size_of::<T>()])? as u64);
        let (width, height, pitch) = (bytes(self.width)?, self.height as u64, bytes(self.pitch)?);
        let function = current().as_ptr().expose_provenance();
        simtlab_transfer(function, self.at, host, width, height, pitch, store.into())
            .map_err(failure)
    }

    /// Copies the rows to the host, without gaps.
    ///
    /// # Errors
    /// [`Error::Fault`] if the device refuses the access.
    pub fn read<T: Pod>(&self) -> Outcome<Vec<T>> {
        // Checked first: then the length is at most that of an allocation.
        self.transfer::<T>(0, false)?;
        let mut data: Vec<T> = zeroed(size(&[self.width, self.height])?)?;
        if !data.is_empty() {
            self.transfer::<T>(data.as_mut_ptr().expose_provenance(), false)?;
        }
        Ok(data)
    }

    /// Copies rows without gaps from the host.
    ///
    /// # Errors
    /// As [`Self::read`]; [`Error::Internal`] if the length is another one.
    pub fn write<T: Pod>(&self, data: &[T]) -> Outcome {
        if data.len() != size(&[self.width, self.height])? {
            return Err(Error::Internal);
        }
        if data.is_empty() {
            return Ok(());
        }
        self.transfer::<T>(data.as_ptr().expose_provenance(), true)
    }

    /// Checks that the rows can be written.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn check_write<T: Pod>(&self) -> Outcome {
        self.transfer::<T>(0, true)
    }
}

/// Returns zeros.
///
/// # Errors
/// [`Error::OutOfMemory`] if the host has no memory for them.
pub fn zeroed<T: Pod>(len: usize) -> Outcome<Vec<T>> {
    let mut data = Vec::new();
    data.try_reserve_exact(len).map_err(|_| Error::OutOfMemory)?;
    data.resize(len, T::zeroed());
    Ok(data)
}

/// Reads adjacent elements of device memory.
///
/// # Errors
/// [`Error::Fault`] if the device refuses the access; the same of [`write()`].
pub fn read<T: Pod>(at: u64, len: usize) -> Outcome<Vec<T>> {
    Rows::flat(at, len).read()
}

/// Writes adjacent elements of device memory.
///
/// # Errors
/// As [`read`].
pub fn write<T: Pod>(at: u64, data: &[T]) -> Outcome {
    Rows::flat(at, data.len()).write(data)
}

/// Reads a value of the host.
///
/// # Errors
/// [`Error::InvalidValue`] for an address that cannot be read; the same of [`put_host`], for one
/// that cannot be written.
pub fn get_host<T: Pod>(at: Ptr) -> Outcome<T> {
    let mut value = T::zeroed();
    let bytes = bytemuck::bytes_of_mut(&mut value);
    if at == 0 || read_host(at as u64, bytes) < bytes.len() {
        return Err(Error::InvalidValue);
    }
    Ok(value)
}

/// Reads a list of the host.
///
/// # Errors
/// As [`get_host`].
pub fn get_host_list<T: Pod>(at: Ptr, len: usize) -> Outcome<Vec<T>> {
    if len == 0 {
        return Ok(Vec::new());
    }
    let bytes = size(&[len, size_of::<T>()])?;
    if at == 0 || hostmem::readable(at as u64, bytes as u64) < bytes as u64 {
        return Err(Error::InvalidValue);
    }
    let mut list = zeroed(len)?;
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut list);
    if read_host(at as u64, bytes) < bytes.len() {
        return Err(Error::InvalidValue);
    }
    Ok(list)
}

/// Writes a value of the host.
///
/// # Errors
/// As [`get_host`].
pub fn put_host<T: Pod>(at: Ptr, value: T) -> Outcome {
    put_host_list(at, &[value])
}

/// Writes a list of the host.
///
/// # Errors
/// As [`put_host`].
pub fn put_host_list<T: Pod>(at: Ptr, list: &[T]) -> Outcome {
    let bytes: &[u8] = bytemuck::cast_slice(list);
    if at == 0 || write_host(at as u64, bytes) < bytes.len() {
        return Err(Error::InvalidValue);
    }
    Ok(())
}
