//! Batches of copies of adjacent bytes.

use cuda_abi::host::{Ptr, get_list, put_u64_if};
use cuda_abi::{Outcome, Status};

use super::capture::submit;
use super::copy;
use crate::state::Driver;
use crate::state::stream::LEGACY;

/// The index of the failed copy if it is none of them.
const NONE: u64 = u64::MAX;

/// Submits copies to a stream: addresses to copy to and from, sizes, and their number; attributes,
/// the index of the first copy of each, and their number. `failed` receives the index of a copy
/// that cannot be made.
///
/// Attributes are hints: the order in which sources are read cannot be told, because all copies are
/// done in the order of the stream.
pub(crate) fn copies(
    d: &mut Driver,
    (to, from, sizes, count): (Ptr, Ptr, Ptr, usize),
    (attributes, indices, number): (Ptr, Ptr, usize),
    failed: Ptr,
    stream: u64,
) -> Outcome {
    put_u64_if(failed, NONE)?;
    // There are no batches on the null stream.
    if stream <= LEGACY || count == 0 || number == 0 || number > count || attributes == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let indices = get_list::<u64>(indices, number)?;
    let are_ascending = indices.windows(2).all(|pair| pair[0] < pair[1]);
    let are_inside = indices.last().is_some_and(|&last| last < count as u64);
    if indices.first() != Some(&0) || !are_ascending || !are_inside {
        return Err(Status::INVALID_VALUE);
    }
    let lists = [to, from, sizes].map(|at| get_list::<u64>(at, count));
    let [to, from, sizes] = lists;
    let copies = to?.into_iter().zip(from?).zip(sizes?);
    for (index, ((to, from), len)) in copies.enumerate() {
        let action = match len {
            0 => Err(Status::INVALID_VALUE),
            len => copy::any(d, to, from, len as usize),
        };
        let end = action.and_then(|action| submit(d, stream, action));
        if let Err(status) = end {
            put_u64_if(failed, index as u64)?;
            return Err(status);
        }
    }
    Ok(())
}
