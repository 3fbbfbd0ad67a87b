//! The prerequisites of a run: the libraries, and a folder in which the program finds them.

use std::collections::hash_map::RandomState;
use std::fs::{DirBuilder, File};
use std::hash::{BuildHasher as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};

use object::read::{Object as _, ObjectSymbol as _, ReadCache};

use super::nvidia;
use crate::args::Exec;

/// File name of the driver library, and the names by which programs load it.
const DRIVER: (&str, [&str; 2]) = ("libcuda.so", ["libcuda.so.1", "libcuda.so"]);

/// The runtime libraries, which are optional: `crates/cudart/link.sh` builds them.
const RUNTIMES: [&str; 2] = ["libcudart.so.12", "libcudart.so.13"];

/// The mathematics libraries, which are optional: `crates/culibs/link.sh` builds them.
const MATHEMATICS: [&str; 10] = [
    "libcublas.so.12",
    "libcublas.so.13",
    "libcublasLt.so.12",
    "libcublasLt.so.13",
    "libcurand.so.10",
    "libcufft.so.11",
    "libcufft.so.12",
    "libcusparse.so.12",
    "libcusolver.so.11",
    "libcusolver.so.12",
];

/// The libraries of management and profiling, which are optional, too: `crates/culibs/link.sh`
/// makes them.
const TOOLS: [&str; 3] = ["libnvidia-ml.so.1", "libcupti.so.12", "libcupti.so.13"];

/// The library that profilers load by a name without a version, and that name.
const PROFILER: (&str, &str) = ("libcupti.so.13", "libcupti.so");

/// The libraries in front of NVRTC, and the PTX compiler, which are optional, too.
const COMPILERS: [&str; 4] =
    ["libnvrtc.so.12", "libnvrtc.so.13", "libnvptxcompiler.so.12", "libnvptxcompiler.so.13"];

/// The libraries in front of nvJitLink, which are optional, too, and where others find them than
/// programs that would find NVIDIA's.
const LINKERS: ([&str; 2], &str) = (["libnvJitLink.so.12", "libnvJitLink.so.13"], "in_front");

/// A function that only this project's driver library exports.
const MARKER_SYMBOL: &str = "simtlab_unsupported";

/// The location of the libraries.
pub(super) struct Libraries {
    folder: PathBuf,
}

impl Libraries {
    /// Finds the folder with this project's driver library. Other libraries of that name are never
    /// used.
    pub(super) fn find(args: &Exec, this: &Path) -> Result<Self, String> {
        let mut places: Vec<PathBuf> = args.libraries.iter().cloned().collect();
        if places.is_empty() {
            places.extend(std::env::var_os("SIMTLAB_LIBRARIES").map(PathBuf::from));
            let beside = this.parent().unwrap_or(Path::new("."));
            places.push(beside.to_owned());
            places.push(beside.join("deps"));
            places.push(beside.join("../lib/simtlab"));
            places.push(beside.join("../lib"));
        }
        let mut others = Vec::new();
        for place in &places {
            let library = place.join(DRIVER.0);
            if !library.is_file() {
                continue;
            }
            if is_ours(&library) {
                let folder = place.canonicalize();
                let folder = folder.map_err(|e| format!("{}: {e}", place.display()))?;
                return Ok(Self { folder });
            }
            others.push(format!("; {} is another driver, which is not taken", library.display()));
        }
        let places: Vec<String> = places.iter().map(|p| p.display().to_string()).collect();
        Err(format!(
            "{} is in none of {}: build it with `cargo build -p simtlab-cuda`, or say with --libraries \
            where it is{}",
            DRIVER.0,
            places.join(", "),
            others.concat()
        ))
    }

    /// Returns the folder of the libraries.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the names of the runtime libraries that have not been built.
    pub(super) fn missing_runtimes(&self) -> Vec<&'static str> {
        RUNTIMES.into_iter().filter(|name| !self.folder.join(name).is_file()).collect()
    }
}

