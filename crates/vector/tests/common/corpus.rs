//! The PTX in this repository, decoded for the fast engine.

use converge::catalogue::Entry;
use simt::machine::Machine;
use std::path::{Path, PathBuf};
use vm::{Engine, Launch, Program, catalogued, load_variables};

/// Returns the repository's folder.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Collects the PTX files of a folder and its subfolders.
pub(crate) fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            found.push(path);
        }
    }
}

/// Calls a function for each kernel of a text that the fast engine runs.
pub(crate) fn kernels(text: &str, block: [u32; 3], to: &mut dyn FnMut(&str, fast::Kernel)) {
    let (tree, _) = ptx::parse(isa::FileId::default(), text);
    let (module, _) = ptx::lower(&tree, ptx::Select::All);
    let Some(program) = module.and_then(|m| Program::link(m).ok()) else { return };
    let entry = Entry::find("ipdom").expect("it is in the catalogue");
    for (index, function) in program.module().functions.iter().enumerate() {
        let mut launch = Launch::new(ir::FuncId(index as u32), catalogued(entry));
        let Ok(variables) = load_variables(&program, &mut launch.memory) else { continue };
        launch.variables = variables;
        launch.block = block;
        let size = function.params().iter().map(|p| p.offset + p.size).max().unwrap_or(0);
        launch.params = vec![0; size as usize];
        let Ok(state) = Engine::<1>.launch(&program, launch) else { continue };
        let Ok(kernel) = fast::prepare(&program, &state, true) else { continue };
        to(&function.name, kernel);
    }
}
