//! What the instructions do: the fifty lines.

use std::sync::LazyLock;

use simt::arith::lanes::{Inactive, Operand, fill, map_columns};
use simt::arith::{Cmp, int};
use simt::mask::WarpMask;
use simt::memory::{AccessKind, Addr, Space, Width};
use simt::observe::{Access, Branch, Events, Issue, Observer, Pc};
use simt::slots::{Domain, IssueLanes};

use crate::machine::{Group, State, Trap};

/// An operation, in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Add,
    Sub,
    Mul,
    Tid,
    Slt,
    Mov,
    Splat,
    Li,
    Addi,
    Lw,
    Sw,
    SAdd,
    SSub,
    SLi,
    SAddi,
    SBnz,
    Bany,
    Halt,
    Trap,
}

/// The operation of each form.
pub(crate) static OPS: LazyLock<Vec<Op>> = LazyLock::new(|| {
    let pairs = [
        ("add", Op::Add),
        ("sub", Op::Sub),
        ("mul", Op::Mul),
        ("tid", Op::Tid),
        ("slt", Op::Slt),
        ("mov", Op::Mov),
        ("splat", Op::Splat),
        ("li", Op::Li),
        ("addi", Op::Addi),
        ("lw", Op::Lw),
        ("sw", Op::Sw),
        ("s.add", Op::SAdd),
        ("s.sub", Op::SSub),
        ("s.li", Op::SLi),
        ("s.addi", Op::SAddi),
        ("s.bnz", Op::SBnz),
        ("bany", Op::Bany),
        ("halt", Op::Halt),
        ("trap", Op::Trap),
    ];
    crate::table().bind(&pairs).unwrap_or_else(|errors| panic!("{errors}"))
});

/// A decoded instruction: its operation, its fields in the order of the table, its length in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Insn {
    op: Op,
    fields: [i64; 4],
    length: u64,
}

impl Insn {
    /// The instruction at the start of some bytes, if there is one.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let table = crate::table();
        let found = table.decode_bytes(bytes).ok()?;
        let form = table.form(found.form);
        let mut fields = [0; 4];
        for (value, field) in fields.iter_mut().zip(&form.fields) {
            *value = field.extract(found.word);
        }
        Some(Self { op: OPS[found.form.index()], fields, length: form.bytes() as u64 })
    }

    /// The predicate that guards the instruction.
    fn guard(&self) -> usize {
        match (self.op, self.fields) {
            (Op::Mov | Op::Lw | Op::Sw, [_, _, p, _]) | (Op::Halt, [p, ..]) => p as usize,
            _ => 0,
        }
    }

    fn domain(&self) -> Domain {
        match self.op {
            Op::SAdd | Op::SSub | Op::SLi | Op::SAddi | Op::SBnz => Domain::Uniform,
            _ => Domain::Vector,
        }
    }
}

/// A register that an instruction names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Lane(u32),
    Predicate(u32),
    Uniform(u32),
}

impl Insn {
    /// The registers that it reads and writes.
    pub(crate) fn registers(&self) -> (Vec<Named>, Vec<Named>) {
        use Named::{Lane, Predicate, Uniform};
        let [d, a, b, _] = self.fields.map(|field| field as u32);
        let guard = Predicate(self.guard() as u32);
        match self.op {
            Op::Add | Op::Sub | Op::Mul => (vec![Lane(a), Lane(b)], vec![Lane(d)]),
            Op::Addi => (vec![Lane(a)], vec![Lane(d)]),
            Op::Tid | Op::Li => (vec![], vec![Lane(d)]),
            Op::Slt => (vec![Lane(a), Lane(b)], vec![Predicate(d)]),
            Op::Mov | Op::Lw => (vec![Lane(a), guard], vec![Lane(d)]),
            Op::Splat => (vec![Uniform(a)], vec![Lane(d)]),
            Op::Sw => (vec![Lane(a), Lane(d), guard], vec![]),
            Op::SAdd | Op::SSub => (vec![Uniform(a), Uniform(b)], vec![Uniform(d)]),
            Op::SAddi => (vec![Uniform(a)], vec![Uniform(d)]),
            Op::SLi => (vec![], vec![Uniform(d)]),
            Op::SBnz => (vec![Uniform(d)], vec![]),
            Op::Bany => (vec![Predicate(d)], vec![]),
            Op::Halt => (vec![guard], vec![]),
            Op::Trap => (vec![], vec![]),
        }
    }
}

/// What stops an instruction, and the lanes at fault.
pub(crate) type Stop = (Trap, WarpMask);

impl State {
    /// Issues one instruction of the running group: counts and announces it, then executes it. A
    /// stop leaves all but the count as it was.
    pub(crate) fn issue<O: Observer<1>>(&mut self, i: Insn, observer: &mut O) -> Result<(), Stop> {
        let Some(group) = &mut self.group else { return Ok(()) };
        let (live, launched) = (group.live, group.launched);
        let on = live & group.p[i.guard()];
        let lanes = IssueLanes {
            width: self.width,
            launched,
            exited: launched - live,
            waiting: WarpMask::EMPTY,
            active: live,
            unmasked: live,
            on,
        };
        match i.domain() {
            Domain::Uniform => self.slots.uniform(),
            Domain::Vector => self.slots.vector(&lanes),
        }
        if observer.wants(Events::ISSUE) {
            let (pc, domain) = (Pc(group.pc), i.domain());
            observer.issue(&Issue {
                group: group.id,
                pc,
                domain,
                lanes: &lanes,
                depth: 1,
                guard_off: 0,
            });
        }
        let next = self.execute(i, on, observer)?;
        if let Some(group) = &mut self.group {
            if observer.wants(Events::BRANCH) && matches!(i.op, Op::SBnz | Op::Bany) {
                let targets = &[(Pc(next), live)];
                observer.branch(&Branch { group: group.id, pc: Pc(group.pc), targets });
            }
            group.pc = next;
        }
        Ok(())
    }

