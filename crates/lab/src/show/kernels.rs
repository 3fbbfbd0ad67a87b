//! The list of a program's kernels.

use std::fmt::Write as _;

use inputs::kernel::KernelInfo;
use machines::KernelDependence;

/// Lists kernels with their parameters and sizes.
#[must_use]
pub fn kernel_list(kernels: &[KernelInfo]) -> String {
    let mut out = String::new();
    for kernel in kernels {
        let _ = writeln!(out, "{}", kernel.name);
        let bytes =
            kernel.params.iter().map(|p| p.offset.saturating_add(p.size)).max().unwrap_or(0);
        let free = match kernel.optional {
            0 => String::new(),
            n => format!(", the last {n} optional"),
        };
        let _ = writeln!(
            out,
            "  {} parameters ({bytes} bytes{free}), {} bytes of shared memory, {} bytes of local memory a thread",
            kernel.params.len(),
            kernel.shared,
            kernel.local
        );
        let width = kernel.params.iter().map(|p| p.spelling.len()).max().unwrap_or(0);
        for param in &kernel.params {
            let _ = writeln!(
                out,
                "    {:>5}  {:<width$}  {}",
                format!("+{}", param.offset),
                param.spelling,
                param.name
            );
        }
    }
    out
}

/// Returns a line for each kernel whose results depend on the warp size, with the first instruction
/// that causes this.
#[must_use]
pub fn dependence_lines(kernels: &[KernelDependence]) -> String {
    let mut out = String::new();
    for KernelDependence { kernel, first, count } in kernels {
        let at = first.line.map_or(String::new(), |line| format!(" at line {line}"));
        let more = match count - 1 {
            0 => String::new(),
            n => format!(", and {n} more"),
        };
        let _ =
            writeln!(out, "  kernel `{kernel}` is warp-size-dependent: `{}`{at}{more}", first.text);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use inputs::kernel::{ParamInfo, ParamKind};

    #[test]
    fn kernels_with_parameters_and_sizes() {
        let param = |name: &str, spelling: &str, offset, size| ParamInfo {
            name: name.into(),
            spelling: spelling.into(),
            offset,
            size,
            kind: ParamKind::Integer,
        };
        let kernel = KernelInfo {
            name: "saxpy".into(),
            params: vec![param("n", ".u32", 0, 4), param("s", ".b8[12]", 8, 12)],
            optional: 0,
            shared: 256,
            local: 0,
            span: None,
        };
        assert_eq!(
            kernel_list(&[kernel]),
            "\
saxpy
  2 parameters (20 bytes), 256 bytes of shared memory, 0 bytes of local memory a thread
       +0  .u32     n
       +8  .b8[12]  s
"
        );
    }
}
