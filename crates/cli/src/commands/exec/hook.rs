//! The modules of the Python package that Python programs find first: they prepare frameworks for
//! the virtual device when these are imported.
//!
//! They are embedded, so that `exec` works for programs of any Python environment.

use std::io;
use std::path::Path;

/// Declares the files from the folder of the package's sources.
macro_rules! files {
    ($($name:literal)*) => {
        const FILES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../../python/python/", $name)))),*];
    };
}

files! {
    "simtlab_clients/__init__.py"
    "simtlab_clients/cupy_hook.py"
    "simtlab_clients/driver.py"
    "simtlab_clients/hook.py"
    "simtlab_clients/journal.py"
    "simtlab_clients/packages.py"
    "simtlab_clients/pytest_plugin.py"
    "simtlab_clients/sitecustomize.py"
    "simtlab_clients/torch_backend/__init__.py"
    "simtlab_clients/torch_backend/capture.py"
    "simtlab_clients/torch_backend/determinism.py"
    "simtlab_clients/torch_backend/ledger.py"
    "simtlab_clients/torch_backend/operators.py"
    "simtlab_clients/torch_backend/randomness.py"
    "simtlab_clients/torch_backend/routes.py"
    "simtlab_clients/torch_backend/scratch.py"
    "simtlab_clients/torch_backend/views.py"
    "simtlab_clients/triton_hook.py"
}

/// The module that Python imports at its start, if it is on its path; it is written beside the
/// package.
const START: &str = "sitecustomize.py";

/// Writes the modules into a folder, which is to be the first of Python's path.
pub(super) fn write(folder: &Path) -> io::Result<()> {
    for (name, text) in FILES {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&path, text)?;
        if path.ends_with(START) {
            std::fs::write(folder.join(START), text)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::FILES;
    use std::path::Path;

    #[test]
    fn no_module_is_left_out() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/python");
        let mut found = Vec::new();
        let mut folders = vec![root.join("simtlab_clients")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|e| e == "py") {
                    let name = path.strip_prefix(&root).unwrap();
                    found.push(name.to_str().unwrap().to_owned());
                }
            }
        }
        found.sort();
        let known: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        assert_eq!(found, known);
    }
}
