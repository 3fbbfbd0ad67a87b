//! Links lowered files into one module, as `nvlink` links relocatable objects.
//!
//! A name that a file declares as external refers to another file's definition. There is one
//! definition of a name that is `.visible`; it is taken before those that are `.weak` or `.common`.
//! Of weak definitions the first is taken, of common ones the largest. Local names stay local to
//! their file, and are renamed if another file has them. Files of libraries take part only if they
//! define what is undefined without them.
//!
//! Errors are those of `nvlink`, in its words (observed of version 13.5).

mod merge;
mod resolve;

use rustc_hash::FxHashSet;
use thiserror::Error;

use crate::lower::{Binding, Object};

/// A file to link.
#[derive(Clone, Copy, Debug)]
pub struct LinkInput<'o> {
    /// Its name, for errors.
    pub name: &'o str,
    /// What it was lowered to.
    pub object: &'o Object,
}

/// Why files cannot be linked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LinkError {
    /// A name is used that no file defines.
    #[error("Undefined reference to '{name}' in '{file}'")]
    Undefined {
        /// The name.
        name: String,
        /// The first file that uses it.
        file: String,
    },
    /// Two files define a name, and neither gives way.
    #[error("Multiple definition of '{name}' in '{file}', first defined in '{first}'")]
    Multiple {
        /// The name.
        name: String,
        /// The second file.
        file: String,
        /// The first file.
        first: String,
    },
    /// Two files give a variable different sizes.
    #[error("Size doesn't match for '{name}' in '{file}', first specified in '{first}'")]
    Size {
        /// The name.
        name: String,
        /// The second file.
        file: String,
        /// The first file.
        first: String,
    },
    /// Two files put a variable into different state spaces.
    #[error("Memory space doesn't match for '{name}' in '{file}', first specified in '{first}'")]
    Space {
        /// The name.
        name: String,
        /// The second file.
        file: String,
        /// The first file.
        first: String,
    },
    /// A function takes other parameters than a file declares.
    #[error("Prototype doesn't match for '{name}' in '{file}', first defined in '{first}'")]
    Prototype {
        /// The name.
        name: String,
        /// The file that declares it.
        file: String,
        /// The file that defines it.
        first: String,
    },
}

/// Links files, and those of `libraries` that they need.
///
/// # Errors
/// Returns all errors, in the order of the files.
pub fn link(
    inputs: &[LinkInput<'_>],
    libraries: &[LinkInput<'_>],
) -> Result<ir::Module, Vec<LinkError>> {
    let mut inputs = inputs.to_vec();
    add_needed(&mut inputs, libraries);
    let resolved = resolve::resolve(&inputs)?;
    Ok(merge::merge(&inputs, &resolved))
}

/// Returns whether files refer to names that none of them defines.
#[must_use]
pub fn has_undefined(inputs: &[LinkInput<'_>]) -> bool {
    !undefined(inputs).is_empty()
}

/// The names of an object with their bindings.
fn names(object: &Object) -> impl Iterator<Item = (&str, Binding)> {
    let functions = object.module.functions.iter().map(|f| f.name.as_str());
    let vars = object.module.vars.iter().map(|v| v.name.as_str());
    let functions = functions.zip(object.functions.iter().copied());
    functions.chain(vars.zip(object.vars.iter().copied()))
}

/// Returns whether a file gives others a definition of this binding.
fn is_shared(binding: Binding) -> bool {
    matches!(binding, Binding::Strong | Binding::Weak | Binding::Common)
}

fn undefined<'o>(inputs: &[LinkInput<'o>]) -> FxHashSet<&'o str> {
    let all = || inputs.iter().flat_map(|input| names(input.object));
    let defined: FxHashSet<&str> = all().filter(|n| is_shared(n.1)).map(|n| n.0).collect();
    let used = all().filter(|n| n.1 == Binding::Undefined).map(|n| n.0);
    used.filter(|name| !defined.contains(name)).collect()
}

/// Adds files of libraries until none defines what is undefined.
fn add_needed<'o>(inputs: &mut Vec<LinkInput<'o>>, libraries: &[LinkInput<'o>]) {
    let mut left = libraries.to_vec();
    loop {
        let undefined = undefined(inputs);
        let needed = left.iter().position(|library| {
            names(library.object).any(|(name, b)| is_shared(b) && undefined.contains(name))
        });
        let Some(index) = needed else { return };
        inputs.push(left.remove(index));
    }
}
