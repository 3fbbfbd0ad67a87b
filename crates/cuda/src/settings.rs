//! The driver's settings, from environment variables.

use runtime::device::{Capability, Device};
use runtime::{Asynchrony, CheckSet, Choice, Faults, Level, MAX_DEVICES, MatrixSums};
use std::path::PathBuf;

use crate::visible::visible;

/// The driver's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The compute capability of devices (`SIMTLAB_COMPUTE_CAPABILITY`, such as `8.0`).
    pub(crate) capability: (i32, i32),
    /// The number of devices (`SIMTLAB_DEVICES`, 1 to 16).
    pub(crate) devices: i32,
    /// Those that the program sees, in its order (`CUDA_VISIBLE_DEVICES`).
    pub(crate) visible: Vec<i32>,
    /// Bytes of memory of each device (`SIMTLAB_DEVICE_MEMORY`).
    pub(crate) memory: u64,
    /// The multiple to which sizes of device memory are rounded up (`SIMTLAB_PADDING`): 1, or 512
    /// as on hardware, where accesses slightly out of bounds go unnoticed.
    pub(crate) padding: u64,
    /// The API version that the driver reports (`SIMTLAB_CUDA_VERSION`, such as `12.9`), in CUDA's
    /// form: 12090.
    pub(crate) version: i32,
    /// Issues of a block after which a launch counts as a hang (`SIMTLAB_LIMIT`).
    pub(crate) limit: u64,
    /// The engine that runs launches (`SIMTLAB_ENGINE`: `fast`, `interpreted`, `exact`, `both`).
    pub(crate) engine: Choice,
    /// The highest level of vector instructions that launches use (`SIMTLAB_SIMD`: `portable`,
    /// `avx2`, `avx512`).
    pub(crate) level: Option<Level>,
    /// Host threads per launch (`SIMTLAB_JOBS`); 0 for as many as the host has.
    pub(crate) threads: usize,
    /// The checks of launches (`SIMTLAB_CHECK`, such as `race,sync` or `all`).
    pub(crate) checks: CheckSet,
    /// When steps of asynchronous operations are done (`SIMTLAB_ASYNC`: `early`, `late`,
    /// `random:SEED`); `None` for what the checks ask for.
    pub(crate) asynchrony: Option<Asynchrony>,
    /// How products of matrices of floats are added (`SIMTLAB_MATRIX_SUMS`: `device`, `exact`,
    /// `f32`).
    pub(crate) matrix_sums: MatrixSums,
    /// What faults of kernels do (`SIMTLAB_FAULTS`: `stop`, `warn`, `launch`).
    pub(crate) faults: Faults,
    /// The file that receives events (`SIMTLAB_JOURNAL`).
    pub(crate) event_log: Option<PathBuf>,
    /// The folder in which this process listens for a debugger (`SIMTLAB_DEBUG`), and where
    /// launches are first shown to it (`SIMTLAB_DEBUG_AT`: `fault`, `hang` or a location).
    pub(crate) debugger: Option<(PathBuf, Option<String>)>,
    /// Whether a launch that waits for the host hangs, rather than goes on when memory has changed
    /// (`SIMTLAB_SYNC=1`).
    pub(crate) synchronous: bool,
    /// Whether each call is printed to the standard error stream (`SIMTLAB_TRACE=1`).
    pub(crate) trace: bool,
}

/// The default size of device memory, in bytes: that of the smaller A100, a device of compute
/// capability 8.0. Programs expect such sizes, and memory that is never written takes no host
/// memory.
const DEVICE_MEMORY: u64 = 40 << 30;

/// The largest multiple to which sizes are rounded up.
const MOST_PADDING: u64 = 1 << 20;

impl Settings {
    /// Returns the compute capability of devices.
    pub(crate) fn capability(&self) -> Capability {
        let (major, minor) = self.capability;
        Capability { major: major.unsigned_abs(), minor: minor.unsigned_abs() }
    }

