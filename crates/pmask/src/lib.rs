//! A RISC-V core with banked predicate masks: RV64IMAFDC with Zicsr, Zifencei, Zba, Zbb, Zbc and
//! Zbs, machine and user mode, the XPHMG_PMASK extension, and the extensions that use its masks:
//! the RSV lanes with predicated loads and stores, first-fault, ZMODE, compaction, and lane forms
//! of tests.
//!
//! The extension's documents give no encodings, reset values or exceptions; this project publishes
//! its own, with the alternatives as options ([`config`]). The page on PMASK in the book is the
//! list.
//!
//! | module | contents |
//! |---|---|
//! | [`table`] | the instruction table: decoder, encoder, assembler, disassembler |
//! | [`mod@asm`] | pseudo-instructions, `.level`, `.insn` listings |
//! | [`config`], `discovery` | the options of the machine, and what programs find out of them |
//! | [`machine`] | loading, reset, fetch, traps |
//! | [`state`], [`csr`] | registers, masks, lanes; `code`: decoded instructions by address |
//! | `mark` | recognition of a state that comes again |
//! | [`program`], [`elf`] | programs: ELF files read and written, assembly text |
//! | [`host`] | console, exit, HTIF, semihosting |
//! | [`conform`] | runs tables of test vectors |
//! | [`run`] | a program from start to end |
//!
//! Always holds: decoding depends on the word and the options alone, so an instruction that the
//! options exclude traps before any effect; x0 is 0; bits of a bank at and above MASKW are 0; VL is
//! at most VLMAX and at most MASKW; a lane that is off reads nothing, touches no memory, raises
//! nothing, and is not a candidate for first-fault.

pub mod asm;
mod code;
pub mod config;
pub mod conform;
pub mod csr;
pub mod decode;
mod discovery;
mod effects;
pub mod elf;
mod exec;
pub mod host;
mod inspect;
pub mod machine;
mod mark;
pub mod op;
pub mod pmp;
pub mod program;
pub mod run;
pub mod state;
pub mod table;
pub mod trap;

pub use config::{Config, Level};
pub use machine::{Launch, Pmask};
pub use mark::Mark;
pub use program::Program;
pub use state::State;
