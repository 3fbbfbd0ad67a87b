//! What the tests of the passes share: reading a module, and the parts of random kernels.

use ir::VerifiedModule;
use std::fmt::Write;

/// Threads of a launch.
pub(crate) const THREADS: u32 = 40;

/// Reads and verifies a module in text form.
pub(crate) fn verified(text: &str) -> VerifiedModule {
    let module = ir::text::parse(isa::FileId::default(), text)
        .unwrap_or_else(|d| panic!("{text}\n{:#?}", d.iter().collect::<Vec<_>>()));
    VerifiedModule::new(module).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

/// Declarations and first block of a random kernel.
pub(crate) const HEAD: &str = "
  reg %tid, %h, %n, %x: b32
  reg %p, %q: pred
  reg %at, %wide: b64
start:
  %at = ld.param.u64 [@out]
  %tid = sreg.u32 tid.x
  %wide = mulwide.u32 %tid, 4
  %at = add.u64 %at, %wide
  %h = mul.u32 %tid, 0x9e3779b1
  %n = mov.u32 0
";

/// A block's work: mixes the state, counts, stores; then `%p` is one bit in four of it, or true after 60 blocks.
pub(crate) fn work(out: &mut String, index: usize) {
    let _ = write!(
        out,
        "  %h = mad.u32 %h, 1664525, {}
  %n = add.u32 %n, 1
  st.global.u32 [%at], %h
  %x = shr.b32 %h, 13
  %x = and.b32 %x, 3
  %q = setp.gt.u32 %n, 60
  %p = setp.eq.or.u32 %x, {}, %q
",
        1_013_904_223 + index * 12_345,
        index % 4
    );
}
