//! Warnings about the arguments of a job.

use inputs::argspec::{ArgSpec, ArgValue};
use inputs::bind::{bind, parameters};
use inputs::elem::{ElemType, shortened};
use inputs::kernel::KernelInfo;
use inputs::launch::NamedBuffer;
use isa::{Diagnostic, Diagnostics, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use super::job::Job;

impl Job {
    /// Returns warnings about the program and its arguments.
    pub(super) fn input_warnings(&self) -> Vec<Diagnostic> {
        let mut found = self.load_warnings.clone();
        found.extend(self.argument_warnings());
        found
    }

    /// Returns the errors of arguments that do not fit their kernels, without running anything.
    #[must_use]
    pub fn argument_errors(&self) -> Diagnostics {
        let mut found = Diagnostics::new();
        for (kernel, launch) in &self.launches {
            // Where buffers lie does not matter to what is wrong.
            let bound = bind(kernel, &launch.args, Some(launch.args_span), &mut |_, _| Ok(0));
            if let Err(errors) = bound {
                found.append(errors);
            }
        }
        found
    }

    /// Returns warnings about arguments that fit their parameters and were probably meant for
    /// others: buffers of 64-bit floats through which a kernel accesses 32-bit floats alone. Each
    /// buffer is named once for a parameter of a kernel.
    fn argument_warnings(&self) -> Vec<Diagnostic> {
        let doubles = |(_, array): &&(NamedBuffer, _)| ElemType::F64 == inputs::Array::ty(array);
        let doubles: FxHashMap<&str, &NamedBuffer> =
            self.buffers.iter().filter(doubles).map(|(b, _)| (b.name.value.as_str(), b)).collect();
        let mut found = Vec::new();
        if doubles.is_empty() {
            return found;
        }
        let mut floats: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        let mut told = FxHashSet::default();
        for (kernel, launch) in &self.launches {
            let floats = floats
                .entry(&kernel.name)
                .or_insert_with(|| self.program.float_pointers(&kernel.name));
            for (param, arg) in parameters(kernel, &launch.args) {
                let Some(buffer) = buffer_of(arg).and_then(|name| doubles.get(name)) else {
                    continue;
                };
                let name = buffer.name.value.as_str();
                if floats.contains(&param) && told.insert((kernel.name.as_str(), param, name)) {
                    found.push(doubles_as_floats(kernel, param, arg.span, buffer));
                }
            }
        }
        found
    }
}

/// Returns the name of the buffer whose address is passed.
fn buffer_of(arg: &ArgSpec) -> Option<&str> {
    match &arg.value {
        ArgValue::Reference(reference) => Some(&reference.name),
        _ => None,
    }
}

fn doubles_as_floats(
    kernel: &KernelInfo,
    param: usize,
    arg: Span,
    buffer: &NamedBuffer,
) -> Diagnostic {
    let name = shortened(&buffer.name.value);
    let param = kernel.params.get(param).map_or("", |p| p.name.as_str());
    let message = format!(
        "the buffer `{name}` of f64 is passed for {param} of {}, through which the kernel accesses \
         32-bit floats alone",
        kernel.name
    );
    let warning = Diagnostic::warning("arg::float64", message).at(arg, "64-bit floats");
    let declared = buffer.spec.span;
    let inside = arg.file == declared.file && arg.range().contains(&declared.range().start);
    let warning = if inside { warning } else { warning.also(declared, "declared here") };
    warning.help("give the buffer the type f32")
}
