//! Kernels whose results follow from their inputs alone, on every machine.
//!
//! What the PTX ISA leaves open is left out: the schedule, addresses, the bits of approximations,
//! the order of sums in matrices, memory and flags that nothing has set.

use crate::kernel::{Stmt, code};
use crate::templates::{Group, Needs, Template, of};

/// Opcodes whose results tell more than their operands, or that have none.
const OPEN: &[&str] = &[
    "activemask",
    "elect",
    "cvta",
    "isspacep",
    "mapa",
    "getctarank",
    "createpolicy",
    "discard",
    "applypriority",
    "prefetch",
    "prefetchu",
    "cp",
    "ldmatrix",
    "stmatrix",
    "wmma",
    "nanosleep",
    "setmaxnreg",
    "pmevent",
    "griddepcontrol",
    "clusterlaunchcontrol",
];

/// Modifiers of the same kind.
const OPEN_WORDS: &[&str] = &[
    "approx",
    "full",
    "mmio",
    "async",
    "cluster",
    "shared::cluster",
    "param::func",
    "param::entry",
    // Metadata of a sparse matrix may not be any.
    "sp",
    "sp::ordered_metadata",
    "L2::cache_hint",
    "L2::evict_first",
    "L2::evict_last",
    "L2::evict_normal",
];

/// Elements of matrices whose sums depend on their order.
const FLOATS: &[&str] = &["f16", "bf16", "tf32", "f32", "f64", "e4m3", "e5m2"];

/// Lines that are tried together.
const CHUNK: usize = 128;

/// Those instructions that the front end takes for the version and target of a head.
pub(crate) fn templates(head: &str) -> Vec<Template> {
    let (version, sm) = declared(head);
    let mut forms = ptx::testing::instructions();
    forms.retain(|(form, _)| form.ptx <= version && form.sm <= sm);
    let mut known = Vec::new();
    for chunk in forms.chunks(CHUNK) {
        let texts: Vec<&str> = chunk.iter().map(|(_, text)| text.as_str()).collect();
        let refused = refused(head, &texts);
        let taken = chunk.iter().enumerate().filter(|(n, _)| !refused.contains(n));
        known.extend(taken.map(|(_, form)| form.clone()));
    }
    let mut all: Vec<Template> = of(&known).into_iter().filter(is_determinate).collect();
    for template in all.iter_mut().filter(|t| t.opcode == "shfl") {
        // A lane that is not there has nothing to give.
        template.needs = Needs::Warp;
    }
    all
}

/// The version and the target that a head declares.
fn declared(head: &str) -> ((u32, u32), u32) {
    let word = |name: &str| head.split_once(name).map_or("", |(_, rest)| rest.trim_start());
    let number = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse().unwrap_or(0)
    };
    let version = word(".version");
    let minor = version.split_once('.').map_or(0, |(_, minor)| number(minor));
    ((number(version), minor), number(word(".target").trim_start_matches("sm_")))
}

fn is_determinate(template: &Template) -> bool {
    let closed = match template.group {
        Group::Other => false,
        // Without a mask they are for the lanes that come together.
        Group::Collective => template.words().any(|word| word == "sync"),
        Group::Matrix => {
            template.opcode != "mma" || !template.words().any(|word| FLOATS.contains(&word))
        }
        _ => !template.seldom,
    };
    closed
        && !OPEN.contains(&template.opcode)
        && template.size <= 16
        && !template.words().any(|word| OPEN_WORDS.contains(&word))
}

/// The numbers of those lines that the front end does not take after a head.
fn refused(head: &str, lines: &[&str]) -> Vec<usize> {
    let file = ptx::testing::file("sm_100a", &lines.join("\n"));
    let (_, rest) = file.split_once(".address_size 64\n").unwrap_or(("", &file));
    let text = format!("{head}{rest}");
    let before = text.find(lines.first().copied().unwrap_or("")).unwrap_or(0);
    let first = text[..before].matches('\n').count();
    let (tree, mut found) = ptx::parse(isa::FileId(0), &text);
    found.append(ptx::lower(&tree, ptx::Select::Kernel("k")).1);
    let errors = found.iter().filter(|d| d.severity == isa::Severity::Error);
    let places = errors.filter_map(|d| d.primary.as_ref()).map(|label| label.span.range().start);
    places.filter_map(|at| text[..at].matches('\n').count().checked_sub(first)).collect()
}

/// The lanes that are there, the thread's slot of shared memory, and memory and flag set.
pub(crate) fn begin(threads: u32) -> Vec<Stmt> {
    let mut begin = vec![
        Stmt::Code(vec![
            "and.b32 %t0, %i, 0xffffffe0;".to_owned(),
            format!("sub.u32 %t0, {threads}, %t0;"),
            // Shifts by 32 and more shift everything out.
            "shl.b32 %all, 1, %t0;".to_owned(),
            "sub.u32 %all, %all, 1;".to_owned(),
        ]),
        code(&["mov.u32 %sm, sm;", "mad.lo.u32 %sm, %i, 16, %sm;", "mov.u32 %t0, 0;"]),
        code(&["st.shared.v4.u32 [%sm], {%t0, %t0, %t0, %t0};", "mov.u64 %a0, lm;"]),
    ];
    let zeros = |k| format!("st.local.v4.u32 [%a0+{}], {{%t0, %t0, %t0, %t0}};", 16 * k);
    begin.push(Stmt::Code((0..8).map(zeros).collect()));
    begin
}

/// A statement that sets the carry flag.
pub(crate) fn carry(a: usize, b: usize) -> Stmt {
    Stmt::line(carry_line(a, b))
}

/// The carry flag of the sum of two registers.
pub(crate) fn carry_line(a: usize, b: usize) -> String {
    format!("add.cc.u32 %t0, %r{a}, %r{b};")
}
