//! What a device has given back, with the device, the driver and the date beside it.
//!
//! A record is a [bundle]: the index is a [`Record`] as JSON, the blocks are the
//! contents of all buffers of all runs, in order. docs/device.md describes it for other programs.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use inputs::{Array, ElemType};
use serde::{Deserialize, Serialize};

use crate::bundle::{self, BundleError, FileKind};
use crate::error::DeviceError;
use crate::hash::Hash;

/// This program with its version.
pub(crate) const TOOL: &str = concat!("simtlab ", env!("CARGO_PKG_VERSION"));

/// Most bytes of a record that are read.
const MAX_BYTES: u64 = 8 << 30;

/// A device and its driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The file of the driver library.
    pub library: String,
    /// Whether it is Simtlab's own library: then this is not a device.
    pub simulated: bool,
    /// The CUDA version of the driver: 12090 is 12.9.
    pub driver: i32,
    /// The device's number.
    pub ordinal: i32,
    /// How the driver calls it.
    pub name: String,
    /// Its identity, 32 hexadecimal digits.
    pub uuid: String,
    /// Compute capability.
    pub capability: [i32; 2],
    /// Streaming multiprocessors.
    pub multiprocessors: i32,
    /// Clock rate in kHz.
    pub clock: i32,
    /// Bytes of memory.
    pub memory: u64,
}

impl Identity {
    /// The driver's CUDA version: `12.9`.
    #[must_use]
    pub fn cuda(&self) -> String {
        cuda_version(self.driver)
    }

    /// In one line.
    #[must_use]
    pub fn line(&self) -> String {
        let [major, minor] = self.capability;
        let mark = if self.simulated { " (simulated: Simtlab's own library)" } else { "" };
        format!("{}, capability {major}.{minor}, CUDA {}{mark}", self.name, self.cuda())
    }
}

/// `12.9` for 12090.
#[must_use]
pub fn cuda_version(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// `CUDA_ERROR_LAUNCH_TIMEOUT`.
const LAUNCH_TIMEOUT: i32 = 702;

/// How a run on a device ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RunEnd {
    /// All launches ended.
    Done,
    /// The device or its driver did not take the program or its buffers.
    Refused {
        /// Why.
        error: DeviceError,
    },
    /// A launch failed.
    Fault {
        /// Which, from 0.
        launch: usize,
        /// What the driver says.
        error: DeviceError,
    },
    /// A launch took longer than allowed, and its process was stopped.
    Hang {
        /// Which, from 0; none if the program was still being compiled.
        launch: Option<usize>,
        /// Seconds that were allowed.
        seconds: f64,
    },
    /// The process that used the device ended without an answer.
    Lost {
        /// How it ended.
        how: String,
    },
}

impl RunEnd {
    /// Whether a launch did not end: its process was stopped, or the driver stopped it
    /// (`CUDA_ERROR_LAUNCH_TIMEOUT`).
    #[must_use]
    pub fn is_hang(&self) -> bool {
        match self {
            Self::Hang { .. } => true,
            Self::Fault { error: DeviceError::Call { code, .. }, .. } => *code == LAUNCH_TIMEOUT,
            _ => false,
        }
    }

    /// The end in one line.
    #[must_use]
    pub fn line(&self) -> String {
        match self {
            Self::Done => "done".to_owned(),
            Self::Refused { error } => format!("refused: {error}"),
            Self::Fault { launch, error } => format!("launch {launch} failed: {error}"),
            Self::Hang { launch: Some(launch), seconds } => {
                format!("launch {launch} did not end within {seconds} s")
            }
            Self::Hang { launch: None, seconds } => {
                format!("the driver did not load the program within {seconds} s")
            }
            Self::Lost { how } => format!("the process that used the device {how}"),
        }
    }
}

/// One launch on a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchRecord {
    /// The kernel.
    pub kernel: String,
    /// Milliseconds by the device's clock.
    pub ms: f32,
}

/// A buffer after the last launch.
#[derive(Clone, Debug, PartialEq)]
pub struct BufferRecord {
    /// Its name.
    pub name: String,
    /// Its contents.
    pub contents: Array,
}

/// One run: all launches of one launch file.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// What was run, as the user named it.
    pub target: String,
    /// Hash of the program's text.
    pub text_hash: String,
    /// Hash of the buffers before the first launch, and of all launches with their arguments.
    pub inputs_hash: String,
    /// How it ended.
    pub end: RunEnd,
    /// Launches that ended.
    pub launches: Vec<LaunchRecord>,
    /// Buffers; none unless it is done.
    pub buffers: Vec<BufferRecord>,
    /// Names and hashes of buffers whose contents are not kept.
    pub hashes: Vec<(String, String)>,
}

impl RunRecord {
    /// Keeps no more than the hashes of those buffers that are not wanted.
    pub fn keep(&mut self, wanted: impl Fn(&str) -> bool) {
        let (kept, others) =
            std::mem::take(&mut self.buffers).into_iter().partition(|b| wanted(&b.name));
        self.buffers = kept;
        let others: Vec<BufferRecord> = others;
        self.hashes.extend(others.into_iter().map(|b| (b.name, hash_of(&b.contents))));
    }
}

/// The hash of a buffer's bytes.
#[must_use]
pub fn hash_of(contents: &Array) -> String {
    let mut hash = Hash::new();
    hash.add(contents.data());
    hash.text()
}

