//! The predicate-register-file GPU: a machine whose control flow consists of predicate masks.
//!
//! A warp of 32 lanes has one program counter, 64 registers a lane and 16 or 32 predicate registers
//! of 32 bits. Branch instructions do not branch: they write a predicate, ANDed with the mask they
//! run under. Every instruction names a predicate, and lanes outside it change nothing. The only
//! conditional jump is taken when any live lane is left.
//!
//! | module | contents |
//! |---|---|
//! | [`encoding`] | the table, and the ways its sources encode it |
//! | [`syntax`] | the assembly language |
//! | [`image`] | program files in hexadecimal |
//! | [`op`] | operations, units, decoded instructions |
//! | [`config`] | profiles and options |
//! | [`exec`] | the semantics of instructions |
//! | [`program`], [`launch`](mod@launch) | loaded programs, launches |
//! | [`machine`] | the functional model |
//! | [`timing`] | the cycle-level model |
//! | [`hazard`] | hazards inside packets |
//! | [`mod@pressure`] | how many predicates a program needs at once |
//! | [`counts`] | counters of both models |
//! | [`options`] | options by name |
//! | [`conform`](mod@conform) | conformance tables |

pub mod config;
pub mod conform;
pub mod counts;
pub mod encoding;
pub mod exec;
pub mod hazard;
pub mod image;
mod inspect;
pub mod launch;
pub mod machine;
pub mod op;
pub mod options;
pub mod pressure;
pub mod program;
pub mod syntax;
pub mod timing;

pub use config::{Config, Polarity, PredicateWrites, Profile};
pub use conform::{TABLES as CONFORM_TABLES, TimingTable, conform, conform_own, is_timing};
pub use counts::Counts;
pub use encoding::{Encoding, JalUnit, JpnzForm, Predicates};
pub use exec::Trap;
pub use hazard::Hazard;
pub use image::Words;
pub use launch::{Launch, LaunchError};
pub use machine::{Mark, Prf, State};
pub use op::{Insn, Op, Unit};
pub use options::{OPTIONS, OptionError, OptionInfo, Options};
pub use pressure::{Pressure, pressure};
pub use program::{LoadError, Program, Start};
pub use syntax::{assemble, dialect, parameters};
pub use timing::{Hazards, Params, ParamsError, Policy, Timed, TimingCounts};
