//! Random kernels of integers and binary32 values: what each thread stores depends on where it has
//! been.

use super::prf::THREADS;
use ir::VerifiedModule;
use proptest::prelude::*;
use std::fmt::Write;

pub(crate) fn verified(text: &str) -> VerifiedModule {
    let module = ir::text::parse(isa::FileId::default(), text)
        .unwrap_or_else(|d| panic!("{text}\n{:#?}", d.iter().collect::<Vec<_>>()));
    VerifiedModule::new(module).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

const HEAD: &str = "
  reg %tid, %cta, %n, %h, %x, %y: b32
  reg %f, %g: b32
  reg %p, %q, %r: pred
  reg %at, %wide, %u, %v: b64
  reg %s: b16
start:
  %at = ld.param.u64 [@out]
  %y = ld.param.u32 [@word]
  %tid = sreg.u32 tid.x
  %cta = sreg.u32 ctaid.x
  %x = sreg.u32 ntid.x
  %tid = mad.u32 %cta, %x, %tid
  %wide = mulwide.u32 %tid, 4
  %at = add.u64 %at, %wide
  %h = mul.u32 %tid, 0x9e3779b1
  %n = mov.u32 0
  %g = mov.u32 0
  %p = setp.eq.u32 %n, 1
  %q = mov.pred %p
  %r = mov.pred %p
  %f = cvt.f32.s32 %tid
";

/// A block's work; then `%p` is one bit in four, or true after 40 blocks.
pub(crate) fn work(out: &mut String, index: usize) {
    let _ = write!(
        out,
        "  %h = mad.u32 %h, 1664525, {}
  %n = add.u32 %n, 1
  %f = add.f32 %f, 0x3f800000
  @%p %h = xor.b32 %h, %y
  st.global.u32 [%at], %h
  %x = shr.b32 %h, 13
  %x = and.b32 %x, 3
  %q = setp.gt.u32 %n, 40
  %p = setp.eq.or.u32 %x, {}, %q
",
        1_013_904_223 + index * 12_345,
        index % 4
    );
    out.push_str(match index % 16 {
        0 => "  %y = selp.b32 %h, %n, %p\n  %g = neg.f32 %f\n",
        1 => "  %y = shr.s32 %h, %n\n  %y = shl.b32 %y, 3\n",
        2 => "  %g = cvt.s32.f32.rzi %f\n  %h = add.u32 %h, %g\n",
        3 => "  %y = rem.s32 %h, %x\n  %y = div.s32 %y, %x\n",
        4 => "  %y = min.s32 %h, %y\n  %y = max.u32 %y, %n\n",
        5 => "  %r = setp.geu.f32 %f, 0x41a00000\n  @!%r %y = not.b32 %y\n",
        6 => "  %r = setp.le.s32 %h, %y\n  %p = and.pred %p, %r\n  %p = or.pred %p, %q\n",
        7 => "  %y = abs.s32 %h\n  %y = shl.b32 %y, %n\n",
        // What sequences stand for.
        8 => "  %u = mulwide.u32 %h, %y\n  %u = shr.s64 %u, %n\n  %h = cvt.u32.u64 %u\n",
        9 => {
            "  %v = cvt.s64.s32 %h\n  %u = mad.u64 %v, %u, %v\n  %r = setp.lt.s64 %u, %v\n  %h = selp.b32 %h, %n, %r\n"
        }
        10 => "  %g = fma.rn.f32 %f, %f, %g\n  %y = add.u32 %y, %g\n",
        11 => "  %g = div.rn.f32 %f, %g\n  %y = cvt.u32.f32.rzi %g\n",
        12 => "  %y = div.u32 %h, %x\n  %h = rem.u32 %h, %y\n",
        13 => "  %y = popc.b32 %h\n  %y = clz.b32 %y\n  %y = bfe.s32 %h, %y, 9\n",
        14 => "  %s = cvt.u16.u32 %h\n  %s = mul.s16 %s, %s\n  %y = cvt.s32.s16 %s\n",
        _ => "  %g = mul.f32 %f, %f\n  %r = setp.ne.f32 %g, %f\n  %y = selp.b32 %y, %g, %r\n",
    });
}

#[derive(Clone, Debug)]
pub(crate) enum Code {
    Plain,
    Seq(Vec<Code>),
    If(bool, Box<Code>),
    IfElse(Box<Code>, Box<Code>),
    While(bool, Box<Code>),
    DoWhile(Box<Code>),
    Break,
    Return,
}

pub(crate) fn programs() -> impl Strategy<Value = Code> {
    let leaf = prop_oneof![6 => Just(Code::Plain), 1 => Just(Code::Break), 1 => Just(Code::Return)];
    leaf.prop_recursive(6, 40, 3, |inner| {
        let code = || inner.clone().prop_map(Box::new);
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Code::Seq),
            (any::<bool>(), code()).prop_map(|(n, a)| Code::If(n, a)),
            (code(), code()).prop_map(|(a, b)| Code::IfElse(a, b)),
            (any::<bool>(), code()).prop_map(|(n, a)| Code::While(n, a)),
            code().prop_map(Code::DoWhile),
        ]
    })
}

