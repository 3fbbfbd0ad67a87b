//! NVIDIA PTX: text to syntax tree to kernel IR, and back to text.
//!
//! [`parse()`] turns any text into a tree, [`parse_kernels()`] the parts that some kernels need;
//! [`Module`]'s `Display` turns the tree into text again. [`lower()`] turns the tree into a module
//! of the kernel IR, [`check()`] only reports what is wrong or not supported. The spelling of
//! opcodes, their modifiers and operands, and the operations that they become are a table:
//! [`spelling`].
//!
//! ```
//! let text = "
//!     .version 8.0 .target sm_80 .address_size 64
//!     .entry twice(.param .u64 at) {
//!         .reg .b64 %a; .reg .b32 %v;
//!         ld.param.u64 %a, [at];
//!         ld.global.u32 %v, [%a];
//!         shl.b32 %v, %v, 1;
//!         st.global.u32 [%a], %v;
//!         ret;
//!     }";
//! let (tree, found) = ptx::parse(isa::FileId(0), text);
//! assert!(found.is_empty());
//! let (module, found) = ptx::lower(&tree, ptx::Select::Kernel("twice"));
//! assert!(found.is_empty() && module.is_some());
//! ```

pub mod ast;
pub mod lexer;
pub mod link;
mod lower;
pub mod names;
mod parse;
pub mod pool;
pub mod print;
mod spanless;
pub mod spelling;
pub mod support;
pub mod testing;
mod types;

pub use ast::Module;
pub use lower::{
    Binding, Object, Part, Select, check, lower, lower_for, lower_object, lower_parts,
    lower_parts_of, target, version, versions,
};
pub use names::{Names, Symbol};
pub use parse::{parse, parse_kernels};
pub use types::{Space, Type};
