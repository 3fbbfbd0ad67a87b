//! Texts for clients, versions, and names of processes.

use cuda_abi::host::{Ptr, put, put_bytes};

use crate::library::by_index;
use crate::status::{Outcome, Status};

/// Writes a text with its end to a buffer of the client.
pub(crate) fn put_text(out: Ptr, room: u32, text: &str) -> Outcome {
    if out == 0 {
        return Err(Status::INVALID_ARGUMENT);
    }
    if (room as usize) <= text.len() {
        return Err(Status::INSUFFICIENT_SIZE);
    }
    Ok(put_bytes(out, &[text.as_bytes(), b"\0"].concat())?)
}

/// Writes a text with zeros after it to the field of a structure.
pub(crate) fn field<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    let len = text.len().min(N - 1);
    bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
    bytes
}

/// The first branch of NVIDIA's drivers for each version of CUDA. Clients take the driver's version
/// apart as a number.
const BRANCHES: [(u32, u32); 13] = [
    (11000, 450),
    (11040, 470),
    (11080, 520),
    (12000, 525),
    (12020, 535),
    (12030, 545),
    (12040, 550),
    (12050, 555),
    (12060, 560),
    (12080, 570),
    (12090, 575),
    (13000, 580),
    (13010, 590),
];

/// Returns the driver's branch.
fn branch(version: u32) -> u32 {
    let known = BRANCHES.iter().rev().find(|&&(since, _)| since <= version);
    known.unwrap_or(&BRANCHES[0]).1
}

pub(crate) fn driver_version(out: Ptr, room: u32) -> Outcome {
    let branch = branch(by_index(0)?.status.version);
    put_text(out, room, &format!("{branch}.00"))
}

pub(crate) fn nvml_version(out: Ptr, room: u32) -> Outcome {
    let version = by_index(0)?.status.version;
    put_text(out, room, &format!("{}.{}.00", version / 1000, branch(version)))
}

pub(crate) fn cuda_version(out: Ptr) -> Outcome {
    Ok(put(out, &by_index(0)?.status.version)?)
}

/// Writes the command of a process, as far as there is room.
pub(crate) fn process_name(pid: u32, out: Ptr, room: u32) -> Outcome {
    if out == 0 || room == 0 {
        return Err(Status::INVALID_ARGUMENT);
    }
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).map_err(|_| Status::NOT_FOUND)?;
    let name = line.split(|&byte| byte == 0).next().unwrap_or_default();
    let shown = &name[..name.len().min(room as usize - 1)];
    Ok(put_bytes(out, &[shown, b"\0"].concat())?)
}