/// The body of a kernel: structured code.
pub(crate) fn body(code: &Code) -> String {
    let mut out = String::new();
    emit(code, &mut out, &mut 0, None);
    out
}

/// Writes code; `leave` is the label behind the innermost loop.
fn emit(code: &Code, out: &mut String, count: &mut usize, leave: Option<usize>) {
    let id = *count;
    *count += 1;
    let _ = writeln!(out, "c{id}:");
    work(out, id);
    match code {
        Code::Plain => {}
        Code::Seq(list) => list.iter().for_each(|c| emit(c, out, count, leave)),
        Code::If(negated, a) => {
            let not = if *negated { "!" } else { "" };
            let _ = writeln!(out, "  @{not}%p br c{id}.join\nc{id}.then:");
            emit(a, out, count, leave);
            let _ = writeln!(out, "c{id}.join:\n  nop");
        }
        Code::IfElse(a, b) => {
            let _ = writeln!(out, "  @%p br c{id}.else\nc{id}.then:");
            emit(a, out, count, leave);
            let _ = writeln!(out, "  br c{id}.join\nc{id}.else:");
            emit(b, out, count, leave);
            let _ = writeln!(out, "c{id}.join:\n  nop");
        }
        Code::While(early, a) => {
            let _ = writeln!(out, "c{id}.head:");
            work(out, id + 1);
            let _ = writeln!(out, "  @%p br c{id}.out\nc{id}.body:");
            emit(a, out, count, Some(id));
            if *early {
                let _ = writeln!(out, "  @%r br c{id}.head\nc{id}.more:\n  %y = add.u32 %y, 1");
            }
            let _ = writeln!(out, "  br c{id}.head\nc{id}.out:\n  nop");
        }
        Code::DoWhile(a) => {
            let _ = writeln!(out, "c{id}.head:");
            emit(a, out, count, Some(id));
            work(out, id + 2);
            let _ = writeln!(out, "  @!%p br c{id}.head\nc{id}.out:\n  nop");
        }
        Code::Break => {
            if let Some(to) = leave {
                let _ = writeln!(out, "  @%p br c{to}.out\nc{id}.stay:\n  nop");
            }
        }
        Code::Return => {
            let _ = writeln!(out, "  @%p exit\nc{id}.stay:\n  nop");
        }
    }
}

pub(crate) fn kernel(body: &str) -> String {
    format!("kernel @k(out: u64 global, word: u32) {{{HEAD}{body}  ret\n}}\n")
}

/// How each block of a [`graph`] ends, and where it goes.
pub(crate) fn graphs() -> impl Strategy<Value = Vec<(u8, u32)>> {
    prop::collection::vec((0u8..4, any::<u32>()), 1..7)
}

/// Blocks with any branches between them.
pub(crate) fn graph(ends: &[(u8, u32)]) -> String {
    let n = ends.len() as u32;
    let mut out = "  br b0\n".to_owned();
    for (i, &(kind, to)) in ends.iter().enumerate() {
        let _ = writeln!(out, "b{i}:");
        work(&mut out, (to >> 8) as usize % 997);
        let _ = writeln!(out, "  @%q exit\nb{i}.end:");
        let _ = match kind {
            0 => writeln!(out, "  br b{}", to % n),
            1 | 2 => writeln!(out, "  @%p br b{}", to % n),
            _ => {
                let names: Vec<String> =
                    (0..4).map(|k| format!("b{}", (to >> (8 * k)) % n)).collect();
                writeln!(out, "  switch %x, [{}]", names.join(", "))
            }
        };
    }
    out.push_str("last:\n");
    kernel(&out)
}

