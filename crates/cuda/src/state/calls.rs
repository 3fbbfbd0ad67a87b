//! Counts the client's calls by function, and keeps the current one.
//!
//! A library on top of this one, such as the CUDA runtime's, announces when it enters and leaves a
//! call of its own. That call is then the client's; calls of this library in the meantime are not.

use std::cell::Cell;
use std::sync::Arc;

use cuda_abi::host::{self, Ptr};
use runtime::ApiCall;
use rustc_hash::FxHashMap;

/// A call of a library on top of this one.
#[derive(Clone, Copy, Default)]
struct Outer {
    /// The number of nested calls of such libraries.
    depth: u32,
    /// The address of the outermost call's name, a C string.
    name: Ptr,
    /// Whether the outermost call has been counted.
    counted: bool,
}

thread_local! {
    static OUTER: Cell<Outer> = const { Cell::new(Outer { depth: 0, name: 0, counted: false }) };
}

/// Notes that a library on top of this one enters a call of the function of this name, or, with 0,
/// leaves it.
pub(crate) fn within(name: Ptr) {
    let mut outer = OUTER.get();
    if name == 0 {
        outer.depth = outer.depth.saturating_sub(1);
    } else {
        if outer.depth == 0 {
            outer = Outer { depth: 0, name, counted: false };
        }
        outer.depth += 1;
    }
    OUTER.set(outer);
}

/// Returns the number of nested calls of libraries on top of this one.
pub(crate) fn depth() -> u32 {
    OUTER.get().depth
}

/// Returns whether this thread is in a call of a library on top of this one.
pub(crate) fn is_within() -> bool {
    OUTER.get().depth > 0
}

/// The client's calls, by function.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    counts: FxHashMap<Arc<str>, u64>,
    /// The names of functions of libraries on top of this one, by address.
    names: FxHashMap<Ptr, Arc<str>>,
    current: Option<Arc<str>>,
    begun: u64,
}

impl Calls {
    /// Returns the number of calls so far.
    pub(crate) fn begun(&self) -> u64 {
        self.begun
    }

    /// Begins a call of this library's function of this name.
    pub(crate) fn begin(&mut self, name: &str) {
        self.begun += 1;
        let outer = OUTER.get();
        let known = if outer.depth > 0 {
            let named = || host::name(outer.name).unwrap_or_default().into();
            Arc::clone(self.names.entry(outer.name).or_insert_with(named))
        } else {
            match self.counts.get_key_value(name) {
                Some((known, _)) => Arc::clone(known),
                None => name.into(),
            }
        };
        if outer.depth == 0 || !outer.counted {
            *self.counts.entry(Arc::clone(&known)).or_default() += 1;
        }
        OUTER.set(Outer { counted: outer.depth > 0, ..outer });
        self.current = Some(known);
    }

    /// Returns the client's current call.
    pub(crate) fn current(&self) -> ApiCall {
        let name = self.current.as_deref().unwrap_or_default();
        let number = self.counts.get(name).copied().unwrap_or(0);
        ApiCall { function: written(name).into(), number }
    }
}

/// Returns the name of a function as programs write it: headers add a version or a kind of stream.
fn written(mut name: &str) -> &str {
    loop {
        let plain = name.strip_suffix("_ptsz").or_else(|| name.strip_suffix("_ptds"));
        let plain = plain.or_else(|| {
            let (plain, version) = name.rsplit_once("_v")?;
            version.bytes().all(|byte| byte.is_ascii_digit()).then_some(plain)
        });
        match plain {
            Some(plain) => name = plain,
            None => return name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_programs_write_them() {
        for (name, plain) in [
            ("cuMemAlloc_v2", "cuMemAlloc"),
            ("cuMemFreeAsync_ptsz", "cuMemFreeAsync"),
            ("cuMemcpyDtoH_v2_ptds", "cuMemcpyDtoH"),
            ("cuMemAllocManaged", "cuMemAllocManaged"),
        ] {
            assert_eq!(written(name), plain);
        }
    }
}