    /// The semantics. Gives the address of the next instruction.
    fn execute<O: Observer<1>>(&mut self, i: Insn, on: WarpMask, o: &mut O) -> Result<u64, Stop> {
        let w = self.width as usize;
        let Some(g) = &mut self.group else { return Ok(0) };
        let [d, a, b, c] = i.fields;
        let (ud, ua, ub) = (d as usize, a as usize, b as usize);
        let column = |register: usize| Operand::Column(register * w);
        let ra_rb = || [column(ua), column(ub)];
        let mut lane_wise = |sources: [Operand<u64>; 2], f: fn(u64, u64) -> u64| {
            map_columns(&on, Inactive::Merge, w, &mut g.r, ud * w, sources, |[x, y]| f(x, y));
        };
        let next = g.pc.wrapping_add(i.length);
        let jump =
            |taken: bool, distance| if taken { g.pc.wrapping_add_signed(distance) } else { next };
        match i.op {
            Op::Add => lane_wise(ra_rb(), int::add::<u64>),
            Op::Sub => lane_wise(ra_rb(), int::sub::<u64>),
            Op::Mul => lane_wise(ra_rb(), int::mul_lo::<u64>),
            Op::Addi => lane_wise([column(ua), Operand::Uniform(b as u64)], int::add::<u64>),
            Op::Mov => lane_wise([column(ua), Operand::Uniform(0)], |x, _| x),
            Op::Splat => lane_wise([Operand::Uniform(g.s[ua]), Operand::Uniform(0)], |x, _| x),
            Op::Li => lane_wise([Operand::Uniform(a as u64), Operand::Uniform(0)], |x, _| x),
            Op::Tid => {
                let first = u64::from(g.id.first_thread);
                fill(&on, Inactive::Merge, &mut g.r[ud * w..][..w], |lane| first + lane as u64);
            }
            Op::Slt => {
                let less = |l: usize| int::holds::<i64>(Cmp::Lt, g.r[ua * w + l], g.r[ub * w + l]);
                g.p[ud] = (g.p[ud] - on) | on.filter(less);
            }
            Op::Lw | Op::Sw => self.access(i.op == Op::Lw, (ud, ua, c), on, o)?,
            Op::SAdd => g.s[ud] = int::add::<u64>(g.s[ua], g.s[ub]),
            Op::SSub => g.s[ud] = int::sub::<u64>(g.s[ua], g.s[ub]),
            Op::SLi => g.s[ud] = a as u64,
            Op::SAddi => g.s[ud] = int::add::<u64>(g.s[ua], b as u64),
            Op::SBnz => return Ok(jump(g.s[ud] != 0, a)),
            Op::Bany => return Ok(jump((g.live & g.p[ud]).any(), a)),
            Op::Halt => g.live -= on,
            Op::Trap => return Err((Trap::Trap(d), on)),
        }
        Ok(next)
    }

    /// A load or store: every lane's access is checked before the first takes effect.
    fn access<O: Observer<1>>(
        &mut self,
        load: bool,
        (register, base, offset): (usize, usize, i64),
        on: WarpMask,
        observer: &mut O,
    ) -> Result<(), Stop> {
        let w = self.width as usize;
        let Some(Group { id, pc, r, .. }) = &mut self.group else { return Ok(()) };
        let address = |r: &[u64], lane: usize| Addr(r[base * w + lane].wrapping_add_signed(offset));
        let kind = if load { AccessKind::Load } else { AccessKind::Store };
        let wrong = on.filter(|l| self.memory.check(kind, address(r, l), 4, 4).is_err());
        if let Some(lane) = wrong.lowest() {
            let refused = self.memory.check(kind, address(r, lane), 4, 4);
            return refused.map_err(|error| (Trap::Access(error), wrong));
        }
        if observer.wants(Events::ACCESS) {
            let lanes: Vec<(u16, u64)> = on.iter().map(|l| (l as u16, address(r, l).0)).collect();
            let (pc, space, size) = (Pc(*pc), Space::Global, 4);
            let (order, scope) = Default::default();
            observer.access(&Access {
                group: *id,
                pc,
                kind,
                space,
                owner: id.cta,
                order,
                scope,
                size,
                lanes: &lanes,
                values: &[],
            });
        }
        let fault = |error| (Trap::Access(error), on);
        for lane in on {
            let at = address(r, lane);
            if load {
                let word = self.memory.load(at, Width::B4).map_err(fault)?;
                r[register * w + lane] = int::convert::<i32, u64>(word);
            } else {
                self.memory.store(at, Width::B4, r[register * w + lane]).map_err(fault)?;
            }
        }
        Ok(())
    }
}
