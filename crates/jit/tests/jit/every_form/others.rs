//! Operations of the IR that no kernel of this test has: no instruction form of PTX yields them
//! alone. Other tests compare their results; the page takes their engines from these kernels.

use ir::Op;
use vm::Program;

/// The kernel whose blocks are looked at is the first function.
pub(super) struct Other {
    pub(super) op: Op,
    /// The tests that compare its results with those of the exact engine.
    pub(super) held: &'static str,
    text: &'static str,
}

pub(super) const OTHERS: &[Other] = &[
    Other {
        op: Op::AndNot,
        held: "`operations`, `patterns`",
        text: "
kernel @k(out: u64 global) {
  reg %h: b16
  reg %x: b32
  reg %w: b64
  reg %p, %q: pred
entry:
  %x = sreg.u32 tid.x
  %w = ld.param.u64 [@out]
  %h = cvt.u16.u32 %x
  %p = setp.gt.u32 %x, 3
  %q = setp.gt.u32 %x, 5
  %h = andn.b16 %h, 1
  %x = andn.b32 %x, 2
  %p = andn.pred %p, %q
  @%p st.global.b16 [%w], %h
  @%p st.global.b32 [%w + 4], %x
  %w = andn.b64 %w, 7
  st.global.b64 [%w + 8], %w
  ret
}
",
    },
    Other {
        op: Op::Call,
        held: "`calls`",
        text: "
kernel @k(out: u64 global) {
  reg %x: b32
  reg %w: b64
entry:
  %x = sreg.u32 tid.x
  %w = ld.param.u64 [@out]
  %x = call @double(%x)
  st.global.b32 [%w], %x
  ret
}
func @double(%a: b32) -> (%r: b32) {
entry:
  %r = add.u32 %a, %a
  ret
}
",
    },
    Other {
        op: Op::AssertFail,
        held: "",
        text: "
kernel @k(out: u64 global) {
  reg %w: b64
entry:
  %w = ld.param.u64 [@out]
  assertfail %w, %w, 3, %w, 1
  ret
}
",
    },
];

impl Other {
    /// Links its kernel.
    pub(super) fn program(&self) -> Program {
        let module = ir::text::parse(isa::FileId::default(), self.text)
            .unwrap_or_else(|found| panic!("{:#?}", found.iter().collect::<Vec<_>>()));
        Program::link(module).unwrap_or_else(|why| panic!("{why:?}"))
    }
}
