//! Tables of a library's objects by handle.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Outcome};

/// Objects by handle. Handles are numbers from one counter of each table.
#[derive(Debug)]
pub struct Handles<T> {
    table: Mutex<BTreeMap<u64, T>>,
    next: Mutex<u64>,
}

impl<T> Handles<T> {
    /// A table whose handles begin after `first`. Different tables of one library have different
    /// beginnings, so that a handle of another kind is not valid.
    #[must_use]
    pub const fn new(first: u64) -> Self {
        Self { table: Mutex::new(BTreeMap::new()), next: Mutex::new(first) }
    }

    fn table(&self) -> MutexGuard<'_, BTreeMap<u64, T>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an object, and returns its handle.
    pub fn add(&self, object: T) -> u64 {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        *next += 16;
        self.table().insert(*next, object);
        *next
    }

    /// Removes an object.
    ///
    /// # Errors
    /// [`Error::Handle`] if there is none with this handle; the same of the functions below.
    pub fn remove(&self, handle: u64) -> Outcome<T> {
        self.table().remove(&handle).ok_or(Error::Handle)
    }

    /// Calls a function with an object. Other calls of the table wait meanwhile.
    ///
    /// # Errors
    /// As [`Self::remove`], and those of the function.
    pub fn with<R>(&self, handle: u64, body: impl FnOnce(&mut T) -> Outcome<R>) -> Outcome<R> {
        body(self.table().get_mut(&handle).ok_or(Error::Handle)?)
    }

    /// Returns whether there is an object with this handle.
    #[must_use]
    pub fn has(&self, handle: u64) -> bool {
        self.table().contains_key(&handle)
    }
}

impl<T: Clone> Handles<T> {
    /// Returns a copy of an object.
    ///
    /// # Errors
    /// As [`Self::remove`].
    pub fn get(&self, handle: u64) -> Outcome<T> {
        self.with(handle, |object| Ok(object.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_handle_is_not_valid_and_not_reused() {
        let table = Handles::new(0x52_0000_0000);
        let first = table.add(1);
        assert_eq!(table.get(first), Ok(1));
        assert_eq!(table.remove(first), Ok(1));
        assert_eq!(table.get(first), Err(Error::Handle));
        assert_eq!(table.remove(first), Err(Error::Handle));
        assert_ne!(table.add(2), first);
    }
}
