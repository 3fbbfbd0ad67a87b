//! The predicate-register-file GPU: a machine whose control flow is predicate masks alone.
//!
//! A warp of 32 lanes has one program counter, 64 registers a lane and 16 or 32 predicate registers of 32 bits. Branch
//! instructions do not branch: they write a predicate, ANDed with the mask they run under. Every instruction names a
//! predicate, and lanes outside it change nothing. The only conditional jump goes when any live lane is left.
//!
//! | module | what |
//! |---|---|
//! | [`encoding`] | the table, and the ways its sources encode it |
//! | [`syntax`] | the assembly language |
//! | [`image`] | program files in hexadecimal |
//! | [`op`] | operations, units, decoded instructions |
//! | [`config`] | profiles and options |
//! | [`exec`] | what instructions do |
//! | [`machine`] | the functional model |
//! | [`options`] | options by name |
//! | [`conform`](mod@conform) | conformance tables |

pub mod config;
pub mod conform;
pub mod encoding;
pub mod exec;
pub mod image;
pub mod machine;
pub mod op;
pub mod options;
pub mod syntax;

pub use config::{Config, Polarity, PredicateWrites, Profile};
pub use conform::{TABLES as CONFORM_TABLES, conform};
pub use encoding::{Encoding, JalUnit, JpnzForm, Predicates};
pub use exec::Trap;
pub use image::Words;
pub use machine::{Counts, Launch, LaunchError, LoadError, Prf, Program, State};
pub use op::{Insn, Op, Unit};
pub use options::{OPTIONS, OptionError, OptionInfo, Options};
pub use syntax::{assemble, dialect, parameters};
