//! Numbers of functions in callbacks and records: `data/driver.tsv` and `data/runtime.tsv`, from
//! `cupti_driver_cbid.h` and `cupti_runtime_cbid.h`.

use std::ffi::{CStr, CString};
use std::sync::{LazyLock, Mutex, PoisonError};

use rustc_hash::FxHashMap;

/// Functions of one interface.
pub(crate) struct Names {
    /// Numbers by the names that programs call.
    numbers: FxHashMap<&'static str, u32>,
    /// Names in the header, by number.
    texts: FxHashMap<u32, CString>,
}

impl Names {
    fn new(table: &'static str, called: impl Fn(&'static str) -> &'static str) -> Self {
        let (mut numbers, mut texts) = (FxHashMap::default(), FxHashMap::default());
        let rows = table.lines().filter_map(|line| line.split_once('\t'));
        for (number, name) in rows.filter_map(|(n, name)| Some((n.parse().ok()?, name))) {
            // Of several versions the last one is what programs call.
            numbers.insert(called(name), number);
            texts.insert(number, CString::new(name).unwrap_or_default());
        }
        Self { numbers, texts }
    }

    /// Returns the number of a function; 0 if it has none.
    pub(crate) fn number(&self, name: &str) -> u32 {
        self.numbers.get(name).copied().unwrap_or(0)
    }

    /// Returns the name of a number.
    pub(crate) fn text(&self, number: u32) -> Option<&CStr> {
        self.texts.get(&number).map(CString::as_c_str)
    }
}

/// Names of the runtime's functions end with the version that they came with.
fn without_version(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((plain, version)) if version.len() >= 4 => plain,
        _ => name,
    }
}

pub(crate) static DRIVER: LazyLock<Names> =
    LazyLock::new(|| Names::new(include_str!("../data/driver.tsv"), |name| name));

pub(crate) static RUNTIME: LazyLock<Names> =
    LazyLock::new(|| Names::new(include_str!("../data/runtime.tsv"), without_version));

/// Returns the address of a C string with this text, which stays.
pub(crate) fn kept(text: &str) -> u64 {
    static KEPT: LazyLock<Mutex<FxHashMap<String, CString>>> = LazyLock::new(Mutex::default);
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.get(text) {
        return known.as_ptr().expose_provenance() as u64;
    }
    let made = CString::new(text).unwrap_or_default();
    // The text is not moved when the table grows.
    let address = made.as_ptr().expose_provenance() as u64;
    all.insert(text.to_owned(), made);
    address
}
