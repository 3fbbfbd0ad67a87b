//! What every kernel begins and ends with: registers from the input, and to the output.

use std::collections::BTreeSet;

use crate::determinate;
use crate::kernel::{Stmt, code, text_of};
use crate::operands::{long, registers, word};
use crate::random::Generator;
use crate::templates::Class;

impl Generator<'_> {
    /// Which thread this is, and who is there.
    pub(crate) fn begin(&mut self) -> Vec<Stmt> {
        let mut begin = vec![
            code(&[
                "mov.u32 %t0, %tid.y;",
                "mov.u32 %t1, %ntid.x;",
                "mov.u32 %i, %tid.x;",
                "mad.lo.u32 %i, %t0, %t1, %i;",
                "mov.u32 %t0, %tid.z;",
                "mov.u32 %t2, %ntid.y;",
                "mul.lo.u32 %t1, %t1, %t2;",
                "mad.lo.u32 %i, %t0, %t1, %i;",
            ]),
            Stmt::Code(vec![
                "mov.u32 %u2, %ctaid.x;".to_owned(),
                format!("mad.lo.u32 %g, %u2, {}, %i;", self.threads()),
            ]),
        ];
        if self.determinate() {
            begin.extend(determinate::begin(self.threads()));
        } else {
            begin.extend([code(&["activemask.b32 %all;"]), code(&["mov.u32 %sm, sm;"])]);
        }
        begin
    }

    /// Lanes' registers from the input, two or four by one load.
    pub(crate) fn inputs(&mut self, class: Class, body: &mut Vec<Stmt>) {
        let (name, count, ..) = registers(class);
        let (bits, vector) = match class {
            Class::B16 => (16, 2),
            Class::B32 => (32, 2),
            _ => (64, 2),
        };
        for k in (0..count).step_by(vector) {
            let at = self.rng.below(1024 / 16) * 16;
            let load = format!("ld.global.v2.b{bits} {{{name}{k}, {name}{}}}, [%a0+{at}];", k + 1);
            // Side by side, a cache line apart, or the same for several lanes.
            let index = ["%i", "%i", "%laneid", "%u2"][self.rng.below(4)];
            let (mut lines, mut from) = (Vec::new(), index);
            if index == "%laneid" {
                lines.push("mov.u32 %t0, %laneid;".to_owned());
                from = "%t0";
            }
            lines.push(format!("mad.wide.u32 %a0, {from}, {}, %in;", bits / 8 * vector));
            lines.push(load);
            body.push(Stmt::Code(lines));
        }
        for k in (0..count).filter(|_| class == Class::B32) {
            let line = match self.rng.below(8) {
                0 => format!("mov.u32 %r{k}, {:#x};", word(&mut self.rng)),
                1 => format!("mul.lo.u32 %r{k}, %i, {};", self.rng.below(9)),
                _ => continue,
            };
            body.push(Stmt::line(line));
        }
    }

    /// What follows from other registers.
    pub(crate) fn rest(&mut self) -> Vec<Stmt> {
        let special = word(&mut self.rng);
        vec![
            Stmt::line(format!("mov.u32 %u4, {special:#x};")),
            code(&["mov.u32 %u5, %nctaid.x;"]),
            Stmt::line(format!("mov.u64 %v1, {:#x};", long(&mut self.rng))),
            code(&["cvt.s64.s32 %v2, %u0;"]),
            code(&["cvt.u16.u32 %uh0, %u1;"]),
            Stmt::line(format!("mov.u16 %uh1, {};", special & 0xffff)),
            code(&["setp.eq.u32 %up1, %u2, 1;"]),
            code(&["setp.lt.u32 %p0, %i, 16;"]),
            code(&["and.b32 %t0, %i, 1;", "setp.eq.u32 %p1, %t0, 1;"]),
            code(&["setp.gt.s32 %p2, %r0, 0;"]),
            code(&["setp.lt.f32 %p3, %r1, %r2;"]),
            code(&["setp.gt.s64 %p4, %d0, 0;"]),
            code(&["setp.ne.u32 %p5, %i, 3;"]),
            code(&["mov.b128 %q0, {%d0, %d1};"]),
            code(&["mov.b128 %q1, {%d2, %d3};"]),
            code(&["mov.b128 %q2, {%v0, %v1};"]),
        ]
    }
}

