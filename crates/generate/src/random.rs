//! Random kernels from the front end's forms. A seed alone says what a kernel is.

use std::collections::BTreeMap;

use ir::testing::Rng;

use crate::determinate;
use crate::frame::{epilogue, prune};
use crate::kernel::{Function, Kernel, Shape, Stmt, code};
use crate::operands::{Operands, Sharing, registers, word};
use crate::templates::{Class, Group, Needs, Template, templates};

/// Instructions by group and opcode.
pub struct Pool {
    /// In the order of the table.
    pub all: Vec<Template>,
    groups: BTreeMap<Group, Vec<Vec<usize>>>,
    /// Whether results follow from inputs alone.
    determinate: bool,
}

impl Default for Pool {
    fn default() -> Self {
        Self::new()
    }
}

impl Pool {
    /// All instructions that kernels are made of.
    #[must_use]
    pub fn new() -> Self {
        Self::of(templates(), false)
    }

    /// The instructions of a PTX version and a target whose results follow from their operands
    /// alone. Kernels of these give the same results under every schedule: threads write memory of
    /// their own, begin with all memory and registers set, and no instruction tells the schedule,
    /// an address, or a value that the PTX ISA leaves open (approximations, sums of matrices).
    /// `head` declares version, target and address size.
    #[must_use]
    pub fn determinate(head: &str) -> Self {
        Self::of(determinate::templates(head), true)
    }

    fn of(all: Vec<Template>, determinate: bool) -> Self {
        let mut groups: BTreeMap<Group, BTreeMap<&str, Vec<usize>>> = BTreeMap::new();
        for (number, template) in all.iter().enumerate().filter(|(_, t)| !t.seldom) {
            let opcodes = groups.entry(template.group).or_default();
            opcodes.entry(template.opcode).or_default().push(number);
        }
        let groups = groups.into_iter().map(|(g, all)| (g, all.into_values().collect()));
        Self { groups: groups.collect(), all, determinate }
    }

    fn any(&self, group: Group, rng: &mut Rng) -> usize {
        let opcodes = self.groups.get(&group).map_or(&[] as &[_], Vec::as_slice);
        rng.pick(opcodes).and_then(|numbers| rng.pick(numbers)).copied().unwrap_or(0)
    }
}

/// Of each kernel so many instructions are those of its seed's number, so that kernels of
/// successive seeds have all there are.
const FEATURES: usize = 3;

/// One of so many kernels and functions has all registers, whether it names them or not.
const WHOLE: usize = 6;

const BLOCKS: &[[u32; 3]] = &[
    [32, 1, 1],
    [32, 1, 1],
    [64, 1, 1],
    [96, 1, 1],
    [128, 1, 1],
    [1, 1, 1],
    [31, 1, 1],
    [33, 1, 1],
    [63, 1, 1],
    [65, 1, 1],
    [16, 2, 1],
    [8, 4, 2],
    [5, 7, 1],
];

/// Where a statement stands.
#[derive(Clone, Copy)]
struct At {
    /// How many loops it is in.
    depth: usize,
    /// How many statements with others in them.
    nesting: usize,
    /// Whether all threads of the block come here together.
    converged: bool,
    /// The loop that may be left.
    inside: Option<usize>,
}

pub(crate) struct Generator<'p> {
    pool: &'p Pool,
    pub(crate) rng: Rng,
    shape: Shape,
    /// Whether threads may end early.
    exits: bool,
    sharing: Sharing,
    name: String,
    functions: usize,
    next: usize,
}

/// The kernel of a seed.
#[must_use]
pub fn kernel(pool: &Pool, seed: u64) -> Kernel {
    named(pool, seed, "k")
}

