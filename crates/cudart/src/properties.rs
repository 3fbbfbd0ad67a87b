//! `cudaDeviceProp`: its fields in order, each with the device attribute that it holds.
//!
//! Version 13 removed some fields and appended others. Fields have the layout of C: sizes are
//! aligned to eight bytes.

use crate::driver::{
    cuDeviceGetAttribute, cuDeviceGetName, cuDeviceGetUuid_v2, cuDeviceTotalMem_v2,
};
use crate::error::Outcome;
use crate::host::{Ptr, out, put};
use crate::state::known_device;
use crate::version::is_new;

/// Bytes of the device's name.
const NAME: usize = 256;

/// A run of fields.
enum Field {
    /// `int` fields with these attributes.
    Ints(&'static [i32]),
    /// A `size_t` field with this attribute.
    Size(i32),
    /// `int` fields that version 13 lacks.
    RemovedIn13(&'static [i32]),
    /// `int` fields that are new in version 13.
    AddedIn13(&'static [i32]),
    /// The size of global memory in bytes.
    Memory,
    /// The end of the structure in versions before 12.
    End11,
}

use Field::{AddedIn13, End11, Ints, Memory, RemovedIn13, Size};

/// The fields after name, UUID, LUID and node mask.
const FIELDS: &[Field] = &[
    Memory,
    // Shared memory and registers of a block, warp size, pitch.
    Size(8),
    Ints(&[12, 10]),
    Size(11),
    // Threads of a block, block sizes, grid sizes; clock rate; constant memory.
    Ints(&[1, 2, 3, 4, 5, 6, 7]),
    RemovedIn13(&[13]),
    Size(9),
    // Compute capability; texture alignments.
    Ints(&[75, 76]),
    Size(14),
    Size(51),
    // Overlapped copies, multiprocessors, time limit, integrated, mapped memory, compute mode.
    RemovedIn13(&[15]),
    Ints(&[16]),
    RemovedIn13(&[17]),
    Ints(&[18, 19]),
    RemovedIn13(&[20]),
    // Textures: 1D, mipmapped, linear; 2D, mipmapped, linear, gather; 3D and its alternative; cube
    // maps, layers.
    Ints(&[21, 77]),
    RemovedIn13(&[69]),
    Ints(&[
        22, 23, 73, 74, 70, 71, 72, 45, 46, 24, 25, 26, 47, 48, 49, 52, 42, 43, 27, 28, 29, 53, 54,
    ]),
    // Surfaces.
    Ints(&[55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68]),
    Size(30),
    // Concurrent kernels, error correction; bus, device, domain; driver model, copy engines,
    // unified addressing.
    Ints(&[31, 32, 33, 34, 50, 35, 40, 41]),
    // Memory clock rate; bus width, L2 cache and its persisting part, threads of a multiprocessor,
    // stream priorities, L1 caches.
    RemovedIn13(&[36]),
    Ints(&[37, 38, 108, 39, 78, 79, 80]),
    // Shared memory and registers of a multiprocessor; managed memory, boards, native atomics of
    // the host.
    Size(81),
    Ints(&[82, 83, 84, 85, 86]),
    RemovedIn13(&[87]),
    // Pageable access, concurrent managed access, preemption, host pointers of registered memory,
    // cooperative launches.
    Ints(&[88, 89, 90, 91, 95]),
    RemovedIn13(&[96]),
    Size(97),
    // Host page tables, direct access, blocks of a multiprocessor, access window; reserved shared
    // memory.
    Ints(&[100, 101, 106, 109]),
    Size(111),
    End11,
    // Registered memory, sparse arrays, read-only registration, semaphores, pools, GPUDirect RDMA,
    // deferred mapping, IPC events, clusters, function pointers.
    Ints(&[99, 112, 113, 114, 115, 116, 117, 118, 119, 121, 125, 120, 129]),
    AddedIn13(&[130, 131, 133, 134, 139, 140, 143]),
];

/// Reserved words at the end, in versions 12 and 13.
const RESERVED: (usize, usize) = (63, 56);

/// Writes the structure in the layout of a version: 11, 12 or 13.
pub(crate) fn write(at: Ptr, device: i32, version: i32) -> Outcome {
    known_device(device)?;
    let mut bytes = vec![0; NAME];
    cuDeviceGetName(bytes.as_mut_ptr().expose_provenance(), NAME as i32, device)?;
    let uuid = out([0_u8; 16], |at| cuDeviceGetUuid_v2(at, device))?;
    bytes.extend(uuid);
    // The LUID, which is zero; the node mask.
    bytes.extend([0; 8]);
    bytes.extend(1_u32.to_ne_bytes());
    let ints = |bytes: &mut Vec<u8>, list: &[i32]| -> Outcome {
        for &attribute in list {
            bytes.extend(value(attribute, device)?.to_ne_bytes());
        }
        Ok(())
    };
    let size = |bytes: &mut Vec<u8>, value: u64| {
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes.extend(value.to_ne_bytes());
    };
    for field in FIELDS {
        match *field {
            Ints(list) => ints(&mut bytes, list)?,
            RemovedIn13(list) if version < 13 => ints(&mut bytes, list)?,
            AddedIn13(list) if version >= 13 => ints(&mut bytes, list)?,
            Size(attribute) => size(&mut bytes, value(attribute, device)? as u64),
            Memory => size(&mut bytes, out(0_u64, |at| cuDeviceTotalMem_v2(at, device))?),
            End11 if version < 12 => return put(at, &bytes),
            RemovedIn13(_) | AddedIn13(_) | End11 => {}
        }
    }
    let reserved = if version >= 13 { RESERVED.1 } else { RESERVED.0 };
    bytes.resize((bytes.len() + 4 * reserved).next_multiple_of(8), 0);
    put(at, &bytes)
}

fn value(attribute: i32, device: i32) -> Outcome<i32> {
    out(0, |at| cuDeviceGetAttribute(at, attribute, device))
}

/// Writes the structure for the name without a version suffix. Before version 13, that name has the
/// layout of programs older than version 12.
pub(crate) fn write_plain(at: Ptr, device: i32) -> Outcome {
    write(at, device, if is_new() { 13 } else { 11 })
}
