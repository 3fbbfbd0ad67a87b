//! The process that uses the device.
//!
//! It reads a request from a file and appends frames to another one: the length in bytes as a
//! `u64`, then a record's bytes or an event as JSON. The process that started it reads the frames,
//! and stops it if none comes in time. After a launch has failed the context is of no further use:
//! the worker ends, and its parent starts another one for the runs that are left.

use std::ffi::CString;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use inputs::Array;
use lab::run::BoundLaunch;
use serde::{Deserialize, Serialize};

use crate::error::DeviceError;
use crate::ffi::{Attribute, Context, Library, Memory, Module, Shape};
use crate::record::{
    BufferRecord, Identity, LaunchRecord, Record, RunEnd, RunRecord, cuda_version,
};
use crate::request::{Choice, Request, Run};

/// A message of a worker. A record with one run ends that run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum Event {
    /// The device is there.
    Ready { device: Identity },
    /// A run begins: its program is compiled.
    Begin { run: usize },
    /// A launch begins.
    Launch { launch: usize },
    /// Nothing can run.
    Failed { error: DeviceError },
}

/// Runs the request in one file, and writes frames to another one. This is the whole life of a
/// worker process.
///
/// # Errors
/// If the files cannot be read and written. Errors of the device go into a frame.
pub fn work(request: &Path, replies: &Path) -> std::io::Result<()> {
    let mut replies = Replies(std::fs::OpenOptions::new().append(true).open(replies)?);
    let bytes = std::fs::read(request)?;
    let request = Request::from_bytes(&bytes).map_err(std::io::Error::other)?;
    drop(bytes);
    match run_all(&request, &mut replies) {
        Ok(()) => Ok(()),
        Err(Stop::Io(error)) => Err(error),
        Err(Stop::Device(error)) => replies.event(&Event::Failed { error }),
    }
}

/// Why a worker ends early.
enum Stop {
    Io(std::io::Error),
    Device(DeviceError),
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<DeviceError> for Stop {
    fn from(error: DeviceError) -> Self {
        Self::Device(error)
    }
}

struct Replies(File);

impl Replies {
    fn frame(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let mut frame = (bytes.len() as u64).to_le_bytes().to_vec();
        frame.extend_from_slice(bytes);
        self.0.write_all(&frame)
    }

    fn event(&mut self, event: &Event) -> std::io::Result<()> {
        self.frame(&serde_json::to_vec(event)?)
    }
}

fn run_all(request: &Request, replies: &mut Replies) -> Result<(), Stop> {
    let library = Library::open(request.choice.library.as_deref())?;
    let identity = identify(&library, &request.choice)?;
    replies.event(&Event::Ready { device: identity.clone() })?;
    if request.runs.is_empty() {
        return Ok(());
    }
    let context = library.device(request.choice.ordinal)?.context()?;
    for (index, run) in request.runs.iter().enumerate() {
        replies.event(&Event::Begin { run: index })?;
        let mut record = RunRecord {
            target: run.target.clone(),
            text_hash: run.text_hash(),
            inputs_hash: run.inputs_hash(),
            end: RunEnd::Done,
            launches: Vec::new(),
            buffers: Vec::new(),
            hashes: Vec::new(),
        };
        record.end = match run_one(&context, &identity, run, &mut record, replies) {
            Ok(end) => end,
            Err(Stop::Device(error)) if !error.concerns_device() => RunEnd::Refused { error },
            Err(stop) => return Err(stop),
        };
        // A context in which a launch has failed answers every call with the same error.
        let lost = matches!(record.end, RunEnd::Fault { .. });
        let record = Record::now(identity.clone(), vec![record]);
        replies.frame(&record.to_bytes().map_err(std::io::Error::other)?)?;
        if lost {
            return Ok(());
        }
    }
    Ok(())
}

/// The device that is meant. Simtlab's own library is refused unless it is allowed.
fn identify(library: &Library, choice: &Choice) -> Result<Identity, DeviceError> {
    let refused = || DeviceError::Simulated { path: library.path().to_owned() };
    if library.marked() && !choice.allow_simulated {
        return Err(refused());
    }
    let driver = library.initialise()?;
    let device = library.device(choice.ordinal)?;
    let simulated = library.simulated(&device)?;
    if simulated && !choice.allow_simulated {
        return Err(refused());
    }
    let uuid: Vec<String> = device.uuid()?.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Identity {
        library: library.path().to_owned(),
        simulated,
        driver,
        ordinal: choice.ordinal,
        name: device.name()?,
        uuid: uuid.concat(),
        capability: [device.attribute(Attribute::Major)?, device.attribute(Attribute::Minor)?],
        multiprocessors: device.attribute(Attribute::Multiprocessors)?,
        clock: device.attribute(Attribute::ClockRate)?,
        memory: device.memory()?,
    })
}

