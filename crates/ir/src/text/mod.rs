//! The text form: what tests are written in, and what tools show.
//!
//! [`parse`] reads it and [`print()`] writes it; `docs/ir.md` describes it. Two things always hold:
//! - `parse(print(m))` is `m` again for every verified module, apart from places
//!   ([`crate::Module::same`] compares);
//! - `print(parse(t))` is canonical: printing what was parsed from it gives the same text again.
//!
//! The grammar, line by line (`//` begins a comment; a name with other characters than letters,
//! digits, `_`, `$` and `.` is written in quotes, after its sigil if it has one):
//!
//! ```text
//! module  := { "source" STRING | var | kernel | func }
//! var     := ("global" | "const") SYM ["size" N] ["align" N] ["=" init] { reloc }
//!          | "shared" SYM ("size" N | "dynamic") ["align" N]
//! init    := "[" item { "," item } "]"          item := STRING | "hex" STRING | [type] number
//! reloc   := "reloc" N ":" ("u32" | "u64") ["generic"] SYM [("+" | "-") N]
//! kernel  := "kernel" SYM "(" [param { "," param }] ")" { bound } body
//! param   := NAME ":" type [space] ["size" N] ["align" N] ["offset" N]
//! bound   := ("maxntid" | "reqntid") "(" N "," N "," N ")"
//! func    := "func" SYM "(" [freg { "," freg }] ")" ["->" "(" [freg { "," freg }] ")"] body
//! freg    := REG [":" type]                     without a type: declared in the body
//! body    := ["!loc" ...] "{" { decl } { block } "}"
//! decl    := ("reg" | "warp") REG ["<" N ">"] { "," REG } ":" type
//!          | "local" SYM "size" N ["align" N] ["offset" N] | "spills" N
//! block   := [NAME ":"] { [guard] inst attrs } [[guard] end attrs]
//! guard   := "@" ["!"] REG
//! inst    := [result { "," result } "="] OP { "." WORD } [operand { "," operand }]
//! result  := REG | "_"
//! end     := "br" NAME | "switch" operand "," "[" NAME { "," NAME } "]"
//!          | "maskbr." ("any" | "none") ("exec" | REG) "," NAME
//!          | "ret" | "exit" | "fall"
//! operand := REG | SYM [("+" | "-") N] | number | SREG | NAME | "[" base { ("+" | "-") N } "]"
//! attrs   := { "!" ORIGIN | "!loc" "(" FILE "," LINE "," COLUMN ")" }
//! ```
//!
//! `SYM` is `@name`; it means a parameter or local variable of the function if there is one of the
//! name, else one of the module; `@@name` always means the module's.

mod lex;
mod literal;
mod names;
mod parse;
mod print;

pub use names::FunctionNames;
pub use parse::{MAX_COUNTED_REGS, MAX_TEXT, parse};
pub use print::{PrintOptions, print, print_inst, print_term, print_with};
