//! Finds out whether a finished program carries NVIDIA's static runtime, which the virtual device
//! cannot serve: it asks the driver for tables of functions without names.

use std::fs::File;
use std::path::{Path, PathBuf};

use object::read::{Object as _, ObjectSymbol as _, ReadCache};

/// The section of host programs that lists their device code.
const DEVICE_CODE: &str = ".nvFatBinSegment";
/// The section that the archive of `crates/cudart/link` leaves in programs.
const MARKER: &str = ".simtlab.cudart";
/// The first function that a program with device code calls.
const REGISTER: &[u8] = b"__cudaRegisterFatBinary";

/// Returns whether a program has device code and a runtime of its own: it neither imports the
/// functions that register the code nor holds ours.
pub(super) fn carries_runtime(program: &Path) -> bool {
    let Some(path) = find(program) else { return false };
    let Ok(file) = File::open(path) else { return false };
    let cache = ReadCache::new(file);
    let Ok(object) = object::File::parse(&cache) else { return false };
    if object.section_by_name(DEVICE_CODE).is_none() || object.section_by_name(MARKER).is_some() {
        return false;
    }
    let mut symbols = object.dynamic_symbols();
    !symbols.any(|s| s.is_undefined() && s.name_bytes().is_ok_and(|name| name == REGISTER))
}

/// Returns the file of a program, as shells find it.
pub(super) fn find(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 || program.is_absolute() {
        return Some(program.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|p| p.is_file())
}
