//! What a device is asked to run, as data that a worker process reads.

use std::path::PathBuf;

use inputs::Array;
use inputs::bind::Pointer;
use inputs::file::{MAX_PROGRAM_BYTES, read_input};
use inputs::launch::OptionValue;
use isa::{Diagnostic, Diagnostics};
use lab::run::{BoundLaunch, Job};
use serde::{Deserialize, Serialize};

use crate::bundle::{self, BundleError, FileKind};
use crate::hash::Hash;
use crate::record::ArrayIndex;

/// Which device, through which library.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The driver library's file; the one that the system finds if none.
    pub library: Option<PathBuf>,
    /// Whether Simtlab's own library may be used.
    pub allow_simulated: bool,
    /// The device's number.
    pub ordinal: i32,
}

/// One run: a program, buffers, launches in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// What it is, as the user named it.
    pub target: String,
    /// The program's text.
    pub text: String,
    /// Buffers before the first launch.
    pub buffers: Vec<(String, Array)>,
    /// The launches.
    pub orders: Vec<BoundLaunch>,
}

impl Run {
    /// The run of a job.
    ///
    /// # Errors
    /// If it is for another machine than PTX, for warps that no device has, or takes tensor maps.
    pub fn of(target: &str, job: &Job) -> Result<Self, Diagnostics> {
        let one = |finding: Diagnostic| {
            let mut found = Diagnostics::new();
            found.push(finding);
            found
        };
        if job.machine().name != "ptx" {
            let message = format!("a device runs PTX, the program is for {}", job.machine().name);
            return Err(one(Diagnostic::error("device::machine", message)));
        }
        let is_32 = |value: &OptionValue| match value {
            OptionValue::Integer(n) => *n == 32,
            OptionValue::String(text) => text == "32",
            _ => false,
        };
        if job.options().any(|o| o.key.value == "warp" && !is_32(&o.value.value)) {
            let message = "every device has warps of 32 threads";
            let finding = Diagnostic::error("device::warp", message);
            return Err(one(finding.help("leave the option `warp` away")));
        }
        if let Some(place) = job.tensor_map() {
            let message = "tensor maps of launch files have the form of the virtual device";
            let finding = Diagnostic::error("device::tensormap", message).at(place, "");
            return Err(one(finding.help("let the program of the host encode the map")));
        }
        let bytes = read_input(job.module_path(), MAX_PROGRAM_BYTES, None).map_err(one)?;
        let text = String::from_utf8(bytes)
            .map_err(|_| one(Diagnostic::error("input::not-text", "the program is not text")))?;
        let buffers = job.inputs().map(|(name, array)| (name.to_owned(), array.clone())).collect();
        Ok(Self { target: target.to_owned(), text, buffers, orders: job.bound_launches()? })
    }

    /// Hash of the program's text.
    #[must_use]
    pub fn text_hash(&self) -> String {
        let mut hash = Hash::new();
        hash.add(self.text.as_bytes());
        hash.text()
    }

    /// Hash of buffers and launches: what results depend on beside the text.
    #[must_use]
    pub fn inputs_hash(&self) -> String {
        let mut hash = Hash::new();
        for (name, array) in &self.buffers {
            hash.add(format!("{name}={};", array.describe()).as_bytes());
            hash.add(array.data());
        }
        for order in &self.orders {
            let BoundLaunch { kernel, grid, block, shared, params, pointers } = order;
            let words = format!("{kernel} {grid:?} {block:?} {shared} {pointers:?};");
            hash.add(words.as_bytes());
            hash.add(params);
        }
        hash.text()
    }
}

/// What a worker is to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// On what.
    pub choice: Choice,
    /// The runs, in order.
    pub runs: Vec<Run>,
}

#[derive(Serialize, Deserialize)]
struct RequestIndex {
    choice: Choice,
    runs: Vec<RunIndex>,
}

#[derive(Serialize, Deserialize)]
struct RunIndex {
    target: String,
    text: String,
    buffers: Vec<ArrayIndex>,
    orders: Vec<OrderIndex>,
}

#[derive(Serialize, Deserialize)]
struct OrderIndex {
    kernel: String,
    grid: [u64; 3],
    block: [u64; 3],
    shared: u64,
    params: Vec<u8>,
    pointers: Vec<(u64, String)>,
}

impl OrderIndex {
    fn new(order: &BoundLaunch) -> Self {
        let BoundLaunch { kernel, grid, block, shared, params, pointers } = order.clone();
        let pointers = pointers.into_iter().map(|p| (p.offset, p.buffer)).collect();
        Self { kernel, grid, block, shared, params, pointers }
    }

    fn order(self) -> BoundLaunch {
        let Self { kernel, grid, block, shared, params, pointers } = self;
        let pointers =
            pointers.into_iter().map(|(offset, buffer)| Pointer { offset, buffer }).collect();
        BoundLaunch { kernel, grid, block, shared, params, pointers }
    }
}

impl Request {
    /// The request as bytes.
    ///
    /// # Errors
    /// If the index cannot be written.
    pub fn to_bytes(&self) -> Result<Vec<u8>, BundleError> {
        let run = |run: &Run| RunIndex {
            target: run.target.clone(),
            text: run.text.clone(),
            buffers: run.buffers.iter().map(|(name, a)| ArrayIndex::new(name, a)).collect(),
            orders: run.orders.iter().map(OrderIndex::new).collect(),
        };
        let runs = self.runs.iter().map(run).collect();
        let index = RequestIndex { choice: self.choice.clone(), runs };
        let buffers = self.runs.iter().flat_map(|run| &run.buffers);
        let blocks: Vec<&[u8]> = buffers.map(|(_, array)| array.data()).collect();
        bundle::write(FileKind::Request, &index, &blocks)
    }

    /// A request of bytes.
    ///
    /// # Errors
    /// If they are none of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BundleError> {
        let (index, blocks): (RequestIndex, _) = bundle::read(FileKind::Request, bytes)?;
        let mut blocks = blocks.into_iter();
        let mut runs = Vec::with_capacity(index.runs.len());
        for run in index.runs {
            let buffers = run.buffers.into_iter().map(|b| b.array(blocks.next()));
            let buffers = buffers.collect::<Result<_, _>>()?;
            let orders = run.orders.into_iter().map(OrderIndex::order).collect();
            runs.push(Run { target: run.target, text: run.text, buffers, orders });
        }
        Ok(Self { choice: index.choice, runs })
    }
}
