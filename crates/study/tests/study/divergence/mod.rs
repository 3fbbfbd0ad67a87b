//! The divergence laboratory: comparisons, races, and detailed studies of single runs.

mod common;
mod comparable;
mod compare;
mod kernels;
mod races;
mod studies;
mod verdicts;
