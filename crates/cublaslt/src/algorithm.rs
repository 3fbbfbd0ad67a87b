//! Algorithms of products: there is one way to compute, whatever an algorithm says. Numbers and
//! settings are kept in the client's `cublasLtMatmulAlgo_t`, so that it reads what it has written.

use culibs::device::{get_host, get_host_list, put_host, put_host_list};
use culibs::{Error, Outcome, Ptr};

use crate::handle::check;
use crate::matmul::{Layouts, Product};

/// The words of an algorithm: its number, then a setting in each.
type Algorithm = [u32; 16];

/// The number of the algorithm that heuristics answer.
const ID: u32 = 1;

/// Numbers of algorithms are below this.
const IDS: i32 = 128;

/// The sizes of settings (`cublasLtMatmulAlgoConfigAttributes_t`).
const SETTINGS: [usize; 9] = [4, 4, 4, 4, 4, 4, 4, 2, 2];

fn new(id: u32) -> Algorithm {
    let mut words = [0; 16];
    words[0] = id;
    words
}

fn read(at: Ptr) -> Outcome<Algorithm> {
    let list = get_host_list::<u32>(at, 16)?;
    let words = Algorithm::try_from(list).map_err(|_| Error::InvalidValue)?;
    if words[0] < IDS as u32 { Ok(words) } else { Err(Error::InvalidValue) }
}

/// Writes a result of a heuristic: the algorithm, no workspace, success, one wave.
fn write_result(out: Ptr, algorithm: Algorithm) -> Outcome {
    put_host_list(out, &algorithm)?;
    put_host(out + 64, 0_usize)?;
    put_host(out + 72, 0_i32)?;
    put_host(out + 76, 1.0_f32)?;
    put_host_list(out + 80, &[0_i32; 4])
}

/// Answers the one algorithm for products that are there.
pub(crate) fn heuristic(
    handle: u64,
    description: u64,
    layouts: Layouts,
    requested: i32,
    out: Ptr,
    count: Ptr,
) -> Outcome {
    check(handle)?;
    if requested < 1 {
        return Err(Error::InvalidValue);
    }
    put_host(count, 0_i32)?;
    Product::of(description, layouts)?;
    write_result(out, new(ID))?;
    put_host(count, 1_i32)
}

/// Checks an algorithm for a product.
pub(crate) fn check_for(
    handle: u64,
    description: u64,
    layouts: Layouts,
    algorithm: Ptr,
    out: Ptr,
) -> Outcome {
    check(handle)?;
    let algorithm = read(algorithm)?;
    Product::of(description, layouts)?;
    write_result(out, algorithm)
}

/// Tells the numbers of algorithms.
pub(crate) fn ids(handle: u64, requested: i32, out: Ptr, count: Ptr) -> Outcome {
    check(handle)?;
    if requested < 1 {
        return Err(Error::InvalidValue);
    }
    put_host(out, ID as i32)?;
    put_host(count, 1_i32)
}

/// Makes the algorithm with a number. Programs have numbers of algorithms that suit a device.
pub(crate) fn make(handle: u64, id: i32, out: Ptr) -> Outcome {
    check(handle)?;
    if !(0..IDS).contains(&id) {
        return Err(Error::InvalidValue);
    }
    put_host_list(out, &new(id as u32))
}

/// Returns the place of a setting with its size.
fn setting(attribute: i32, size: usize) -> Outcome<usize> {
    let place = usize::try_from(attribute).map_err(|_| Error::InvalidValue)?;
    if SETTINGS.get(place) == Some(&size) { Ok(place) } else { Err(Error::InvalidValue) }
}

pub(crate) fn set(algorithm: Ptr, attribute: i32, from: Ptr, size: usize) -> Outcome {
    let (mut words, place) = (read(algorithm)?, setting(attribute, size)?);
    // The number is given when an algorithm is made.
    if place == 0 {
        return Err(Error::InvalidValue);
    }
    words[place] = if size == 2 { get_host::<u16>(from)?.into() } else { get_host(from)? };
    put_host_list(algorithm, &words)
}

/// Tells how many bytes there are to write if there is no room for them.
fn tell(out: Ptr, size: usize, written: Ptr, bytes: &[u8]) -> Outcome {
    if written != 0 {
        put_host(written, bytes.len())?;
    }
    match (size, written) {
        (0, 1..) => Ok(()),
        _ if size < bytes.len() => Err(Error::InvalidValue),
        _ if bytes.is_empty() => Ok(()),
        _ => put_host_list(out, bytes),
    }
}

pub(crate) fn get(algorithm: Ptr, attribute: i32, out: Ptr, size: usize, written: Ptr) -> Outcome {
    let words = read(algorithm)?;
    let place = usize::try_from(attribute).map_err(|_| Error::InvalidValue)?;
    let len = *SETTINGS.get(place).ok_or(Error::InvalidValue)?;
    tell(out, size, written, &words[place].to_le_bytes()[..len])
}

/// Tells what algorithms can do (`cublasLtMatmulAlgoCapAttributes_t`): batches with distances and
/// results in another place; no tiles, stages or parts of sums to choose from; any alignment.
pub(crate) fn capability(
    algorithm: Ptr,
    attribute: i32,
    out: Ptr,
    size: usize,
    written: Ptr,
) -> Outcome {
    read(algorithm)?;
    let bytes: &[u8] = match attribute {
        // Lists of tiles and stages.
        6 | 13 => &[],
        // Batches with distances, results in another place; alignments of one byte.
        3 | 4 | 16..=19 => &1_u32.to_le_bytes(),
        0..=2 | 5 | 7 | 10 | 14 => &0_u32.to_le_bytes(),
        // All pointer modes, and all epilogues but the placeholder.
        11 => &31_u32.to_le_bytes(),
        12 => &u32::MAX.to_le_bytes(),
        // Flags of how it is implemented: fused multiply-adds in `float`, and inputs of it.
        15 => &0_u64.to_le_bytes(),
        _ => return Err(Error::InvalidValue),
    };
    tell(out, size, written, bytes)
}
