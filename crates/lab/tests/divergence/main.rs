//! The divergence laboratory: comparisons, races, and detailed studies of single runs.

mod common;
mod compare;
mod kernels;
mod looks;
mod races;
mod verdicts;
