//! CUDA's device runtime: functions that kernels may call, as PTX. Its texts are linked with those
//! that call them.

use isa::SourceMap;
use ptx::link::LinkInput;
use ptx::{Object, Select};

use crate::module::{LoadError, findings};

/// The texts, by name: launches of kernels, the same by older names, barriers of a grid, conditions
/// of graphs.
const TEXTS: [(&str, &str); 4] = [
    ("device_launches.ptx", include_str!("device/device_launches.ptx")),
    ("old_launches.ptx", include_str!("device/old_launches.ptx")),
    ("grid_barrier.ptx", include_str!("device/grid_barrier.ptx")),
    ("graph_conditions.ptx", include_str!("device/graph_conditions.ptx")),
];

/// Beginnings of the names that the texts define.
const PREFIXES: [&str; 5] = [
    "__cudaCDP2",
    "cudaGetParameterBufferV2",
    "cudaLaunchDeviceV2",
    "cudaCG",
    "cudaGraphSetConditional",
];

/// Returns whether a text may refer to the device runtime.
pub(crate) fn is_needed(text: &str) -> bool {
    PREFIXES.iter().any(|prefix| text.contains(prefix))
}

/// Returns whether a text defines the device runtime, as that of NVIDIA's library does.
#[must_use]
pub fn is_device_runtime(text: &str) -> bool {
    text.contains(".func") && text.contains(") __cudaCDP2LaunchDeviceV2(\n") && {
        let call = text.find(") __cudaCDP2LaunchDeviceV2(\n").unwrap_or(0);
        // A definition is not declared as external.
        !text[..call].rsplit('\n').next().unwrap_or_default().contains(".extern")
    }
}

/// Lists files for the linker.
pub(crate) fn link_inputs<'f>(files: &'f [(&'f str, Object)]) -> Vec<LinkInput<'f>> {
    files.iter().map(|(name, object)| LinkInput { name, object }).collect()
}

/// Lowers the texts if files refer to what they do not define.
pub(crate) fn libraries(
    files: &[(&str, Object)],
    sources: &mut SourceMap,
) -> Result<Vec<(&'static str, Object)>, LoadError> {
    if !ptx::link::has_undefined(&link_inputs(files)) {
        return Ok(Vec::new());
    }
    let mut lowered = Vec::new();
    for (name, text) in TEXTS {
        let file = sources.add(name, text);
        let (tree, mut found) = ptx::parse(file, text);
        let (object, more) = ptx::lower_object(&tree, Select::All);
        found.append(more);
        let object = object.ok_or_else(|| LoadError { findings: findings(&found, sources) })?;
        lowered.push((name, object));
    }
    Ok(lowered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_define_what_their_names_say() {
        assert!(is_device_runtime(TEXTS[0].1) && !is_device_runtime(TEXTS[2].1));
        assert!(!is_device_runtime(TEXTS[1].1));
        let call = ".extern .func  (.param .b32 func_retval0) __cudaCDP2LaunchDeviceV2\n(";
        assert!(is_needed(call) && !is_device_runtime(call) && !is_needed("cudaDeviceSynchronize"));
        // Both lower as they are.
        assert!(libraries(&[], &mut SourceMap::new()).is_ok_and(|none| none.is_empty()));
    }
}