/// Runs of one device.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The program that made it.
    pub tool: String,
    /// When: `2026-01-31T12:00:00Z`.
    pub made: String,
    /// On what.
    pub device: Identity,
    /// The runs.
    pub runs: Vec<RunRecord>,
}

#[derive(Serialize, Deserialize)]
struct RecordIndex {
    tool: String,
    made: String,
    device: Identity,
    runs: Vec<RunIndex>,
}

#[derive(Serialize, Deserialize)]
struct RunIndex {
    target: String,
    text_hash: String,
    inputs_hash: String,
    end: RunEnd,
    launches: Vec<LaunchRecord>,
    buffers: Vec<ArrayIndex>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hashes: Vec<(String, String)>,
}

/// A buffer in an index; its bytes are a block.
#[derive(Serialize, Deserialize)]
pub(crate) struct ArrayIndex {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    shape: Vec<u64>,
}

impl ArrayIndex {
    pub(crate) fn new(name: &str, array: &Array) -> Self {
        Self { name: name.to_owned(), ty: array.ty().to_string(), shape: array.shape().to_vec() }
    }

    /// The buffer of a block.
    pub(crate) fn array(self, block: Option<&[u8]>) -> Result<(String, Array), BundleError> {
        let wrong = |what: String| BundleError::Index(format!("buffer `{}`: {what}", self.name));
        let ty = ElemType::from_name(&self.ty)
            .ok_or_else(|| wrong(format!("there is no type `{}`", self.ty)))?;
        let block = block.ok_or_else(|| wrong("its bytes are missing".to_owned()))?;
        let array = Array::new(ty, self.shape.clone(), block.to_vec());
        let array = array.map_err(|e| wrong(e.to_string()))?;
        Ok((self.name, array))
    }
}

/// Why a record cannot be had from a file.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be read or written.
    #[error("{}", inputs::file::io_reason(.0))]
    Io(#[from] std::io::Error),
    /// It is not a record.
    #[error(transparent)]
    Bundle(#[from] BundleError),
}

impl Record {
    /// A record of these runs, made now.
    #[must_use]
    pub fn now(device: Identity, runs: Vec<RunRecord>) -> Self {
        Self { tool: TOOL.to_owned(), made: now(), device, runs }
    }

    /// The bytes of the file.
    ///
    /// # Errors
    /// If the index cannot be written.
    pub fn to_bytes(&self) -> Result<Vec<u8>, BundleError> {
        let run = |run: &RunRecord| RunIndex {
            target: run.target.clone(),
            text_hash: run.text_hash.clone(),
            inputs_hash: run.inputs_hash.clone(),
            end: run.end.clone(),
            launches: run.launches.clone(),
            buffers: run.buffers.iter().map(|b| ArrayIndex::new(&b.name, &b.contents)).collect(),
            hashes: run.hashes.clone(),
        };
        let index = RecordIndex {
            tool: self.tool.clone(),
            made: self.made.clone(),
            device: self.device.clone(),
            runs: self.runs.iter().map(run).collect(),
        };
        let buffers = self.runs.iter().flat_map(|run| &run.buffers);
        let blocks: Vec<&[u8]> = buffers.map(|buffer| buffer.contents.data()).collect();
        bundle::write(FileKind::Record, &index, &blocks)
    }

    /// A record of the bytes of a file.
    ///
    /// # Errors
    /// If they are no record of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BundleError> {
        let (index, blocks): (RecordIndex, _) = bundle::read(FileKind::Record, bytes)?;
        let mut blocks = blocks.into_iter();
        let mut runs = Vec::with_capacity(index.runs.len());
        for run in index.runs {
            let mut buffers = Vec::with_capacity(run.buffers.len());
            for buffer in run.buffers {
                let (name, contents) = buffer.array(blocks.next())?;
                buffers.push(BufferRecord { name, contents });
            }
            let RunIndex { target, text_hash, inputs_hash, end, launches, hashes, .. } = run;
            runs.push(RunRecord { target, text_hash, inputs_hash, end, launches, buffers, hashes });
        }
        Ok(Self { tool: index.tool, made: index.made, device: index.device, runs })
    }

    /// Writes a file; it appears whole or not at all.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn save(&self, path: &Path) -> Result<(), RecordError> {
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        std::fs::write(&part, self.to_bytes()?)?;
        std::fs::rename(&part, path)?;
        Ok(())
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or is not a record of this version.
    pub fn load(path: &Path) -> Result<Self, RecordError> {
        let length = std::fs::metadata(path)?.len();
        if length > MAX_BYTES {
            let needed = length;
            return Err(BundleError::Length { needed, got: MAX_BYTES }.into());
        }
        Ok(Self::from_bytes(&std::fs::read(path)?)?)
    }
}

/// This moment, in UTC.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    date(since.as_secs())
}

/// A moment in seconds after 1970, in the calendar.
fn date(seconds: u64) -> String {
    let (mut days, rest) = (seconds / 86_400, seconds % 86_400);
    let leap = |year: u64| {
        (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400)
    };
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_dates() {
        assert_eq!(date(0), "1970-01-01T00:00:00Z");
        assert_eq!(date(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(date(951_868_799), "2000-02-29T23:59:59Z");
        assert_eq!(date(4_102_444_799), "2099-12-31T23:59:59Z");
    }
}
