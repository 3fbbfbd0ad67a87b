//! Kernel bodies: launch, groups, branches, containment, the end.
//!
//! A kernel's groups run one after another: a parallel kernel's in the order of a seeded
//! permutation. `p` and the queues start anew with every group; GPRs, tiles and exports do not.

use std::sync::Arc;

use simt::machine::Step;
use simt::mask::WarpMask;
use simt::observe::{Branch as BranchEvent, Events, GroupId, Observer, Pc};

use crate::action::{Action, Branch, Simt, System};
use crate::compute;
use crate::conflict::{Shared, Usage};
use crate::header::Header;
use crate::insn::Insn;
use crate::machine::Linx;
use crate::program::{Fetched, Program};
use crate::state::{Body, Group, Linear, Phase, Region, State};
use crate::trap::{Trap, TrapNum};

/// The trap that stops an instruction, and the lanes at fault.
pub(crate) type Stop = (Trap, WarpMask);

fn stop(trap: Trap) -> Stop {
    (trap, WarpMask::EMPTY)
}

impl State {
    /// Starts a kernel from its valid header.
    pub(crate) fn launch_body(
        &mut self,
        program: &Program,
        header: &Header,
        simt: Simt,
        next: u64,
        source: u64,
    ) -> Result<(), Trap> {
        let entry = header.text.unwrap_or(0);
        let dim =
            |i: usize| header.dims[i].unwrap_or(u64::from(i == 0 && self.options.lenient_dim));
        let lb = [dim(0), dim(1).max(1), dim(2).max(1)];
        let imports = header.imports(self);
        let exports = header.ior.iter().filter(|(_, d)| *d != 0).map(|(_, d)| (*d, None)).collect();
        if lb[0] > 0
            && let Fetched::Unmapped(at) = program.fetch(entry)
            && at == entry
        {
            return Err(Trap::fetch(source, entry).in_body());
        }
        self.changes += 1;
        let inputs = header.inputs().iter().map(|&id| self.tiles.slot(id)).collect();
        let outputs =
            header.outputs().iter().map(|&(hand, bytes)| self.tiles.push(hand, bytes)).collect();
        let boundaries = match self.options.region {
            Region::FirstTerminator => self.region(program, entry),
            Region::TakenPath => Arc::default(),
        };
        let width = u128::from(self.options.group_width);
        let (lanes, rows) = (u128::from(lb[0]), u128::from(lb[1]) * u128::from(lb[2]));
        let linear = match self.options.linear_groups {
            Linear::Off => false,
            Linear::On => true,
            Linear::Attribute => header.shared_rows,
        };
        let groups = if linear {
            lanes.saturating_mul(rows).div_ceil(width)
        } else {
            lanes.div_ceil(width).saturating_mul(rows)
        };
        self.conflicts.forget();
        if header.inputs().len() > 3 || header.outputs().len() > 1 {
            self.warnings
                .insert("a kernel with more than three source tiles or one destination tile");
        }
        let body = Body {
            simt,
            entry,
            header: header.start,
            next,
            source,
            lb,
            imports,
            exports,
            inputs,
            outputs,
            linear,
            boundaries,
            groups,
            at: 0,
            group: None,
        };
        self.phase = Phase::Body(Box::new(body));
        Ok(())
    }

    pub(crate) fn in_body<O: Observer<1>>(
        &mut self,
        program: &Program,
        observer: &mut O,
    ) -> Step<Trap> {
        if self.next_group() {
            let result = self.issue(program, observer);
            return self.settle(program, result);
        }
        // The end of a kernel is no issue.
        let left = self.finish_body(program);
        let result = left.and_then(|()| self.between(program, observer)).map_err(stop);
        self.settle(program, result)
    }

    /// Enters a kernel's next group, or leaves the kernel if there is none.
    pub(crate) fn approach_body(&mut self, program: &Program) -> Result<(), Trap> {
        if matches!(self.phase, Phase::Body(_)) && !self.next_group() {
            self.finish_body(program)?;
        }
        Ok(())
    }

    /// Makes sure that a group runs; `false` if all are done.
    fn next_group(&mut self) -> bool {
        let (options, Phase::Body(body)) = (self.options, &mut self.phase) else { return false };
        if body.group.is_some() {
            return true;
        }
        if body.at >= body.groups {
            return false;
        }
        let index = if body.simt.is_parallel() {
            permuted(body.at, body.groups, options.seed)
        } else {
            body.at
        };
        body.group = Some(Box::new(group(body, index, options.group_width)));
        true
    }

    /// Writes the exports and leaves the kernel.
    fn finish_body(&mut self, program: &Program) -> Result<(), Trap> {
        let Phase::Body(body) = &self.phase else { return Ok(()) };
        let (next, source, exports) = (body.next, body.source, body.exports.clone());
        self.fall_through(program, next, source)?;
        for (register, value) in exports {
            if let Some(value) = value {
                self.write_scalar(i64::from(register), value);
            }
        }
        Ok(())
    }

