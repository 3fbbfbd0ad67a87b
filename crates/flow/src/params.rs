//! What is accessed through the parameters of a kernel, as far as its code tells.
//!
//! Registers are followed from the loads of parameters through computations, whatever the order of
//! instructions: a register that is written several times may hold what any of the writes gives. A
//! pointer that goes anywhere else (into memory, a call, another lane) may be accessed in ways that
//! are not seen, and nothing is told of it.

use ir::mods::{Scope, Space};
use ir::op::Class;
use ir::{Function, Inst, Op, Operand, Reg, RegTy, Symbol, Ty};
use rustc_hash::{FxHashMap, FxHashSet};

/// Parameters that are followed: the first ones of a kernel.
const MOST: usize = 63;

/// A set of parameters, a bit each.
type Params = u64;

/// The bit of everything that is not a parameter that is followed.
const ELSEWHERE: Params = 1 << MOST;

/// Returns the numbers of a kernel's parameters through which 32-bit floats alone are accessed;
/// only of the first 63, and only those all of whose accesses are known.
#[must_use]
pub fn float_pointers(kernel: &Function) -> Vec<usize> {
    let found = Accesses::of(kernel);
    let floats_alone = found.floats & !found.others & !found.lost;
    (0..kernel.params().len().min(MOST)).filter(|&p| floats_alone >> p & 1 != 0).collect()
}

/// The origins of addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// The numbers of the kernel's parameters that may be part of them.
    pub params: Vec<usize>,
    /// Whether addresses may come from elsewhere: loaded from memory, of variables, of calls.
    pub elsewhere: bool,
}

/// Returns where the addresses of a function's atomic operations of system scope come from.
#[must_use]
pub fn system_atomics(function: &Function) -> Origins {
    let is_one = |inst: &&Inst| {
        matches!(inst.op, Op::Atom | Op::AtomVec)
            && inst.mods.scope == Some(Scope::Sys)
            && matches!(inst.mods.space, None | Some(Space::Global | Space::Generic))
    };
    let atomics: Vec<&Inst> = insts(function).filter(is_one).collect();
    if atomics.is_empty() {
        return Origins::default();
    }
    let origins = origins(function);
    let address = |inst: &&Inst| match inst.operands.first() {
        Some(Operand::Reg(reg)) => origins.get(reg).copied().unwrap_or(ELSEWHERE),
        _ => ELSEWHERE,
    };
    let all = atomics.iter().map(address).fold(0, |all, one| all | one);
    let params = (0..MOST).filter(|&param| all >> param & 1 != 0).collect();
    Origins { params, elsewhere: all & ELSEWHERE != 0 }
}

/// What is known of a kernel's parameters.
#[derive(Debug, Default)]
struct Accesses {
    /// Accessed as 32-bit floats.
    floats: Params,
    /// Accessed as anything else.
    others: Params,
    /// Not followed to all their accesses.
    lost: Params,
}

fn insts(function: &Function) -> impl Iterator<Item = &Inst> {
    function.blocks.iter().flat_map(|block| &block.insts)
}

fn is_param_load(inst: &Inst) -> Option<u32> {
    match (inst.op, inst.mods.space, inst.operands.first()) {
        (Op::Ld, Some(Space::Param), Some(&Operand::Symbol(Symbol::Param(param), _))) => {
            Some(param)
        }
        _ => None,
    }
}

/// Returns what an instruction makes its results of, but for its operands.
fn made_of(inst: &Inst) -> Params {
    if let Some(param) = is_param_load(inst) {
        return if (param as usize) < MOST { 1 << param } else { ELSEWHERE };
    }
    let names_variable = |operand: &Operand| matches!(operand, Operand::Symbol(..));
    match inst.op.info().class {
        _ if inst.op == Op::Sreg => 0,
        Class::Compute if !inst.operands.iter().any(names_variable) => 0,
        _ => ELSEWHERE,
    }
}