    /// Returns the limits of such a device.
    pub(crate) fn device(&self) -> &'static Device {
        Device::of(self.capability())
    }

    /// Returns the device of the machine that the program knows by a number.
    pub(crate) fn of_machine(&self, device: i32) -> i32 {
        let index = usize::try_from(device).ok();
        index.and_then(|index| self.visible.get(index)).copied().unwrap_or(device)
    }

    /// Reads the settings from variables. A value that cannot be parsed counts as unset.
    pub(crate) fn new(variable: impl Fn(&str) -> Option<String>) -> Self {
        let number = |name: &str| variable(name)?.trim().parse::<u64>().ok();
        let usual = runtime::Settings::default();
        let devices = number("SIMTLAB_DEVICES");
        let devices = devices.map_or(1, |n| n.clamp(1, MAX_DEVICES as u64) as i32);
        Self {
            capability: variable("SIMTLAB_COMPUTE_CAPABILITY")
                .and_then(|text| dotted(&text))
                .unwrap_or((8, 0)),
            devices,
            visible: visible(variable("CUDA_VISIBLE_DEVICES").as_deref(), devices),
            memory: number("SIMTLAB_DEVICE_MEMORY").unwrap_or(DEVICE_MEMORY),
            padding: number("SIMTLAB_PADDING").map_or(1, |n| n.clamp(1, MOST_PADDING)),
            version: variable("SIMTLAB_CUDA_VERSION")
                .and_then(|text| dotted(&text))
                .map_or(12090, |(major, minor)| major * 1000 + minor * 10),
            limit: number("SIMTLAB_LIMIT").unwrap_or(usual.limit),
            engine: variable("SIMTLAB_ENGINE")
                .and_then(|name| Choice::find(name.trim()))
                .unwrap_or_default(),
            level: variable("SIMTLAB_SIMD").and_then(|name| Level::find(name.trim())),
            threads: runtime::host_threads(&variable),
            checks: variable("SIMTLAB_CHECK")
                .and_then(|names| CheckSet::parse(&names).ok())
                .unwrap_or_default(),
            asynchrony: variable("SIMTLAB_ASYNC").and_then(|order| order.trim().parse().ok()),
            matrix_sums: variable("SIMTLAB_MATRIX_SUMS")
                .and_then(|rule| rule.trim().parse().ok())
                .unwrap_or_default(),
            faults: variable("SIMTLAB_FAULTS")
                .and_then(|name| Faults::find(name.trim()))
                .unwrap_or_default(),
            event_log: variable("SIMTLAB_JOURNAL").map(PathBuf::from),
            debugger: variable("SIMTLAB_DEBUG")
                .map(|folder| (PathBuf::from(folder), variable("SIMTLAB_DEBUG_AT"))),
            synchronous: variable("SIMTLAB_SYNC").is_some_and(|v| v == "1"),
            trace: variable("SIMTLAB_TRACE").is_some_and(|v| v == "1"),
        }
    }
}

/// Parses `8.0` as (8, 0).
fn dotted(text: &str) -> Option<(i32, i32)> {
    let Capability { major, minor } = text.parse().ok()?;
    Some((i32::try_from(major).ok()?, i32::try_from(minor).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_variables_are_ignored() {
        let usual = Settings::new(|_| None);
        assert_eq!((usual.capability, usual.devices, usual.version), ((8, 0), 1, 12090));
        let given = Settings::new(|name| {
            let value = match name {
                "SIMTLAB_COMPUTE_CAPABILITY" => "7.5",
                "SIMTLAB_DEVICES" => "4",
                "SIMTLAB_CUDA_VERSION" => "13.0",
                "SIMTLAB_DEVICE_MEMORY" => "65536",
                "SIMTLAB_LIMIT" => "many",
                "SIMTLAB_JOBS" => " 3",
                "SIMTLAB_PADDING" => "512",
                "SIMTLAB_ENGINE" => "both",
                "SIMTLAB_CHECK" => "race",
                "SIMTLAB_FAULTS" => "launch",
                "SIMTLAB_ASYNC" => "random:7",
                "SIMTLAB_MATRIX_SUMS" => "f32",
                _ => return None,
            };
            Some(value.to_owned())
        });
        assert_eq!((given.capability, given.devices, given.version), ((7, 5), 4, 13000));
        assert_eq!((given.memory, given.limit), (65536, usual.limit));
        assert_eq!((given.threads, usual.threads), (3, 0));
        assert_eq!((given.engine, usual.engine), (Choice::Both, Choice::Fast));
        assert!(given.checks.observes() && !usual.checks.observes());
        assert_eq!((given.padding, usual.padding), (512, 1));
        assert_eq!((given.faults, usual.faults), (Faults::Launch, Faults::Stop));
        assert_eq!((given.matrix_sums, usual.matrix_sums), (MatrixSums::F32, MatrixSums::Device));
        assert_eq!(given.asynchrony, Some(Asynchrony::Random(7)));
        assert_eq!(usual.asynchrony, None);
        assert_eq!(Settings::new(|_| Some("-1.x".to_owned())).capability, (8, 0));
    }
}