    /// Executes one instruction of the group that runs.
    fn issue<O: Observer<1>>(&mut self, program: &Program, observer: &mut O) -> Result<(), Stop> {
        let Phase::Body(body) = &self.phase else { return Ok(()) };
        let Some(group) = &body.group else { return Ok(()) };
        let (pc, linear, parallel) = (group.pc, body.simt.is_linear(), body.simt.is_parallel());
        let insn = match self.fetch(program, pc) {
            Fetched::Insn(insn) => insn,
            Fetched::Illegal => return Err(stop(Trap::illegal(pc, "no instruction").in_body())),
            Fetched::Unmapped(at) => return Err(stop(Trap::fetch(pc, at).in_body())),
        };
        let illegal = |why: &str| Err(stop(Trap::illegal(pc, why).in_body()));
        match insn.action {
            Action::Stop | Action::Marker(_) | Action::ReservedTile if !insn.ends => {
                illegal("this does not end a body in the variant")
            }
            Action::Stop => {
                self.count_uniform(pc, observer);
                self.end_group();
                Ok(())
            }
            Action::Marker(_) | Action::ReservedTile if linear && self.options.strict_linear => {
                illegal("a block marker in a linear body")
            }
            Action::Marker(_) | Action::ReservedTile => {
                self.count_uniform(pc, observer);
                self.end_group();
                Ok(())
            }
            Action::Branch(_) if linear => illegal("a branch in a linear body"),
            Action::Branch(branch) => {
                self.branch(program, &insn, branch, pc, observer).map_err(stop)
            }
            Action::Vector(op) => {
                self.execute_vector(&insn, op, pc, observer)?;
                self.advance_group(insn.length);
                Ok(())
            }
            Action::Scalar(op) => {
                if !Self::allowed_in_body(op) {
                    return illegal("scalar memory and block state are closed in a body");
                }
                let writes_gpr = (1..24).contains(&insn.rd) || (1..24).contains(&insn.rd1);
                if parallel && writes_gpr {
                    if !self.options.warn_gpr_writes {
                        return illegal(
                            "groups of a parallel kernel must not write general registers",
                        );
                    }
                    self.warnings.insert("groups of a parallel kernel write general registers");
                }
                self.note_registers(&insn, pc);
                self.execute_scalar(&insn, op, pc).map_err(|trap| stop(trap.in_body()))?;
                self.count_uniform(pc, observer);
                self.advance_group(insn.length);
                Ok(())
            }
            Action::System(op) => {
                self.note_registers(&insn, pc);
                self.system_in_body(&insn, op, pc).map_err(|trap| stop(trap.in_body()))?;
                self.count_uniform(pc, observer);
                self.advance_group(insn.length);
                Ok(())
            }
            Action::Descriptor(_) => illegal("a descriptor in a body"),
            Action::Template(_) => illegal("a template block in a body"),
            Action::None(why) => illegal(why),
            // Fetched as a stop, or as no instruction.
            Action::LegacyStop => illegal("no instruction"),
        }
    }

    fn system_in_body(&mut self, insn: &Insn, op: System, pc: u64) -> Result<(), Trap> {
        self.changes += 1;
        match op {
            System::SsrGet => {
                let value = self.get_ssr(insn.imm);
                self.write_scalar(insn.rd, value);
                Ok(())
            }
            System::Assert if self.scalar(insn.l) == 0 => {
                Err(Trap::plain(TrapNum::AssertFail, pc, "the asserted value is 0"))
            }
            System::Assert => Ok(()),
            System::Ebreak => Err(Trap::plain(TrapNum::Breakpoint, pc, "ebreak in a body")),
            _ => Err(Trap::illegal(pc, "this system instruction is closed in a body")),
        }
    }

    fn end_group(&mut self) {
        if let Phase::Body(body) = &mut self.phase {
            body.group = None;
            body.at += 1;
        }
    }

    fn advance_group(&mut self, length: u64) {
        if let Phase::Body(body) = &mut self.phase
            && let Some(group) = &mut body.group
        {
            group.pc = group.pc.wrapping_add(length);
        }
    }

    fn branch<O: Observer<1>>(
        &mut self,
        program: &Program,
        insn: &Insn,
        branch: Branch,
        pc: u64,
        observer: &mut O,
    ) -> Result<(), Trap> {
        let queues = matches!(branch, Branch::Compare(..)) && (insn.l >= 24 || insn.r >= 24);
        if queues && self.options.strict_branches {
            return Err(Trap::illegal(pc, "a branch compares a queue entry").in_body());
        }
        self.note_registers(insn, pc);
        let Some((body, group)) = self.body_group() else { return Ok(()) };
        let taken = match branch {
            Branch::Compare(cmp, signed) => {
                compute::holds(cmp, signed, self.scalar(insn.l), self.scalar(insn.r))
            }
            Branch::Jump | Branch::Register => true,
            Branch::Zero => group.p.is_empty(),
            Branch::NotZero => group.p.any(),
        };
        let base = if branch == Branch::Register { self.scalar(insn.l) } else { pc };
        let target = base.wrapping_add_signed(insn.imm);
        if taken {
            self.contained(program, body, target)
                .map_err(|why| Trap::body_fetch(pc, target, why))?;
        }
        let next = if taken { target } else { pc.wrapping_add(insn.length) };
        let (id, valid) = (group.id, group.valid);
        self.count_uniform(pc, observer);
        if observer.wants(Events::BRANCH) {
            let targets = &[(Pc(next), valid)];
            observer.branch(&BranchEvent { group: id, pc: Pc(pc), targets });
        }
        if let Phase::Body(body) = &mut self.phase
            && let Some(group) = &mut body.group
        {
            group.pc = next;
        }
        Ok(())
    }