/// Registers that may hold addresses, and what these are made of. Predicates are not addresses.
fn origins(function: &Function) -> FxHashMap<Reg, Params> {
    let predicate = |reg: &Reg| match reg {
        Reg::Lane(id) => function.regs.get(id.index()).is_some_and(|r| r.ty == RegTy::Pred),
        Reg::Warp(_) => false,
    };
    // Where values go: from each register to the results that are computed of it.
    let mut computed: FxHashMap<Reg, Vec<Reg>> = FxHashMap::default();
    let mut origins: FxHashMap<Reg, Params> = FxHashMap::default();
    let mut changed: Vec<(Reg, Params)> = Vec::new();
    for inst in insts(function) {
        let results = inst.results.iter().flatten().copied().filter(|reg| !predicate(reg));
        let made = made_of(inst);
        if made != 0 {
            changed.extend(results.clone().map(|reg| (reg, made)));
        }
        if inst.op.info().class == Class::Compute {
            for result in results {
                for operand in &inst.operands {
                    if let Operand::Reg(reg) = operand {
                        computed.entry(*reg).or_default().push(result);
                    }
                }
            }
        }
    }
    while let Some((reg, made)) = changed.pop() {
        let known = origins.entry(reg).or_default();
        if *known | made == *known {
            continue;
        }
        *known |= made;
        let all = *known;
        changed.extend(computed.get(&reg).into_iter().flatten().map(|&to| (to, all)));
    }
    origins
}

fn from(origins: &FxHashMap<Reg, Params>, operands: &[Operand]) -> Params {
    let of = |operand: &Operand| match operand {
        Operand::Reg(reg) => origins.get(reg).copied().unwrap_or(0),
        _ => 0,
    };
    operands.iter().map(of).fold(0, |all, one| all | one)
}

/// Registers that computations use as 32-bit floats.
fn floats(function: &Function) -> FxHashSet<Reg> {
    let computed = insts(function).filter(|inst| inst.op.info().class == Class::Compute);
    let float = Some(Ty::F32);
    let mut floats = FxHashSet::default();
    for inst in computed {
        // The source of a conversion has its second type.
        let source = if inst.ty2.is_some() { inst.ty2 } else { inst.ty };
        if inst.ty == float {
            floats.extend(inst.results.iter().flatten());
        }
        if source == float {
            floats.extend(inst.operands.iter().filter_map(|operand| match operand {
                Operand::Reg(reg) => Some(*reg),
                _ => None,
            }));
        }
    }
    floats
}

impl Accesses {
    fn of(function: &Function) -> Self {
        let (origins, floats) = (origins(function), floats(function));
        let mut out = Self::default();
        for inst in insts(function) {
            let names_param = |o: &Operand| matches!(o, Operand::Symbol(Symbol::Param(_), _));
            match (inst.op, inst.op.info().class) {
                _ if is_param_load(inst).is_some() => {}
                // The address of a parameter: whoever has it can read all of them.
                _ if inst.operands.iter().any(names_param) => out.lost = Params::MAX,
                (_, Class::Compute) => {}
                (Op::Ld | Op::St | Op::Atom | Op::AtomVec, _) => {
                    let (address, values) = inst.operands.split_at(1.min(inst.operands.len()));
                    out.lost |= from(&origins, values);
                    let through = from(&origins, address);
                    if is_float(inst, values, &floats) {
                        out.floats |= through;
                    } else {
                        out.others |= through;
                    }
                }
                _ => out.lost |= from(&origins, &inst.operands),
            }
        }
        out
    }
}

/// Whether an access is one of 32-bit floats: by its type, or because computations use its values,
/// all of them, as that.
fn is_float(inst: &Inst, values: &[Operand], floats: &FxHashSet<Reg>) -> bool {
    if inst.ty.is_none_or(|ty| ty.bytes() != 4 || ty.bits() != 32) {
        return false;
    }
    if inst.ty == Some(Ty::F32) {
        return true;
    }
    let float = |reg: &Reg| floats.contains(reg);
    let loaded = inst.results.iter().flatten();
    let stored = values.iter().map(|value| match value {
        Operand::Reg(reg) => Some(reg),
        _ => None,
    });
    let moved: Vec<Option<&Reg>> = loaded.map(Some).chain(stored).collect();
    !moved.is_empty() && moved.iter().all(|reg| reg.is_some_and(float))
}