fn run_one(
    context: &Context<'_>,
    identity: &Identity,
    run: &Run,
    record: &mut RunRecord,
    replies: &mut Replies,
) -> Result<RunEnd, Stop> {
    let text = CString::new(run.text.as_str())
        .map_err(|_| DeviceError::Request("the program's text has a null byte".to_owned()))?;
    let module = context.load(&text).map_err(|error| with_versions(error, run, identity))?;
    let mut memory = Vec::with_capacity(run.buffers.len());
    for (_, array) in &run.buffers {
        memory.push(context.allocate(array.data())?);
    }
    for (index, order) in run.orders.iter().enumerate() {
        replies.event(&Event::Launch { launch: index })?;
        match launch(context, &module, order, run, &memory) {
            Ok(ms) => record.launches.push(LaunchRecord { kernel: order.kernel.clone(), ms }),
            Err(error @ DeviceError::Call { .. }) => {
                return Ok(RunEnd::Fault { launch: index, error });
            }
            Err(error) => return Err(error.into()),
        }
    }
    for ((name, array), memory) in run.buffers.iter().zip(&memory) {
        let contents = Array::new(array.ty(), array.shape().to_vec(), memory.read()?);
        let contents = contents.map_err(|e| DeviceError::Request(e.to_string()))?;
        record.buffers.push(BufferRecord { name: name.clone(), contents });
    }
    Ok(RunEnd::Done)
}

/// Launches and waits; gives the milliseconds that it took.
fn launch(
    context: &Context<'_>,
    module: &Module<'_>,
    order: &BoundLaunch,
    run: &Run,
    memory: &[Memory<'_>],
) -> Result<f32, DeviceError> {
    let extents = |extents: [u64; 3]| -> Result<[u32; 3], DeviceError> {
        let small = extents.map(|n| u32::try_from(n).ok());
        match small {
            [Some(x), Some(y), Some(z)] => Ok([x, y, z]),
            _ => Err(DeviceError::Request(format!("the extents {extents:?} are too large"))),
        }
    };
    let shared = i32::try_from(order.shared)
        .map_err(|_| DeviceError::Request(format!("{} bytes are too many", order.shared)))?;
    let shape = Shape {
        grid: extents(order.grid)?,
        block: extents(order.block)?,
        shared: shared.cast_unsigned(),
    };
    let mut params = order.params.clone();
    for pointer in &order.pointers {
        let missing = || DeviceError::Request(format!("there is no buffer `{}`", pointer.buffer));
        let place = run.buffers.iter().position(|(name, _)| *name == pointer.buffer);
        let memory = place.and_then(|at| memory.get(at)).ok_or_else(missing)?;
        let offset = usize::try_from(pointer.offset).unwrap_or(usize::MAX);
        let end = offset.saturating_add(8);
        let slot = params.get_mut(offset..end).and_then(|s| <&mut [u8; 8]>::try_from(s).ok());
        let slot = slot.ok_or_else(missing)?;
        *slot = u64::from_le_bytes(*slot).wrapping_add(memory.address()).to_le_bytes();
    }
    let kernel = module.kernel(&order.kernel)?;
    let start = context.event()?;
    kernel.launch(&shape, &params)?;
    let end = context.event()?;
    context.synchronise()?;
    end.since(&start)
}

/// Adds both versions to the error for a program that is too new.
fn with_versions(error: DeviceError, run: &Run, identity: &Identity) -> DeviceError {
    match error {
        DeviceError::PtxVersion { .. } => DeviceError::PtxVersion {
            text: ptx_version(&run.text).unwrap_or_else(|| "of an unknown version".to_owned()),
            driver: cuda_version(identity.driver),
            most: newest_ptx(identity.driver),
        },
        other => other,
    }
}

/// The version that a text declares.
fn ptx_version(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(".version"))?;
    line.split_whitespace().next().map(str::to_owned)
}

/// The newest PTX version that a CUDA version compiles, by the release notes of the PTX manual.
#[must_use]
pub fn newest_ptx(driver: i32) -> Option<String> {
    const FIRST: [(i32, &str); 21] = [
        (9000, "6.0"),
        (9010, "6.1"),
        (9020, "6.2"),
        (10000, "6.3"),
        (10010, "6.4"),
        (10020, "6.5"),
        (11000, "7.0"),
        (11010, "7.1"),
        (11020, "7.2"),
        (11030, "7.3"),
        (11040, "7.4"),
        (11050, "7.5"),
        (11060, "7.6"),
        (11070, "7.7"),
        (11080, "7.8"),
        (12000, "8.0"),
        (12010, "8.1"),
        (12020, "8.2"),
        (12030, "8.3"),
        (12040, "8.4"),
        (12050, "8.5"),
    ];
    const LATER: [(i32, &str); 4] =
        [(12070, "8.6"), (12080, "8.7"), (12090, "8.8"), (13000, "9.0")];
    // What newer drivers compile is not in this table.
    if driver >= 13010 {
        return None;
    }
    let mut known = FIRST.iter().chain(&LATER);
    known.rfind(|(cuda, _)| *cuda <= driver).map(|(_, ptx)| (*ptx).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_ptx() {
        assert_eq!(ptx_version("// by hand\n  .version 8.4\n.target sm_80"), Some("8.4".into()));
        assert_eq!(ptx_version(".target sm_80"), None);
        assert_eq!(newest_ptx(12060).as_deref(), Some("8.5"));
        assert_eq!(newest_ptx(13000).as_deref(), Some("9.0"));
        assert_eq!((newest_ptx(8000), newest_ptx(14000)), (None, None));
    }
}
