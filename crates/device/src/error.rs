//! What keeps a device from running anything.

use serde::{Deserialize, Serialize};

/// Why a device cannot be used, or cannot run a program. Workers send it to the process that
/// started them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum DeviceError {
    /// No driver library.
    #[error("the driver library {path} cannot be opened: {reason}")]
    Library {
        /// The name or path that was tried.
        path: String,
        /// What the dynamic linker says.
        reason: String,
    },
    /// The library is our own.
    #[error("{path} is Simtlab's own driver library, not a device")]
    Simulated {
        /// Its file.
        path: String,
    },
    /// A function that every driver of the last ten years has.
    #[error("{path} has no function `{function}`: it is not a driver, or one that is too old")]
    Function {
        /// The library's file.
        path: String,
        /// The function.
        function: String,
    },
    /// The driver is there, a device is not.
    #[error("the driver finds no device{}", of_those(*.ordinal, *.count))]
    NoDevice {
        /// The device asked for.
        ordinal: i32,
        /// How many there are.
        count: i32,
    },
    /// A call failed.
    #[error("{call} failed: {name} ({code}), {about}")]
    Call {
        /// The driver's function.
        call: String,
        /// The result.
        code: i32,
        /// Its name.
        name: String,
        /// The driver's description of it.
        about: String,
    },
    /// The device has no room.
    #[error(
        "the device has no room for {needed} bytes: {free} of {total} are free, and other \
         processes may hold the rest"
    )]
    Memory {
        /// Bytes asked for.
        needed: u64,
        /// Bytes free.
        free: u64,
        /// Bytes in all.
        total: u64,
    },
    /// The driver is older than the program's PTX.
    #[error("the program has PTX {text}, the driver supports CUDA {driver}{}", most_ptx(.most))]
    PtxVersion {
        /// The program's version.
        text: String,
        /// The driver's CUDA version.
        driver: String,
        /// The newest PTX version that this CUDA version compiles, where it is known.
        most: Option<String>,
    },
    /// The driver's compiler refuses the program.
    #[error("the driver does not compile the program: {name} ({code})\n{log}")]
    Compile {
        /// The result.
        code: i32,
        /// Its name.
        name: String,
        /// What the compiler says.
        log: String,
    },
    /// The request does not fit the driver's interface.
    #[error("{0}")]
    Request(String),
    /// The worker process failed.
    #[error("the process that uses the device {0}")]
    Worker(String),
}

fn of_those(ordinal: i32, count: i32) -> String {
    if count > 0 { format!(" {ordinal}: there are {count}") } else { String::new() }
}

fn most_ptx(most: &Option<String>) -> String {
    most.as_ref().map_or_else(String::new, |most| format!(", which compiles PTX up to {most}"))
}

impl DeviceError {
    /// A way out.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Library { .. } => {
                "install NVIDIA's driver, or name its library with --library PATH"
            }
            Self::Simulated { .. } => {
                "name NVIDIA's library with --library PATH; --allow-simulated takes ours, for tests"
            }
            Self::Function { .. } => "update the driver",
            Self::NoDevice { .. } => "see `nvidia-smi -L`; --device N chooses another one",
            Self::Memory { .. } => {
                "end the processes that `nvidia-smi` lists, or choose another device"
            }
            Self::PtxVersion { .. } => {
                "update the driver, or compile the program for an older PTX version"
            }
            Self::Compile { .. } => "`simtlab check` tells what Simtlab makes of the program",
            Self::Call { .. } | Self::Request(_) | Self::Worker(_) => "see docs/device.md",
        }
    }

    /// Whether nothing else can run on the device either.
    #[must_use]
    pub fn concerns_device(&self) -> bool {
        !matches!(
            self,
            Self::PtxVersion { .. } | Self::Compile { .. } | Self::Memory { .. } | Self::Request(_)
        )
    }
}