/// What code of a launch has beside [`work`]: memory of the block and the thread, atomics on the
/// thread's own words, numbers of 16 bits.
fn launched_work(out: &mut String, index: usize) {
    out.push_str(match index % 8 {
        0 => "  st.shared.u32 [%own + 512], %h\n  @%p %y = ld.shared.u32 [%own + 512]\n",
        1 => "  st.local.u64 [@l + 8], %u\n  %y = ld.local.u32 [@l + 12]\n",
        2 => "  %y = atom.add.global.u32 [%at], %h\n  %h = ld.global.u32 [%at]\n",
        3 => "  @%p %y = atom.max.global.s32 [%at], %h\n  @!%p atom.xor.shared.b32 [%own], %n\n",
        4 => "  %s = fma.rn.f16 %s, %s, %s\n  %s = sub.rn.f16 %s, 0x3c01\n",
        5 => "  %x = sreg.u32 lanemask_lt\n  %y = xor.b32 %y, %x\n",
        6 => "  %y = atom.cas.global.b32 [%at], %h, %n\n  %h = ld.global.u32 [%at]\n",
        _ => "  %s = add.rn.bf16 %s, %s\n  %x = cvt.u32.u16 %s\n  %h = xor.b32 %h, %x\n",
    });
}

/// A kernel with [`launched_work`] in the place of its marks.
pub(crate) fn launched_kernel(body: &str) -> String {
    let mut out = String::from("shared @tile size 1024 align 4\n");
    out.push_str("kernel @k(out: u64 global, word: u32) {\n  local @l size 16 align 8\n");
    out.push_str(&HEAD.replace("start:\n", "  reg %own: b32\nstart:\n"));
    out.push_str("  %own = sreg.u32 tid.x\n  %own = shl.b32 %own, 2\n  %x = mov.b32 @@tile\n");
    out.push_str("  %own = add.u32 %own, %x\n");
    out.push_str("  st.shared.u32 [%own], 5\n  st.shared.u32 [%own + 512], 9\n");
    let mut parts = body.split("  st.global.u32 [%at], %h\n");
    out.push_str(parts.next().unwrap_or_default());
    for (index, part) in parts.enumerate() {
        out.push_str("  st.global.u32 [%at], %h\n");
        launched_work(&mut out, index * 5 + part.len());
        out.push_str(part);
    }
    out.push_str("  %x = ld.shared.u32 [%own]\n  %h = add.u32 %h, %x\n");
    out.push_str("  st.global.u32 [%at], %h\n  ret\n}\n");
    out
}

/// What a random kernel needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing of the launch but its extents.
    Plain,
    /// Memory of the block and the thread, atomics: [`launched_kernel`].
    Launched,
}

