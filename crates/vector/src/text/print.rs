//! The printer.

use super::parts::{Part, Parts};
use crate::function::{Condition, Function, Inst, Target, Terminator, Type, Value};
use crate::op::Op;
use std::fmt::{Display, Formatter, Result};

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "v{}", self.index())
    }
}

impl Type {
    /// All types with their names.
    pub(super) const NAMES: [(Self, &'static str); 4] = [
        (Self::Scalar, "scalar"),
        (Self::Row32, "row32"),
        (Self::Row64, "row64"),
        (Self::Mask, "mask"),
    ];
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let name = Self::NAMES.iter().find(|name| name.0 == *self);
        f.write_str(name.map_or("", |name| name.1))
    }
}

/// Writes values with commas between them.
fn list<T: Display>(f: &mut Formatter<'_>, values: impl IntoIterator<Item = T>) -> Result {
    for (i, value) in values.into_iter().enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        write!(f, "{comma}{value}")?;
    }
    Ok(())
}

impl Display for Target {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "block{}(", self.block.index())?;
        list(f, &self.args)?;
        f.write_str(")")
    }
}

impl Display for Terminator {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Jump(to) => write!(f, "jump {to}"),
            Self::Branch(Condition::Any(mask), yes, no) => {
                write!(f, "branch.any {mask}, {yes}, {no}")
            }
            Self::Branch(Condition::Bit(scalar), yes, no) => {
                write!(f, "branch.bit {scalar}, {yes}, {no}")
            }
            Self::Switch(scalar, cases, default) => {
                write!(f, "switch {scalar}, ")?;
                for (number, to) in cases {
                    write!(f, "{number}: {to}, ")?;
                }
                write!(f, "{default}")
            }
            Self::End => f.write_str("end"),
        }
    }
}

impl Function {
    fn print_inst(&self, f: &mut Formatter<'_>, inst: Inst) -> Result {
        let inst = self.inst(inst);
        list(f, inst.results.iter().map(|&result| format!("{result}: {}", self.ty(result))))?;
        if !inst.results.is_empty() {
            f.write_str(" = ")?;
        }
        let mut parts = Parts::default();
        inst.op.put(&mut parts);
        f.write_str(&parts.words.join("."))?;
        let operands = inst.args.iter().map(ToString::to_string).chain(parts.numbers);
        let operands: Vec<String> = operands.collect();
        if !operands.is_empty() {
            write!(f, " {}", operands.join(", "))?;
        }
        if !parts.attributes.is_empty() {
            write!(f, " {{{}}}", parts.attributes.join(", "))?;
        }
        Ok(())
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for (block, data) in self.blocks() {
            write!(f, "block{}(", block.index())?;
            list(f, data.params.iter().map(|&param| format!("{param}: {}", self.ty(param))))?;
            writeln!(f, "):")?;
            for &inst in &data.insts {
                f.write_str("    ")?;
                self.print_inst(f, inst)?;
                writeln!(f)?;
            }
            writeln!(f, "    {}", data.end)?;
        }
        Ok(())
    }
}

impl Display for Op {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let mut parts = Parts::default();
        self.put(&mut parts);
        f.write_str(&parts.words.join("."))
    }
}
