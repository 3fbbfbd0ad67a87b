//! The list of machines that kernels are lowered to. A machine is one row: its settings, and the
//! function that writes its assembly.

use crate::legal::Launch;
use crate::{Refused, linx, pmask, prf};
use ir::{FuncId, LocId, VerifiedModule};
use thiserror::Error;

/// A number that changes how a kernel is lowered, never what it computes.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Its value if none is given.
    pub default: u32,
    /// Least and greatest value.
    pub range: (u32, u32),
}

/// Values of the settings of a backend, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings(Vec<(&'static str, u32)>);

/// A setting that a backend does not take.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingError {
    /// There is no such setting.
    #[error("{machine} has no setting `{name}`; it has {known}")]
    Unknown {
        /// The machine.
        machine: &'static str,
        /// The name given.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// Its value is not one.
    #[error("`{value}` is not a value of `{name}`: a number from {} to {}", range.0, range.1)]
    Value {
        /// The setting.
        name: &'static str,
        /// The value given.
        value: String,
        /// Least and greatest value.
        range: (u32, u32),
    },
}

impl Settings {
    /// The value of a setting; 0 if there is no such setting.
    #[must_use]
    pub fn get(&self, name: &str) -> u32 {
        self.0.iter().find(|setting| setting.0 == name).map_or(0, |setting| setting.1)
    }

    /// The settings that are the launch.
    fn launch(&self) -> Launch {
        let three = |names: [&str; 3]| names.map(|name| self.get(name));
        Launch {
            grid: three(["grid-x", "grid-y", "grid-z"]),
            block: three(["block-x", "block-y", "block-z"]),
            shared: self.get("shared"),
        }
    }
}

/// What is lowered, and how.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The module.
    pub module: &'a VerifiedModule,
    /// Its kernel.
    pub kernel: FuncId,
    /// Values of the backend's settings.
    pub settings: &'a Settings,
    /// The line of the program at a place, for comments of the assembly.
    pub line: &'a dyn Fn(LocId) -> Option<String>,
}

/// A kernel as a program for a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lowered {
    /// Text for the machine's assembler.
    pub text: String,
    /// Whether its one parameter is the address of the kernel's parameter block.
    pub block: bool,
    /// What it takes, by name: instructions, registers, spills.
    pub figures: Vec<(&'static str, u64)>,
}

impl Lowered {
    /// A figure; 0 if there is none of this name.
    #[must_use]
    pub fn figure(&self, name: &str) -> u64 {
        self.figures.iter().find(|figure| figure.0 == name).map_or(0, |figure| figure.1)
    }
}