/// The kernel of a seed with another name than `k`.
#[must_use]
pub fn named(pool: &Pool, seed: u64, name: &str) -> Kernel {
    let mut rng = Rng::new(seed);
    let first = (seed as usize).wrapping_mul(FEATURES);
    let features: Vec<usize> = (0..FEATURES).map(|k| (first + k) % pool.all.len()).collect();
    let whole = features.iter().any(|&f| pool.all[f].needs == Needs::Warp);
    let block = loop {
        let block = BLOCKS[rng.below(BLOCKS.len())];
        if !whole || block.iter().product::<u32>().is_multiple_of(32) {
            break block;
        }
    };
    let shape = Shape { grid: [1, 1, 1, 2, 2, 3, 5][rng.below(7)], block };
    // Collectives of a determinate kernel name the lanes that are there.
    let together = |f: &usize| pool.determinate && pool.all[*f].group == Group::Collective;
    let exits = rng.one_in(10) && !whole && !features.iter().any(together);
    let functions = [0, 0, 1, 2][rng.below(4)];
    let apart = shape.grid > 1 && rng.one_in(2);
    let sharing = match (pool.determinate, apart) {
        (true, _) => Sharing::Nobody,
        (false, true) => Sharing::Block,
        (false, false) => Sharing::Grid,
    };
    let name = name.to_owned();
    let mut generator = Generator { pool, rng, shape, exits, sharing, name, functions, next: 0 };
    let mut all: Vec<Function> = (0..functions).map(|n| generator.function(n)).collect();
    all.push(generator.entry(&features));
    Kernel { seed, name: generator.name, shape, functions: all }
}

/// A kernel with these instructions alone, each by all lanes at one address.
#[must_use]
pub fn at_one_address(
    pool: &Pool,
    instructions: &[usize],
    shape: Shape,
    thrown_away: bool,
) -> Kernel {
    let seed = instructions.first().map_or(0, |&n| n as u64) << 1 | u64::from(thrown_away);
    let rng = Rng::new(seed);
    let (sharing, name) = (Sharing::Grid, "k".to_owned());
    let mut generator =
        Generator { pool, rng, shape, exits: false, sharing, name, functions: 0, next: 0 };
    let mut entry = generator.entry(&[]);
    let own: Vec<Stmt> = instructions
        .iter()
        .map(|&number| {
            let mut operands = generator.operands(false, "%all".to_owned());
            operands.thrown_away = Some(thrown_away);
            let text = operands.instruction(&pool.all[number]);
            operands.lines.push(text);
            Stmt::Code(operands.lines)
        })
        .collect();
    let end = entry.body.len() - epilogue(pool.determinate).len();
    entry.body.splice(end..end, own);
    Kernel { seed, name: generator.name, shape, functions: vec![entry] }
}

