//! Programs and runs as text: lists of kernels, control-flow graphs, results of runs.

mod flow;
mod kernels;
mod mechanisms;
mod paragraph;
mod report;

pub use flow::{flow_dot, flow_text};

pub use kernels::{dependence_lines, kernel_list};
pub use mechanisms::catalogue_text;
pub use paragraph::paragraph;
pub use report::{buffer_line, check_lines, schedule_lines, verdict_line};