/// Checks `KERNELS` random kernels, ten thousand by default; `SEED` makes others of them. The last
/// argument of the check picks an option that must not matter. It panics if a kernel fails.
pub(crate) fn campaign(check: impl Fn(Kind, &str, usize)) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
    let cases = number("KERNELS").unwrap_or(10_000);
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 200,
        rng_seed: proptest::test_runner::RngSeed::Fixed(number("SEED").unwrap_or(1).into()),
        ..ProptestConfig::default()
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let all = prop_oneof![
        2 => graphs().prop_map(|ends| (Kind::Plain, graph(&ends))),
        3 => programs().prop_map(|code| (Kind::Plain, kernel(&body(&code)))),
        2 => programs().prop_map(|code| (Kind::Launched, launched_kernel(&body(&code)))),
    ];
    let result = runner.run(&(all, any::<u16>()), |((kind, text), pick)| {
        check(kind, &text, pick.into());
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
}

/// Kernels with each kind of [`work`].
pub(crate) fn straight() -> Vec<String> {
    let kernel = |index| {
        let mut out = String::new();
        work(&mut out, index);
        kernel(&out)
    };
    (0..16).map(kernel).collect()
}

/// Kernels with each kind of [`launched_work`].
pub(crate) fn launched_straight() -> Vec<String> {
    let kernel = |index: usize| {
        let mut out = String::new();
        work(&mut out, 8);
        work(&mut out, index + 1);
        launched_work(&mut out, index);
        out.push_str("  %h = xor.b32 %h, %y\n");
        work(&mut out, index + 5);
        launched_work(&mut out, index);
        launched_kernel(&out)
    };
    // Both results of a comparison; atomics that store, and that leave what is there.
    let atomics = "  %p, %q = setp.lt.u32 %tid, 7\n  %n = selp.b32 3, 900, %p\n  \
                   %h = selp.b32 50, %n, %q\n  st.global.u32 [%at], %h\n  \
                   %y = atom.max.global.s32 [%at], %tid\n  %y = atom.cas.global.b32 [%at], 12345, %n\n  \
                   %h = ld.global.u32 [%at]\n";
    (0..8).map(kernel).chain([launched_kernel(atomics)]).collect()
}

/// Kernels with each kind of [`Code`], one in the other.
pub(crate) fn fixed() -> Vec<String> {
    let plain = || Box::new(Code::Plain);
    let both = || Code::IfElse(plain(), plain());
    let nested = (0..5).fold(both(), |inner, _| Code::IfElse(Box::new(inner), plain()));
    let many = Code::Seq(vec![both(), Code::If(true, Box::new(both())), both(), Code::Plain]);
    let left = Code::Seq(vec![Code::Plain, Code::Break, both(), Code::Break]);
    let ended = Code::Seq(vec![Code::If(false, Box::new(Code::Return)), both(), Code::Return]);
    let all = [
        nested.clone(),
        many.clone(),
        Code::While(true, Box::new(left.clone())),
        Code::DoWhile(Box::new(many)),
        Code::Seq(vec![ended.clone(), Code::While(false, Box::new(ended)), both()]),
        Code::DoWhile(Box::new(Code::Seq(vec![left, nested]))),
    ];
    all.iter().map(|code| kernel(&body(code))).collect()
}

/// Kernels with values that a round of a loop has from an earlier one, because not all lanes write
/// them in each round.
pub(crate) fn rounds() -> Vec<String> {
    let guarded = "  @%p %k = xor.b32 %h, %n\n";
    let branch = "  @!%p br join\nwrite:\n  %k = xor.b32 %h, %n\njoin:\n";
    let inner = "inner:\n  %n = add.u32 %n, 1\n  %p = setp.eq.u32 %x, 2\n  \
                 @%p %k = add.u32 %k, %h\n  %x = add.u32 %x, 1\n  %r = setp.le.u32 %x, 3\n  \
                 @%r br inner\nbehind:\n";
    let kernel = |write: &str| {
        // What is computed behind the last read of `%k` must not take its place.
        let body = format!(
            "  br head\nhead:\n  %n = add.u32 %n, 1\n  %h = mad.u32 %h, 1664525, 1013904223\n  \
             %x = shr.u32 %h, 13\n  %x = and.b32 %x, 3\n  %p = setp.eq.u32 %x, 1\n{write}  \
             %h = add.u32 %h, %k\n  %z = mul.u32 %h, 0x9e3779b1\n  %z = xor.b32 %z, %n\n  \
             %h = xor.b32 %h, %z\n  %q = setp.lt.u32 %n, 12\n  @%q br head\nlast:\n  \
             st.global.u32 [%at], %h\n"
        );
        kernel(&body).replace("  reg %s: b16\n", "  reg %s: b16\n  reg %k, %z: b32\n")
    };
    [guarded, branch, inner].map(kernel).into()
}

/// Kernels that store both results of comparisons that are joined with a predicate.
pub(crate) fn comparisons() -> Vec<String> {
    let kernel = |join: &str| {
        let mut body = String::from("  %r = setp.lt.u32 %tid, 40\n  %n = and.b32 %tid, 7\n");
        for cmp in ["lt", "eq", "ge"] {
            let _ = write!(
                body,
                "  %p, %q = setp.{cmp}{join}.s32 %n, 3, %r\n  %x = selp.b32 1, 2, %p\n  \
                 %y = selp.b32 4, 8, %q\n  %h = mad.u32 %h, 16, %x\n  %h = add.u32 %h, %y\n"
            );
        }
        kernel(&(body + "  st.global.u32 [%at], %h\n"))
    };
    [".and", ".or", ".xor"].map(kernel).into()
}

/// Kernels that shift by the thread's number, which reaches 79, and by numbers of 32 bits.
pub(crate) fn shifts() -> Vec<String> {
    let kernel = |shift: &str| {
        kernel(&format!(
            "  %x = or.b32 %h, 0x80000001\n  %y = {shift} %x, %tid\n  %n = {shift} %x, %h\n  \
             %h = mad.u32 %y, 0x9e3779b1, %n\n  st.global.u32 [%at], %h\n"
        ))
    };
    ["shl.b32", "shr.u32", "shr.s32"].map(kernel).into()
}

/// Kernels of one warp of PTX and more: each thread stores what a collective gives it.
pub(crate) fn collectives() -> Vec<String> {
    let collective = |inst: &str| {
        format!(
            "kernel @k(out: u64 global, word: u32) {{
  reg %tid, %n, %v, %r: b32
  reg %at, %wide: b64
  reg %p, %q: pred
start:
  %at = ld.param.u64 [@out]
  %tid = sreg.u32 tid.x
  %q = setp.lt.u32 %tid, 32
  %n = sreg.u32 ctaid.x
  %tid = mad.u32 %n, {THREADS}, %tid
  %wide = mulwide.u32 %tid, 4
  %at = add.u64 %at, %wide
  %v = mul.u32 %tid, 0x9e3779b1
  %n = shr.u32 %v, 29
  %p = setp.gt.u32 %n, 3
  %r = mov.u32 0
{inst}  st.global.u32 [%at], %r
  ret
}}
"
        )
    };
    // The second warp has eight lanes: what others would give it is open.
    let shuffles = [("up", 0), ("down", 31), ("bfly", 31), ("idx", 31), ("idx", 0x181f)];
    let shuffles = shuffles.map(|(mode, clamp)| {
        format!(
            "  %r, %p = shfl.b32.{mode} %v, %n, {clamp}, 0xffffffff\n  @%p %r = add.u32 %r, 1\n  \
             %n = shfl.b32.{mode} %r, 19, {clamp}, 0xffffffff\n  %r = xor.b32 %r, %n\n  \
             %r = selp.b32 %r, 0, %q\n"
        )
    });
    let others = [
        "  %r = ballot %p, 0xffffffff\n",
        "  %p = vote.any %p, 0xffffffff\n  %r = selp.b32 5, 6, %p\n",
        "  %p = vote.all %p, 0xffffffff\n  %r = selp.b32 5, 6, %p\n",
        "  %r = match.b32 %n, 0xffffffff\n",
        "  %r = redux.u32.add %v, 0xffffffff\n",
        "  %r = redux.s32.max %v, 0xffffffff\n",
        "  warpsync 0xffffffff\n  %r = ballot %p, 0xffffffff\n  bar.sync 0\n",
        "  %r = bar.popc 0, %p\n",
    ];
    // Warps come to a different number of them, then to barriers of the block.
    let rounds = "  %n = sreg.u32 warpid\n  %n = add.u32 %n, 3\n  br head\nhead:\n  \
                  %v = shfl.b32.bfly %v, 3, 31, 0xffffffff\n  %r = add.u32 %r, %v\n  \
                  %p = setp.gt.s32 %v, %r\n  %tid = ballot %p, 0xffffffff\n  \
                  %r = xor.b32 %r, %tid\n  \
                  %n = sub.u32 %n, 1\n  %p = setp.ne.u32 %n, 0\n  @%p br head\nlast:\n  \
                  bar.sync 0\n  %p = setp.gt.s32 %r, 7\n  %n = ballot %p, 0xffffffff\n  \
                  %r = xor.b32 %r, %n\n  %n = bar.popc 0, %p\n  %r = mad.u32 %n, 100, %r\n  \
                  %p = bar.and 0, %q\n  @%p %r = add.u32 %r, 1\n";
    let shuffles = shuffles.iter().map(String::as_str);
    shuffles.chain(others).chain([rounds]).map(collective).collect()
}
