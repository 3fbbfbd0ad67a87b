//! The divergence laboratory: comparisons, races, and single runs looked at closely.

mod common;
mod compare;
mod kernels;
mod looks;
mod races;
mod verdicts;
