//! Compiled code against the exact engine, and pages that are made from compiled kernels.

#[path = "../../../vector/tests/common/corpus.rs"]
mod corpus;
mod harness;

mod accesses;
mod approximations;
mod asynchronous;
mod atomics;
mod baseline;
mod checks;
mod clock;
mod clusters;
mod commits;
mod control;
mod copies;
mod counted_barriers;
mod coverage;
mod ctas;
mod differential;
mod ends;
mod every_form;
mod kernels;
mod large;
mod layouts;
mod no_pages;
mod operations;
mod overlap;
mod page;
mod patterns;
mod portable;
mod printing;
mod random_ptx;
mod recursion;
mod repeats;
mod textures;
