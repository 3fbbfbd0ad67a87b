//! What machines refuse: each kernel here needs something that one of them lacks, and each refusal
//! says what, where, and what to do.

use crate::page::check_page;
use ir::{FuncId, VerifiedModule};
use lower::legal::Launch;
use lower::{Refused, linx, nested, pmask, prf};
use std::fmt::Write;

const PAGE: &str = include_str!("../../../../docs/one-kernel.md");

const SMALL: Launch = Launch { grid: [2, 1, 1], block: [64, 1, 1], shared: 0 };

/// A kernel: what it is, its text in PTX with the lines of its body, and its launch.
struct Case {
    about: &'static str,
    outside: &'static str,
    body: &'static str,
    launch: Launch,
}

const fn case(about: &'static str, body: &'static str) -> Case {
    Case { about, outside: "", body, launch: SMALL }
}

const CASES: &[Case] = &[
    case("a barrier of a cluster", "barrier.cluster.arrive;\nbarrier.cluster.wait;"),
    case("a matrix", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r1];"),
    case("an atomic of 128 bits", "atom.global.exch.b128 %q, [%out], %q;"),
    case("a load that waits for another thread's store", "ld.acquire.gpu.u32 %r0, [%out];"),
    case("a collective of some lanes", "vote.sync.ballot.b32 %r0, %p, 0xff;"),
    case("a collective of lanes that a register names", "shfl.sync.idx.b32 %r0, %r1, 0, 31, %r2;"),
    case("a barrier of some threads", "bar.sync 0, 32;"),
    case("an asynchronous barrier", "mbarrier.init.shared.b64 [%r0], 1;"),
    Case {
        outside: ".func (.reg .b32 %a) twice(.reg .b32 %b) {\n  add.u32 %a, %b, %b;\n  ret;\n}\n",
        ..case(
            "a call through an address",
            "mov.u64 %out, twice;\n\
               call (%r0), %out, (%r1), proto;\nproto: .callprototype (.reg .b32 _) _ (.reg .b32 _);",
        )
    },
    Case {
        outside: ".func again(.reg .b32 %b) {\n  .reg .b32 %c;\n  sub.u32 %c, %b, 1;\n  call again, (%c);\n  ret;\n}\n",
        ..case("recursion", "call again, (%r0);")
    },
    Case {
        launch: Launch { block: [1024, 1, 1], ..SMALL },
        ..case(
            "local memory of 400 kB a thread, blocks of 1024",
            ".local .align 4 .b8 big[400000];\nmov.u64 %out, big;\nst.local.u32 [%out+4096], %r0;",
        )
    },
    Case {
        launch: Launch { shared: 1 << 30, ..SMALL },
        ..case(
            "shared memory of 1 GB",
            ".shared .align 4 .b8 tile[16];\nst.shared.u32 [tile], %r0;",
        )
    },
    Case {
        launch: Launch { block: [2048, 1, 1], ..SMALL },
        ..case("blocks of 2048 threads", "mov.u32 %r0, %tid.x;\nbar.sync 0;")
    },
    Case {
        launch: Launch { grid: [u32::MAX, 2, 1], ..SMALL },
        ..case("grids of 2^33 blocks", "vote.sync.ballot.b32 %r0, %p, 0xffffffff;")
    },
];

impl Case {
    fn module(&self) -> VerifiedModule {
        let text = format!(
            ".version 8.4\n.target sm_90\n.address_size 64\n{}.visible .entry k(.param .u64 p) {{\n\
             .reg .b32 %r<4>;\n.reg .pred %p;\n.reg .b64 %out;\n.reg .b128 %q;\n\
             ld.param.u64 %out, [p];\n{}\nst.global.u32 [%out], %r0;\nret;\n}}\n",
            self.outside, self.body
        );
        let (tree, errors) = ptx::parse(isa::FileId::default(), &text);
        assert!(!errors.has_errors(), "{text}\n{:#?}", errors.iter().collect::<Vec<_>>());
        let (module, found) = ptx::lower(&tree, ptx::Select::All);
        let module =
            module.unwrap_or_else(|| panic!("{text}\n{:#?}", found.iter().collect::<Vec<_>>()));
        VerifiedModule::new(module).unwrap()
    }
}

/// What each machine says of a kernel.
fn said(module: &VerifiedModule, launch: Launch) -> [(&'static str, Option<Refused>); 3] {
    let kernel = module.functions.iter().position(ir::Function::is_kernel).unwrap();
    let kernel = FuncId(kernel as u32);
    let options = pmask::Options::default();
    [
        ("linx", linx::linx(module, kernel, launch, &|_| None).err()),
        ("pmask", pmask::pmask(module, kernel, options, &launch, &|_| None).err()),
        ("prf", prf::prf_for(module, kernel, 16, &launch, &|_| None).err()),
    ]
}

fn rows(out: &mut String, about: &str, module: &VerifiedModule, launch: Launch) -> usize {
    let mut refused = 0;
    for (machine, why) in said(module, launch) {
        let Some(why) = why else { continue };
        refused += 1;
        let text = why.to_string();
        assert!(!text.contains("valid form"), "{about} on {machine}: {text}");
        let _ = writeln!(out, "| {about} | {machine} | {text} | {} |", why.advice());
    }
    refused
}

#[test]
fn the_page_has_what_machines_refuse() {
    let mut table = String::from(
        "| kernel | machine | refused because | what it would need |\n|---|---|---|---|\n",
    );
    for case in CASES {
        let refused = rows(&mut table, case.about, &case.module(), case.launch);
        assert!(refused > 0, "{}: nothing refuses it", case.about);
    }
    let deep = deep();
    assert!(rows(&mut table, "1000 conditionals inside one another", &deep, SMALL) > 0);
    let (start, end) = ("<!-- refused -->\n\n", "\n<!-- end of refused -->");
    let (before, rest) = PAGE.split_once(start).expect("has the mark");
    let (_, after) = rest.split_once(end).expect("has the mark");
    check_page("one-kernel.md", PAGE, &format!("{before}{start}{table}{end}{after}"));
}

fn deep() -> VerifiedModule {
    super::programs::verified(&nested::text(1000))
}

/// Refusals of operations say where they are; those of a launch are of the whole kernel.
#[test]
fn refusals_of_operations_have_a_line() {
    for case in CASES.iter().filter(|case| case.launch == SMALL) {
        let module = case.module();
        for (machine, why) in said(&module, case.launch) {
            let Some(why) = why else { continue };
            assert_ne!(why.loc(), ir::LocId(0), "{} on {machine}: {why}", case.about);
        }
    }
}