/// All registers, the carry flag, and some of shared and local memory, to the thread's part of the
/// output.
pub(crate) fn epilogue(determinate: bool) -> Vec<Stmt> {
    let store = |name: &'static str, bits: usize, from: usize, count: usize, vector: usize| {
        (0..count).step_by(vector).map(move |k| {
            let list: Vec<String> = (k..k + vector).map(|k| format!("{name}{k}")).collect();
            let at = from + k * bits / 8;
            Stmt::line(format!("st.global.v{vector}.b{bits} [%own+{at}], {{{}}};", list.join(", ")))
        })
    };
    let mut body = Vec::new();
    if determinate {
        body.push(determinate::carry(0, 1));
    }
    body.push(code(&["addc.u32 %t0, 0, 0;", "st.global.u32 [%own+340], %t0;"]));
    body.extend(store("%d", 64, 128, 8, 2));
    body.extend(store("%r", 32, 192, 8, 4));
    body.extend(store("%r", 32, 192, 10, 2).skip(4));
    body.extend(store("%h", 16, 232, 4, 4));
    body.extend(store("%h", 16, 232, 6, 2).skip(2));
    body.extend(store("%u", 32, 304, 6, 2));
    let mut predicates = vec!["mov.u32 %t0, 0;".to_owned()];
    predicates.extend((0..6).map(|k| format!("@%p{k} or.b32 %t0, %t0, {};", 1 << k)));
    predicates.push("st.global.u32 [%own+244], %t0;".to_owned());
    body.push(Stmt::Code(predicates));
    for k in 0..3 {
        body.push(Stmt::line(format!("st.global.b128 [%own+{}], %q{k};", 256 + 16 * k)));
    }
    body.push(if determinate {
        code(&["ld.shared.v2.u32 {%t0, %t1}, [%sm];", "st.global.v2.u32 [%own+328], {%t0, %t1};"])
    } else {
        code(&[
            "and.b32 %t0, %i, 511;",
            "mad.lo.u32 %t0, %t0, 4, %sm;",
            "ld.shared.u32 %t1, [%t0];",
            "st.global.u32 [%own+328], %t1;",
            "ld.shared.u32 %t1, [%sm];",
            "st.global.u32 [%own+332], %t1;",
        ])
    });
    body.push(code(&[
        "mov.u64 %a0, lm;",
        "ld.local.v4.u32 {%t0, %t1, %t2, %t3}, [%a0];",
        "st.global.v4.u32 [%own+352], {%t0, %t1, %t2, %t3};",
    ]));
    body
}

/// Takes out of what a kernel or a function ends with the stores of registers and memory that the
/// statements between do not write, and out of what it begins with the registers that nothing reads
/// then: much of the time goes to code for these. What writes the carry flag stays.
pub(crate) fn prune(before: &mut Vec<Stmt>, between: &[Stmt], after: &mut Vec<Stmt>) {
    let text = text_of(between);
    let written: BTreeSet<&str> = text.lines().flat_map(results).collect();
    after.retain_mut(|stmt| {
        let Stmt::Code(lines) = stmt else { return true };
        // A bit for each predicate.
        lines.retain(|line| !line.starts_with("@%p") || names(line).any(|p| written.contains(p)));
        let whole = lines.join("\n");
        if whole.contains("ld.shared") {
            return text.contains("sm");
        }
        if whole.contains("ld.local") {
            return text.contains("lm");
        }
        lines.len() > 1 || names(&whole).any(|n| written.contains(n))
    });
    let mut needed: BTreeSet<String> = names(&text).map(str::to_owned).collect();
    needed.extend(names(&text_of(after)).map(str::to_owned));
    let mut kept = Vec::new();
    for stmt in std::mem::take(before).into_iter().rev() {
        let writes =
            |line: &String| line.contains(".cc.") || results(line).any(|n| needed.contains(n));
        let wanted = match &stmt {
            Stmt::Code(lines) => lines.iter().any(writes),
            _ => true,
        };
        if wanted {
            needed.extend(names(&text_of(std::slice::from_ref(&stmt))).map(str::to_owned));
            kept.push(stmt);
        }
    }
    kept.reverse();
    *before = kept;
}

/// The registers in a text.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('%').map(|(at, _)| {
        let rest = &text[at + 1..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        &text[at..=at + end]
    })
}

/// The registers that an instruction writes, after its guard: those of its first operand.
fn results(line: &str) -> impl Iterator<Item = &str> {
    let line = line.strip_prefix('@').and_then(|l| l.split_once(' ')).map_or(line, |(_, l)| l);
    let operands = line.split_once(' ').map_or("", |(_, operands)| operands);
    let end = if operands.starts_with('{') { '}' } else { ',' };
    let first = operands.split(end).next().unwrap_or("");
    // An address is not a result.
    names(if first.starts_with('[') { "" } else { first })
}

/// What is at an offset of a thread's part of the output.
#[must_use]
pub fn meaning(offset: u64) -> String {
    match offset {
        0..128 => "memory that the thread stores to".to_owned(),
        128..192 => format!("%d{}", (offset - 128) / 8),
        192..232 => format!("%r{}", (offset - 192) / 4),
        232..244 => format!("%h{}", (offset - 232) / 2),
        244..248 => "%p0 to %p5, a bit each".to_owned(),
        256..304 => format!("%q{}", (offset - 256) / 16),
        304..328 => format!("%u{}", (offset - 304) / 4),
        328..336 => "shared memory".to_owned(),
        340..344 => "the carry flag".to_owned(),
        352..368 => "local memory".to_owned(),
        _ => "nothing".to_owned(),
    }
}
