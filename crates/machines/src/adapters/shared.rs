//! Code shared by the machines with simple programs: one kernel, read from text or a binary, in one
//! memory.

use inputs::kernel::{ParamInfo, ParamKind};
use inputs::launch::{MachineOption, OptionValue};
use isa::{Diagnostic, Diagnostics};
use simt::memory::{Addr, MemoryMap, Permission, Region};

use crate::interface::Image;
use crate::launch::{LaunchProblem, LaunchRequest, Subject};
use crate::program::{MemoryRange, Program};

/// Makes an array of [`Named`](crate::interface::Named) of a table whose rows have names and
/// descriptions.
macro_rules! named {
    ($rows:expr, $about:ident) => {{
        let mut named = [crate::interface::Named { name: "", about: "" }; $rows.len()];
        let mut index = 0;
        while index < named.len() {
            let row = &$rows[index];
            named[index] = crate::interface::Named { name: row.name, about: row.$about };
            index += 1;
        }
        named
    }};
}

pub(super) use named;

/// Some bytes from an address on.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddressRange {
    pub(super) start: u64,
    pub(super) length: u64,
}

/// Parses ranges `ADDRESS+LENGTH` with commas between them.
pub(super) fn address_ranges(text: &str) -> Result<Vec<AddressRange>, String> {
    let number = |text: &str| match text.trim().strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.trim().parse().ok(),
    };
    let range = |item: &str| {
        let (start, length) = item.split_once('+')?;
        Some(AddressRange { start: number(start)?, length: number(length)? })
    };
    let each =
        text.split(',').map(|item| range(item).ok_or(format!("`{item}` is not ADDRESS+LENGTH")));
    each.collect()
}

/// Returns diagnostics with a single error, without a location.
pub(super) fn refused(code: &'static str, message: impl Into<String>) -> Diagnostics {
    one(Diagnostic::error(code, message))
}

fn one(finding: Diagnostic) -> Diagnostics {
    let mut found = Diagnostics::new();
    found.push(finding);
    found
}

/// Returns the text of an image that must be text.
pub(super) fn text_of<'a>(image: &Image<'a>) -> Result<&'a str, Diagnostics> {
    image.text().map_err(one)
}

/// Returns the text of an image that may be a binary. Text is UTF-8 without zero bytes.
pub(super) fn as_text<'a>(image: &Image<'a>) -> Option<&'a str> {
    let text = std::str::from_utf8(image.bytes).ok()?;
    (!text.contains('\0')).then_some(text)
}

/// Turns the result of reading a program into that of `Isa::load`.
pub(super) fn loaded<P: Program + 'static>(
    read: Result<P, Diagnostics>,
    found: &mut Diagnostics,
) -> Option<Box<dyn Program>> {
    match read {
        Ok(program) => Some(Box::new(program)),
        Err(errors) => {
            found.append(errors);
            None
        }
    }
}

/// Returns a problem with part of a request.
pub(super) fn problem(about: Subject, message: impl Into<String>) -> LaunchProblem {
    LaunchProblem { about, message: message.into(), help: None, span: None }
}

/// Returns an option's value as the command line spells it.
pub(super) fn option_text(option: &MachineOption) -> String {
    match &option.value.value {
        OptionValue::String(text) => text.clone(),
        OptionValue::Integer(number) => number.to_string(),
        OptionValue::Float(number) => number.to_string(),
        OptionValue::Boolean(true) => "on".to_owned(),
        OptionValue::Boolean(false) => "off".to_owned(),
    }
}

/// Returns parameters of eight bytes each, as `.param` declares them.
pub(super) fn parameters(names: &[String]) -> Vec<ParamInfo> {
    let param = |(name, offset): (&String, u64)| ParamInfo {
        name: name.clone(),
        spelling: ".param".to_owned(),
        offset,
        size: 8,
        kind: ParamKind::Bits,
    };
    names.iter().zip((0..).step_by(8)).map(param).collect()
}

/// Allocates a region and fills it with `data`.
pub(super) fn allocate(memory: &mut MemoryMap, name: &str, data: &[u8]) -> Result<u64, String> {
    let address = memory.allocate(name, data.len() as u64).map_err(|e| e.to_string())?;
    memory.host_write(address, data).map_err(|e| e.to_string())?;
    Ok(address.0)
}

/// Reads `length` bytes of memory.
pub(super) fn read(memory: &MemoryMap, address: u64, length: usize) -> Result<Vec<u8>, String> {
    let data = memory.read_vec(Addr(address), length).map_err(|e| e.to_string())?;
    data.ok_or_else(|| format!("the host has no room for {length} bytes"))
}

/// Returns the live regions of memory that guests may write.
pub(super) fn ranges(memory: &MemoryMap) -> Vec<MemoryRange> {
    let writable = |r: &&Region| r.is_live() && r.permission() == Permission::ReadWrite;
    let range = |r: &Region| MemoryRange { start: r.base().0, length: r.len() };
    memory.regions().iter().filter(writable).map(range).collect()
}

/// Checks that a request has one block of one thread; `why` is the message if it has more.
pub(super) fn single(request: &LaunchRequest<'_>, why: &str) -> Result<(), LaunchProblem> {
    if request.grid.iter().chain(&request.block).any(|extent| *extent != 1) {
        return Err(problem(Subject::Grid, why));
    }
    Ok(())
}