    /// General registers that an instruction reads and writes. Fields that it does not have are 0.
    fn note_registers(&mut self, insn: &Insn, pc: u64) {
        if self.checked_group().is_none() {
            return;
        }
        let general = |code: i64| (1..24).contains(&code).then_some(Shared::Register(code as u8));
        for shared in [insn.l, insn.r, insn.a].into_iter().filter_map(general) {
            self.note(shared, Usage::Read, pc);
        }
        for shared in [insn.rd, insn.rd1].into_iter().filter_map(general) {
            self.note(shared, Usage::Write(None), pc);
        }
    }

    /// The region of a body: code does not change, so a body that is launched again has the one it
    /// had.
    fn region(&mut self, program: &Program, entry: u64) -> Arc<[u64]> {
        if let Some((known, boundaries)) = &self.region
            && *known == entry
        {
            return Arc::clone(boundaries);
        }
        let boundaries: Arc<[u64]> = self.boundaries(program, entry).into();
        self.region = Some((entry, Arc::clone(&boundaries)));
        boundaries
    }

    /// Instruction boundaries from the entry to the first terminator, that included.
    fn boundaries(&self, program: &Program, entry: u64) -> Vec<u64> {
        let mut out = Vec::new();
        let mut at = entry;
        while let Fetched::Insn(insn) = self.fetch(program, at) {
            out.push(at);
            if insn.ends {
                break;
            }
            let Some(next) = at.checked_add(insn.length) else { break };
            at = next;
        }
        out
    }

    /// Checks that a branch may go to an address.
    pub(crate) fn contained(
        &self,
        program: &Program,
        body: &Body,
        target: u64,
    ) -> Result<(), &'static str> {
        if !target.is_multiple_of(2) {
            return Err("the target is misaligned");
        }
        if self.options.region == Region::FirstTerminator {
            let inside = body.boundaries.binary_search(&target).is_ok();
            return if inside { Ok(()) } else { Err("the target is outside the body") };
        }
        if target < body.entry {
            return Err("the target lies before the body");
        }
        match self.fetch(program, target) {
            Fetched::Insn(insn) if insn.starts_block() => Err("the target is a block marker"),
            Fetched::Insn(_) => Ok(()),
            Fetched::Illegal | Fetched::Unmapped(_) => Err("there is no instruction at the target"),
        }
    }
}

/// The group with this index in the iteration space.
fn group(body: &Body, index: u128, width: u32) -> Group {
    let wide = u128::from(width);
    let lanes = u128::from(body.lb[0]);
    let (first, left, row) = if body.linear {
        let all = lanes.saturating_mul(u128::from(body.lb[1]) * u128::from(body.lb[2]));
        (index * wide, all - index * wide, 0)
    } else {
        let chunks = lanes.div_ceil(wide);
        let first = index % chunks * wide;
        (first, lanes - first, index / chunks)
    };
    let valid = WarpMask::first(left.min(wide) as usize);
    let (lc1, lc2) = (row % u128::from(body.lb[1]), row / u128::from(body.lb[1]));
    // Counts beyond 64 and 32 bits cannot be reached in any run; ids wrap.
    let id = GroupId {
        cta: (index >> 32) as u64,
        group: index as u32,
        first_thread: (index * wide) as u32,
    };
    Group {
        id,
        pc: body.entry,
        valid,
        p: valid,
        first: first as u64,
        lc1: lc1 as u64,
        lc2: lc2 as u64,
        t: [0; 4],
        u: [0; 4],
        lanes: vec![[[0; 64]; 4]; 4],
        pushed: [0; 4],
    }
}

/// Returns the position-th of `n` groups in the order of a seed: in order for seed 0, else an
/// affine permutation.
fn permuted(position: u128, n: u128, seed: u64) -> u128 {
    if seed == 0 || n < 2 || n > u128::from(u64::MAX) {
        return position;
    }
    let mut random = isa::testing::Rng::new(seed);
    let offset = u128::from(random.bits()) % n;
    let mut factor = u128::from(random.bits()) % n;
    while gcd(factor, n) != 1 {
        factor = (factor + 1) % n;
    }
    (position * factor + offset) % n
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Linx {
    /// The order in which a parallel kernel's groups run, for the first `most` of them.
    #[must_use]
    pub fn group_order(groups: u64, seed: u64, most: usize) -> Vec<u64> {
        let index = |i: u64| permuted(u128::from(i), u128::from(groups), seed) as u64;
        (0..groups).take(most).map(index).collect()
    }
}