/// Returns whether a library is this project's driver, by a function that no other exports.
fn is_ours(library: &Path) -> bool {
    let Ok(file) = File::open(library) else { return false };
    let cache = ReadCache::new(file);
    let Ok(object) = object::File::parse(&cache) else { return false };
    let mut symbols = object.dynamic_symbols();
    symbols.any(|symbol| symbol.is_definition() && symbol.name() == Ok(MARKER_SYMBOL))
}

/// A temporary folder, removed on drop.
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Creates a folder that only this user can enter, with an unpredictable name.
    pub(super) fn new() -> io::Result<Self> {
        let base = std::env::temp_dir();
        let mut last = io::Error::other("no name is free");
        for _ in 0..100 {
            let path = base.join(format!("simtlab-exec-{:016x}{:016x}", random(), random()));
            let mut builder = DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            // An existing entry is an error, even if it is a link.
            match builder.create(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the event log, which the program's processes write.
    pub(super) fn journal(&self) -> PathBuf {
        self.path.join("journal")
    }

    /// Returns the folder of modules that Python programs find first.
    pub(super) fn python(&self) -> PathBuf {
        self.path.join("python")
    }

    /// Returns the runtime libraries in the folder.
    pub(super) fn runtimes(&self) -> impl Iterator<Item = PathBuf> {
        RUNTIMES.into_iter().map(|name| self.path.join(name)).filter(|path| path.exists())
    }

    /// Returns whether there is a library for profilers.
    pub(super) fn has_profiler(&self) -> bool {
        self.path.join(PROFILER.1).exists()
    }

    /// Returns the path of the substitute for `ptxas`.
    pub(super) fn ptxas(&self) -> PathBuf {
        self.path.join("ptxas")
    }

    /// Links the libraries into the folder and writes the substitute for `ptxas`.
    pub(super) fn fill(
        &self,
        libraries: &Libraries,
        this: &Path,
        program: &Path,
    ) -> Result<(), String> {
        for name in DRIVER.1 {
            link(&libraries.folder.join(DRIVER.0), &self.path.join(name))?;
        }
        let profiler = libraries.folder.join(PROFILER.0);
        if profiler.is_file() {
            link(&profiler, &self.path.join(PROFILER.1))?;
        }
        for name in RUNTIMES.into_iter().chain(MATHEMATICS).chain(TOOLS).chain(COMPILERS) {
            let library = libraries.folder.join(name);
            if library.is_file() {
                link(&library, &self.path.join(name))?;
            }
        }
        self.fill_linkers(libraries, program)?;
        let python = self.python();
        super::hook::write(&python).map_err(|e| format!("{}: {e}", python.display()))?;
        write_ptxas(&self.ptxas(), this)
    }

    /// Links the libraries in front of nvJitLink where the program finds them if it would find
    /// NVIDIA's, and where the modules for Python do.
    fn fill_linkers(&self, libraries: &Libraries, program: &Path) -> Result<(), String> {
        let (names, below) = LINKERS;
        let others = self.path.join(below);
        std::fs::create_dir(&others).map_err(|e| format!("{}: {e}", others.display()))?;
        for name in names {
            let library = libraries.folder.join(name);
            if !library.is_file() {
                continue;
            }
            link(&library, &others.join(name))?;
            if nvidia::is_expected(name, program) {
                link(&library, &self.path.join(name))?;
            }
        }
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If the removal fails, the folder is left to the system's cleanup.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Returns an unpredictable number: hash maps are keyed with randomness of the operating system.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(unix)]
fn link(to: &Path, from: &Path) -> Result<(), String> {
    std::os::unix::fs::symlink(to, from).map_err(|e| format!("{}: {e}", from.display()))
}

#[cfg(not(unix))]
fn link(to: &Path, from: &Path) -> Result<(), String> {
    std::fs::copy(to, from).map(drop).map_err(|e| format!("{}: {e}", from.display()))
}

/// Writes a script that calls this program as `ptxas`.
fn write_ptxas(path: &Path, this: &Path) -> Result<(), String> {
    let quoted = this.display().to_string().replace('\'', r"'\''");
    let script = format!("#!/bin/sh\nexec '{quoted}' ptxas \"$@\"\n");
    let failed = |e: io::Error| format!("{}: {e}", path.display());
    std::fs::write(path, script).map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(())
}