/// A machine that kernels are lowered to.
#[derive(Clone, Copy)]
pub struct Backend {
    /// The machine's name, as `--isa` has it.
    pub name: &'static str,
    /// Its settings.
    pub settings: &'static [Setting],
    /// Writes a kernel's program.
    pub lower: fn(&Request<'_>) -> Result<Lowered, Refused>,
}

/// All of them.
pub const BACKENDS: &[Backend] = &[LINX, PMASK, PRF];

const fn switch(name: &'static str, about: &'static str) -> Setting {
    Setting { name, about, default: 1, range: (0, 1) }
}

const PMASK: Backend = Backend {
    name: "pmask",
    settings: &[
        GRID_X,
        GRID_Y,
        GRID_Z,
        BLOCK_X,
        BLOCK_Y,
        BLOCK_Z,
        SHARED,
        Setting {
            name: "lanes",
            about: "lanes of a warp: 1, 2, 4 or 8",
            default: 8,
            range: (1, 8),
        },
        Setting {
            name: "banks",
            about: "mask banks of the machine, the virtual one counted",
            default: 4,
            range: (2, 4),
        },
        switch("lane-forms", "whether tests write a bank lane by lane"),
        switch("fused-branches", "whether branches test a bank"),
    ],
    lower: |request| {
        let get = |name| request.settings.get(name);
        let options = pmask::Options {
            // The greatest power of two that is no more.
            lanes: 1 << get("lanes").max(1).ilog2(),
            banks: get("banks"),
            lane_forms: get("lane-forms") == 1,
            fused: get("fused-branches") == 1,
        };
        let launch = request.settings.launch();
        let made = pmask::pmask(request.module, request.kernel, options, &launch, request.line)?;
        let figures = vec![
            ("instructions", made.instructions as u64),
            ("code bytes", 4 * made.instructions as u64),
            ("lanes of a warp", options.lanes.into()),
            ("lane-wise instructions", made.lane_wise),
            ("mask moves", made.mask_moves),
            ("frame slots of a lane", made.slots.into()),
            ("spills inside of blocks", made.spills),
            ("bytes of a warp's frame", made.frame.into()),
            ("saved masks", made.masks as u64),
        ];
        Ok(Lowered { text: made.text(), block: false, figures })
    },
};

const fn size(name: &'static str, about: &'static str) -> Setting {
    Setting { name, about, default: 1, range: (1, u32::MAX) }
}

// The launch, for machines whose programs have its sizes.
const GRID_X: Setting = size("grid-x", "CTAs of the launch in x");
const GRID_Y: Setting = size("grid-y", "CTAs of the launch in y");
const GRID_Z: Setting = size("grid-z", "CTAs of the launch in z");
const BLOCK_X: Setting = Setting { default: 64, ..size("block-x", "threads of a CTA in x") };
const BLOCK_Y: Setting = size("block-y", "threads of a CTA in y");
const BLOCK_Z: Setting = size("block-z", "threads of a CTA in z");
const SHARED: Setting = Setting {
    name: "shared",
    about: "bytes of dynamic shared memory",
    default: 0,
    range: (0, 1 << 20),
};

const LINX: Backend = Backend {
    name: "linx",
    settings: &[GRID_X, GRID_Y, GRID_Z, BLOCK_X, BLOCK_Y, BLOCK_Z, SHARED],
    lower: |request| {
        let launch = request.settings.launch();
        let made = linx::linx(request.module, request.kernel, launch, request.line)?;
        let figures = vec![
            ("instructions", made.instructions as u64),
            ("code bytes", made.bytes),
            ("masks", made.masks.into()),
            ("values in the frame", made.slots.into()),
            ("stores to the frame", made.stores.into()),
            ("loads from the frame", made.reloads.into()),
        ];
        Ok(Lowered { text: made.text, block: made.block, figures })
    },
};

const PRF: Backend = Backend {
    name: "prf",
    settings: &[
        GRID_X,
        GRID_Y,
        GRID_Z,
        BLOCK_X,
        BLOCK_Y,
        BLOCK_Z,
        SHARED,
        Setting {
            name: "predicates",
            about: "predicate registers of a warp, the one of all lanes counted",
            default: 16,
            range: (3, prf::PREDICATES),
        },
    ],
    lower: |request| {
        let predicates = request.settings.get("predicates");
        let launch = request.settings.launch();
        let Request { module, kernel, line, .. } = *request;
        let (made, about) = prf::prf_for(module, kernel, predicates, &launch, line)?;
        let figures = vec![
            ("instructions", made.instructions as u64),
            ("general registers", made.registers.into()),
            ("registers spilled", made.spilled.into()),
            ("words of a lane in memory", made.words.into()),
            ("predicate registers", about.registers.into()),
            ("predicates spilled", about.spilled.into()),
        ];
        Ok(Lowered { text: made.text, block: false, figures })
    },
};

impl Backend {
    /// The backend of a machine.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        BACKENDS.iter().find(|backend| backend.name == name)
    }

    /// The settings with some values changed.
    ///
    /// # Errors
    /// [`SettingError`]: a name or value that it does not take.
    pub fn settings(&self, given: &[(String, String)]) -> Result<Settings, SettingError> {
        let defaults = self.settings.iter().map(|setting| (setting.name, setting.default));
        let mut settings = Settings(defaults.collect());
        for (name, value) in given {
            let found = self.settings.iter().zip(&mut settings.0).find(|s| s.0.name == *name);
            let Some((setting, place)) = found else {
                let known: Vec<&str> = self.settings.iter().map(|s| s.name).collect();
                let (machine, known) = (self.name, known.join(", "));
                return Err(SettingError::Unknown { machine, name: name.clone(), known });
            };
            let (low, high) = setting.range;
            let number = value.parse().ok().filter(|n| (low..=high).contains(n));
            place.1 = number.ok_or_else(|| SettingError::Value {
                name: setting.name,
                value: value.clone(),
                range: setting.range,
            })?;
        }
        Ok(settings)
    }
}