impl Generator<'_> {
    fn id(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    fn operands(&mut self, uniform: bool, members: String) -> Operands<'_> {
        Operands::new(&mut self.rng, self.shape, self.sharing, uniform, members)
    }

    pub(crate) fn threads(&self) -> u32 {
        self.shape.block.iter().product()
    }

    pub(crate) fn determinate(&self) -> bool {
        self.pool.determinate
    }

    fn entry(&mut self, features: &[usize]) -> Function {
        let head = format!(
            ".visible .entry {}(.param .u64 in, .param .u64 out, .param .u64 racy, \
             .param .u64 wide, \
             .param .u32 v0, .param .u32 v1, .param .u64 v2, .param .align 16 .b8 blob[64])",
            self.name
        );
        let mut body = self.begin();
        body.extend([
            code(&["ld.param.u64 %in, [in];"]),
            code(&["ld.param.u64 %racy, [racy];"]),
            code(&["ld.param.u64 %wide, [wide];"]),
            code(&["ld.param.u64 %own, [out];", "mad.wide.u32 %own, %g, 384, %own;"]),
            code(&["ld.param.u32 %u0, [v0];"]),
            code(&["ld.param.u32 %u1, [v1];"]),
            code(&["ld.param.u64 %v0, [v2];"]),
            code(&["setp.lt.s32 %up0, %u0, %u1;"]),
        ]);
        for class in [Class::B32, Class::B64, Class::B16] {
            self.inputs(class, &mut body);
        }
        body.extend(self.rest());
        body.push(match self.determinate() {
            true => code(&["mov.u32 %u3, 77;"]),
            false => code(&["redux.sync.or.b32 %u3, %r0, %all;"]),
        });
        let at = At { depth: 0, nesting: 0, converged: !self.exits, inside: None };
        let mut middle: Vec<Stmt> = Vec::new();
        for &feature in features {
            middle.push(self.instruction(feature, at));
        }
        let more = if features.is_empty() { 0 } else { 4 + self.rng.below(6) };
        for _ in 0..more {
            let stmt = self.statement(at);
            let place = self.rng.below(middle.len() + 1);
            middle.insert(place, stmt);
        }
        let mut end = epilogue(self.determinate());
        // A determinate kernel sets memory that no register tells of.
        if !self.determinate() && !features.is_empty() && !self.rng.one_in(WHOLE) {
            prune(&mut body, &middle, &mut end);
        }
        body.extend(middle);
        body.extend(end);
        Function { head, body }
    }

    fn function(&mut self, number: usize) -> Function {
        let head = format!(
            ".func (.param .b32 fr) {}_f{number}(.param .b32 fa, .param .b32 fb, \
             .param .b64 fin, .param .b64 fracy, \
             .param .b64 fwide, .param .b64 fown, .param .align 16 .b8 blob[64])",
            self.name
        );
        let mut body = self.begin();
        body.extend([
            code(&["ld.param.u64 %in, [fin];"]),
            code(&["ld.param.u64 %racy, [fracy];"]),
            code(&["ld.param.u64 %wide, [fwide];"]),
            code(&["ld.param.u64 %own, [fown];"]),
            code(&["ld.param.b32 %r0, [fa];"]),
            code(&["ld.param.b32 %u0, [fb];"]),
            code(&["ld.param.b32 %r1, [fb];"]),
            code(&["setp.lt.s32 %up0, %u0, 7;"]),
        ]);
        for k in 2..registers(Class::B32).1 {
            body.push(Stmt::line(format!(
                "xor.b32 %r{k}, %r{}, {:#x};",
                k - 2,
                word(&mut self.rng)
            )));
        }
        for k in 0..registers(Class::B64).1 {
            body.push(Stmt::line(format!("mov.b64 %d{k}, {{%r{k}, %r{}}};", (k * 3 + 1) % 10)));
        }
        for k in 0..registers(Class::B16).1 {
            body.push(Stmt::line(format!("cvt.u16.u32 %h{k}, %r{k};")));
        }
        if !self.rng.one_in(4) {
            body.push(code(&["add.cc.u32 %t0, %r0, %r1;"]));
        }
        body.push(code(&["mov.u32 %u1, 77;"]));
        body.push(code(&["mov.u32 %u3, 0xffffffff;"]));
        body.push(code(&["mov.u64 %v0, 1;"]));
        body.extend(self.rest());
        // Lanes come to a function in groups of any size.
        let at = At { depth: 1, nesting: 2, converged: false, inside: None };
        let mut middle: Vec<Stmt> =
            (0..1 + self.rng.below(4)).map(|_| self.statement(at)).collect();
        let result = self.rng.below(10);
        middle.push(Stmt::line(format!("st.param.b32 [fr], %r{result};")));
        if !self.determinate() && !self.rng.one_in(WHOLE) {
            prune(&mut body, &middle, &mut Vec::new());
        }
        body.extend(middle);
        Function { head, body }
    }

    fn statement(&mut self, at: At) -> Stmt {
        let deep = at.nesting >= 3;
        match self.rng.below(26) {
            0..=2 if !deep => self.branch(at),
            3..=5 if !deep && at.depth < 2 => self.again(at),
            6 if !deep => self.switch(at),
            7 if self.functions > 0 && at.nesting < 2 => self.call(),
            8 if at.inside.is_some() => {
                let id = at.inside.unwrap_or(0);
                let (sign, p) = (["", "!"][self.rng.below(2)], self.rng.below(6));
                Stmt::line(format!("@{sign}%p{p} bra end_{id};"))
            }
            9 if self.exits => Stmt::line(format!("@%p{} exit;", self.rng.below(6))),
            10 | 11 => self.chain(),
            12 => self.special_register(),
            13 => self.uniform_value(at),
            14 | 15 => self.accesses(),
            _ => {
                let group = self.group(at);
                let number = self.pool.any(group, &mut self.rng);
                self.instruction(number, at)
            }
        }
    }

    fn group(&mut self, at: At) -> Group {
        let whole = self.threads().is_multiple_of(32);
        let group = match self.rng.below(100) {
            0..45 => Group::Compute,
            45..55 => Group::Carry,
            55..70 => Group::Memory,
            70..84 => Group::Atomic,
            84..93 => Group::Collective,
            93..96 if at.converged => Group::Barrier,
            96..98 if at.converged && whole => Group::Matrix,
            98 => Group::Other,
            _ => Group::Compute,
        };
        // A determinate kernel knows the lanes only where all are there.
        let open = group == Group::Other || group == Group::Collective && !(at.converged && whole);
        if self.determinate() && open { Group::Compute } else { group }
    }

    fn list(&mut self, at: At, most: usize) -> Vec<Stmt> {
        (0..1 + self.rng.below(most)).map(|_| self.statement(at)).collect()
    }

    /// A predicate, or a comparison that makes one.
    fn test(&mut self, converged: bool) -> (Vec<String>, String) {
        let sign = ["", "!"][self.rng.below(2)];
        if converged {
            return (Vec::new(), format!("{sign}%up{}", self.rng.below(2)));
        }
        if self.rng.one_in(2) {
            return (Vec::new(), format!("{sign}%p{}", self.rng.below(6)));
        }
        let (ty, class) = [
            ("lt.u32", Class::B32),
            ("lt.s32", Class::B32),
            ("gt.f32", Class::B32),
            ("ne.b32", Class::B32),
            ("geu.f32", Class::B32),
            ("le.u64", Class::B64),
            ("lt.f64", Class::B64),
            ("eq.s16", Class::B16),
        ][self.rng.below(8)];
        let mut operands = self.operands(false, String::new());
        let (a, b) = (operands.source(class, None), operands.source(class, None));
        (vec![format!("setp.{ty} %c7, {a}, {b};")], format!("{sign}%c7"))
    }

    fn branch(&mut self, at: At) -> Stmt {
        let id = self.id();
        let converged = at.converged && self.rng.one_in(3);
        let (test, guard) = self.test(converged);
        let at = At { nesting: at.nesting + 1, converged, ..at };
        let then = self.list(at, 4);
        let otherwise = if self.rng.one_in(2) { self.list(at, 3) } else { Vec::new() };
        Stmt::If { id, test, guard, then, otherwise }
    }

    fn again(&mut self, at: At) -> Stmt {
        let id = self.id();
        let most = [[15, 7, 7, 3, 1], [3, 3, 1, 1, 2]][at.depth.min(1)][self.rng.below(5)];
        let n = at.depth;
        let constant = self.rng.one_in(4);
        let init = if constant {
            format!("mov.u32 %n{n}, {};", self.rng.below(most + 1))
        } else {
            let from = match self.rng.below(4) {
                0 | 1 => "%i".to_owned(),
                2 => format!("%r{}", self.rng.below(10)),
                _ => format!("%u{}", self.rng.below(3)),
            };
            format!("and.b32 %n{n}, {from}, {most};")
        };
        let converged = at.converged && constant && self.rng.one_in(2);
        let inside = if converged { None } else { Some(id) };
        let at = At { depth: n + 1, nesting: at.nesting + 1, converged, inside };
        let body = self.list(at, 4);
        Stmt::Loop { id, depth: n, init: vec![init], tested_first: self.rng.one_in(3), body }
    }

    fn switch(&mut self, at: At) -> Stmt {
        let id = self.id();
        let arms = 2 + 2 * self.rng.below(2);
        let register = "%t5".to_owned();
        let converged = at.converged && self.rng.one_in(4);
        let from = match (converged, self.rng.below(3)) {
            (true, k) => format!("%u{k}"),
            (_, 0) => "%i".to_owned(),
            _ => format!("%r{}", self.rng.below(10)),
        };
        let index = vec![format!("and.b32 {register}, {from}, {};", arms - 1)];
        let at = At { nesting: at.nesting + 1, converged, ..at };
        let arms = (0..arms).map(|_| self.list(at, 2)).collect();
        Stmt::Switch { id, index, register, arms }
    }

    fn call(&mut self) -> Stmt {
        let (number, a, b) =
            (self.rng.below(self.functions), self.rng.below(10), self.rng.below(3));
        let b = if self.rng.one_in(2) { format!("%u{b}") } else { format!("%r{b}") };
        Stmt::Code(vec![
            "{".to_owned(),
            ".param .b32 c0; .param .b32 c1; .param .b64 c2; .param .b64 c3;".to_owned(),
            ".param .b64 c4; .param .b64 c5;".to_owned(),
            ".param .align 16 .b8 c6[64]; .param .b32 cr;".to_owned(),
            format!("st.param.b32 [c0], %r{a};"),
            format!("st.param.b32 [c1], {b};"),
            "st.param.b64 [c2], %in;".to_owned(),
            "st.param.b64 [c3], %racy;".to_owned(),
            "st.param.b64 [c4], %wide;".to_owned(),
            "st.param.b64 [c5], %own;".to_owned(),
            format!("st.param.v4.b32 [c6], {{%r{a}, {b}, %r1, %r2}};"),
            format!("call (cr), {}_f{number}, (c0, c1, c2, c3, c4, c5, c6);", self.name),
            format!("ld.param.b32 %r{}, [cr];", self.rng.below(10)),
            "}".to_owned(),
        ])
    }

    /// Some instructions that hand a carry on.
    fn chain(&mut self) -> Stmt {
        let uniform = self.rng.one_in(3);
        let mut lines = Vec::new();
        if self.determinate() {
            lines.push(self.carry());
        }
        for _ in 0..1 + self.rng.below(3) {
            let number = self.pool.any(Group::Carry, &mut self.rng);
            let pool = self.pool;
            let template = &pool.all[number];
            lines.push(self.operands(uniform, String::new()).instruction(template));
        }
        Stmt::Code(lines)
    }

    /// Accesses at one base and one index, which counts words or structures that begin with a word:
    /// loads of the input, or loads and stores in shared memory.
    fn accesses(&mut self) -> Stmt {
        let from = ["%i", "%g", "%r3", "%r7"][self.rng.below(4)];
        let mut lines = vec![format!("and.b32 %t3, {from}, {};", [7, 15, 31][self.rng.below(3)])];
        if self.rng.one_in(2) {
            lines.push(format!("xor.b32 %t3, %t3, {};", 1 + self.rng.below(6)));
        }
        let guard = ["", "", "@%p2 ", "@!%p4 "][self.rng.below(4)];
        let shared = !self.determinate() && self.rng.one_in(2);
        for number in 0..2 + self.rng.below(3) {
            let (ty, register, count, bytes) = [
                ("u32", "%r", 10, 4),
                ("b32", "%r", 10, 4),
                ("s32", "%d", 8, 4),
                ("u16", "%h", 6, 2),
                ("b64", "%d", 8, 8),
            ][self.rng.below(5)];
            let value = format!("{register}{}", self.rng.below(count));
            let (unit, offset) = (bytes << self.rng.below(3), bytes * self.rng.below(4));
            if !shared {
                let sign = ["u32", "s32"][self.rng.below(2)];
                lines.push(format!("mad.wide.{sign} %a{number}, %t3, {unit}, %in;"));
                lines.push(format!("{guard}ld.global.{ty} {value}, [%a{number}+{offset}];"));
                continue;
            }
            lines.push(format!("mad.lo.u32 %t4, %t3, {unit}, %sm;"));
            lines.push(match self.rng.one_in(3) {
                true => {
                    format!("{guard}st.shared.{} [%t4+{offset}], {value};", ty.replace('s', "u"))
                }
                false => format!("{guard}ld.shared.{ty} {value}, [%t4+{offset}];"),
            });
        }
        Stmt::Code(lines)
    }

    /// Sets the carry flag.
    fn carry(&mut self) -> String {
        let (a, b) = (self.rng.below(10), self.rng.below(10));
        determinate::carry_line(a, b)
    }

    fn special_register(&mut self) -> Stmt {
        let names = [
            "tid.x",
            "tid.y",
            "ntid.x",
            "ctaid.x",
            "nctaid.x",
            "laneid",
            "lanemask_eq",
            "lanemask_lt",
            "lanemask_le",
            "lanemask_gt",
            "lanemask_ge",
            "warpid",
            "nwarpid",
        ];
        // The number of a warp is the hardware's.
        let hidden = if self.determinate() { 2 } else { 0 };
        let name = names[self.rng.below(names.len() - hidden)];
        Stmt::line(format!("mov.u32 %r{}, %{name};", self.rng.below(10)))
    }

    /// A register that is the same in all lanes, by what an analysis may or may not know.
    fn uniform_value(&mut self, at: At) -> Stmt {
        let to = 3 + self.rng.below(3);
        let from = self.rng.below(10);
        match self.rng.below(if self.determinate() { 2 } else { 4 }) {
            0 => Stmt::line(format!("ld.param.u32 %u{to}, [blob+{}];", 4 * self.rng.below(16))),
            1 => Stmt::line(format!("mov.u32 %u{to}, {:#x};", word(&mut self.rng))),
            2 if at.converged => Stmt::line(format!("redux.sync.max.s32 %u{to}, %r{from}, %all;")),
            _ => Stmt::Code(vec![
                "activemask.b32 %m;".to_owned(),
                format!("redux.sync.xor.b32 %u{to}, %r{from}, %m;"),
            ]),
        }
    }

    /// An instruction of the table, with operands, addresses and perhaps a guard.
    fn instruction(&mut self, number: usize, at: At) -> Stmt {
        let pool = self.pool;
        let template = &pool.all[number];
        let uniform = self.rng.one_in(6);
        let collective = template.group == Group::Collective;
        let whole = self.threads().is_multiple_of(32);
        let members = match self.rng.below(3) {
            0 if at.converged => "%all",
            1 if at.converged && whole => "0xffffffff",
            _ if self.determinate() => "%all",
            _ => "%m",
        };
        let guarded = template.needs == Needs::Nothing
            && (!collective || members == "%m")
            && self.rng.one_in(5);
        let carry = self.determinate() && template.group == Group::Carry;
        let carry = carry.then(|| self.carry());
        let mut operands = self.operands(uniform, members.to_owned());
        operands.lines.extend(carry);
        let text = operands.instruction(template);
        let mut lines = operands.lines;
        if members == "%m" && text.contains("%m") {
            lines.push("activemask.b32 %m;".to_owned());
        }
        lines.push(text);
        if guarded {
            let (sign, p) = (["", "!"][self.rng.below(2)], self.rng.below(6));
            let guard = if self.rng.one_in(6) { "%up0".to_owned() } else { format!("{sign}%p{p}") };
            let all = collective || self.rng.one_in(2);
            let from = if all { 0 } else { lines.len() - 1 };
            for line in lines.iter_mut().skip(from) {
                *line = format!("@{guard} {line}");
            }
        }
        Stmt::Code(lines)
    }
}
