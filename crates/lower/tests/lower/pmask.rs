//! Kernels on RISC-V with PMASK store what each thread alone would store.

use super::prf::{BLOCKS, THREADS, alone};
use super::programs::{
    body, collectives, comparisons, fixed, graph, graphs, kernel, launched_kernel,
    launched_straight, programs, rounds, shifts, straight, verified,
};
use crate::bundled::Buffers;
use ::pmask::{Config, Pmask};
use ir::{FuncId, VerifiedModule};
use lower::legal::Launch;
use lower::pmask::{APART, Assembly, Options, pmask};
use proptest::prelude::*;
use simt::machine::{Machine, Step};
use simt::memory::{Addr, Permission};

const OUT: u64 = 0x2000_0000;

/// The machine that a program is written for.
pub(crate) fn config(options: Options) -> Config {
    Config {
        banks: options.banks as u8,
        lane_forms: options.lane_forms,
        fused_branches: options.fused,
        // What the program has not written itself must not matter.
        reset_random: Some(7),
        ..Config::default()
    }
}

/// Runs a program with buffers at their addresses, which it changes; returns its exit code, or why
/// it has none.
pub(crate) fn run(
    assembly: &Assembly,
    options: Options,
    (params, limit): (&[u8], u64),
    buffers: &mut Buffers,
) -> Result<i64, String> {
    let machine = Pmask { config: config(options) };
    let text = &assembly.text();
    let program = ::pmask::Program::from_text(isa::FileId::default(), text);
    let program = program.map_err(|found| format!("{:?}", found.iter().next()))?;
    let ends = |end: &str| program.symbols.keys().find_map(|s| s.strip_suffix(end));
    let name = ends(".launch").ok_or("no kernel")?.to_owned();
    let symbol = |end: &str| program.symbol(&format!("{name}{end}")).ok_or("no such symbol");
    let (start, at) = (symbol(".start")?, symbol(".params")?);
    let program = ::pmask::Program { entry: start, ..program };
    let mut state = machine.launch(&program, ::pmask::Launch::default()).unwrap();
    state.memory.host_write(Addr(at), params).map_err(|e| e.to_string())?;
    for (name, address, bytes) in &*buffers {
        let size = (bytes.len() as u64).next_multiple_of(16).max(16);
        state.memory.map_at(name, Addr(*address), size, Permission::ReadWrite).unwrap();
        state.memory.host_write(Addr(*address), bytes).unwrap();
    }
    match machine.run_unobserved(&program, &mut state, limit) {
        Step::Done => {}
        Step::Fault(fault) => {
            let line = program.span_at(fault.pc.0).map(|span| text[span.range()].to_owned());
            return Err(format!("{:?} at {:#x}: {line:?}", fault.cause, fault.pc.0));
        }
        _ => return Err("it does not end".to_owned()),
    }
    for (_, address, bytes) in buffers {
        state.memory.read_bytes(Addr(*address), bytes).unwrap();
    }
    Ok(state.host.exit.unwrap_or(-1))
}

const LAUNCH: Launch = Launch { grid: [BLOCKS, 1, 1], block: [THREADS, 1, 1], shared: 0 };

fn lowered(module: &VerifiedModule, options: Options, launch: &Launch) -> Assembly {
    pmask(module, FuncId(0), options, launch, &|_| None).unwrap_or_else(|e| panic!("{e}"))
}

/// Most instructions of the kernels here.
const LIMIT: u64 = 1 << 26;

/// The words that a kernel stores, with so many bytes for them.
fn stored(module: &VerifiedModule, options: Options, launch: &Launch, bytes: usize) -> Vec<u32> {
    let assembly = lowered(module, options, launch);
    let params = [OUT.to_le_bytes(), 77u64.to_le_bytes()].concat();
    let params = &params[..module.functions[0].params().iter().map(|p| p.size as usize).sum()];
    let mut buffers = vec![("out".to_owned(), OUT, vec![0; bytes])];
    let end = run(&assembly, options, (params, LIMIT), &mut buffers);
    assert_eq!(end, Ok(0), "{options:?}\n{}", assembly.text());
    let words = buffers[0].2.chunks(4);
    words.map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect()
}

/// All machines and widths that must not matter.
pub(crate) fn options() -> impl Iterator<Item = Options> {
    let usual = Options::default();
    [
        usual,
        Options { lanes: 4, ..usual },
        Options { lanes: 2, fused: false, ..usual },
        Options { lanes: 1, ..usual },
        Options { banks: 3, lane_forms: false, ..usual },
        Options { banks: 2, ..usual },
        Options { banks: 2, lanes: 4, lane_forms: false, fused: false },
    ]
    .into_iter()
}

#[track_caller]
fn check(text: &str) {
    check_with(text, &options().collect::<Vec<_>>());
}

#[track_caller]
fn check_with(text: &str, options: &[Options]) {
    let module = verified(text);
    let expected = alone(&module);
    for &options in options {
        let found = stored(&module, options, &LAUNCH, 4 * (THREADS * BLOCKS) as usize);
        assert_eq!(found, expected, "{options:?}\n{text}");
    }
}

#[test]
fn straight_code_of_launches() {
    launched_straight().iter().for_each(|text| check(text));
}

#[test]
fn collectives_of_some_lanes_are_refused() {
    let refused = |inst: &str, lanes: u32| {
        let text =
            format!("kernel @k() {{\n  reg %x, %y: b32\n  reg %p: pred\na:\n  {inst}\n  ret\n}}\n");
        let options = Options { lanes, ..Options::default() };
        let launch = Launch { grid: [1; 3], block: [8, 1, 1], shared: 0 };
        let made = pmask(&verified(&text), FuncId(0), options, &launch, &|_| None);
        made.err().map(|why| why.to_string())
    };
    let why = "the machine has no collectives of some lanes of several warps";
    for (inst, name) in [
        ("%x = ballot %p, 0x7f", "ballot"),
        ("%x = ballot %p, %y", "ballot"),
        ("%x = activemask", "activemask"),
    ] {
        assert_eq!(refused(inst, 4), Some(format!("{why} (for `{name}`)")));
        // A block of one warp of the machine knows its lanes.
        assert_eq!(refused(inst, 8), None);
    }
    // All lanes that there are.
    assert_eq!(refused("%x = ballot %p, 0xff", 4), None);
}

#[test]
fn launches_have_limits() {
    let module = verified("kernel @k() {\na:\n  ret\n}\n");
    let refused = |grid: [u32; 3], block: [u32; 3]| {
        let launch = Launch { grid, block, shared: 0 };
        let made = pmask(&module, FuncId(0), Options::default(), &launch, &|_| None);
        made.err().map(|why| why.to_string())
    };
    assert_eq!(refused([1; 3], [1024, 1, 1]), None);
    let why = "the machine has no blocks of 1025 threads (1 to 1024)";
    assert_eq!(refused([1; 3], [1025, 1, 1]).as_deref(), Some(why));
    let why = "the machine has no grids of 4294967295 blocks (1 to 2147483647)";
    assert_eq!(refused([u32::MAX, 2, 1], [1; 3]).as_deref(), Some(why));
}

#[test]
fn fixed_kernels() {
    fixed().iter().for_each(|text| check(text));
}

#[test]
fn straight_code() {
    straight().iter().for_each(|text| check(text));
}

#[test]
fn values_of_earlier_rounds_are_kept() {
    rounds().iter().for_each(|text| check(text));
}

#[test]
fn both_results_of_joined_comparisons() {
    comparisons().iter().for_each(|text| check(text));
}

#[test]
fn shifts_by_any_amount() {
    shifts().iter().for_each(|text| check(text));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn structured_kernels(code in programs()) {
        check(&kernel(&body(&code)));
    }

    #[test]
    fn any_graph(ends in graphs()) {
        check(&graph(&ends));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn launched_kernels(code in programs()) {
        check(&launched_kernel(&body(&code)));
    }
}

/// Values at which operations turn: floats and integers.
const SPECIAL: [u32; 16] = [
    0,
    1,
    0x8000_0000,
    0xffff_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x7fa0_0001,
    0x3f80_0000,
    0xbfc0_0000,
    0x4f00_0000,
    0x0080_0000,
    0x807f_ffff,
    0x4afe_dcba,
    33,
    63,
];

/// A kernel that stores what an operation makes of special values `%a`, `%b` and `%c`.
fn of_special(body: &str) -> String {
    let mut out = String::from(
        "kernel @k(out: u64 global, word: u32) {
  reg %tid, %n, %i, %a, %b, %c, %r: b32
  reg %p, %q: pred
  reg %at, %wide: b64
start:
  %at = ld.param.u64 [@out]
  %tid = sreg.u32 tid.x
  %n = sreg.u32 ctaid.x
  %tid = mad.u32 %n, 40, %tid
  %wide = mulwide.u32 %tid, 4
  %at = add.u64 %at, %wide
  %r = mov.u32 0
",
    );
    for (to, factor, shift) in [("a", 1, 0), ("b", 7, 4), ("c", 5, 3)] {
        out.push_str(&format!(
            "  %i = mul.u32 %tid, {factor}\n  %n = shr.u32 %tid, {shift}\n  %i = add.u32 %i, %n\n  \
             %i = and.b32 %i, 15\n  %{to} = mov.u32 0\n"
        ));
        for (index, value) in SPECIAL.iter().enumerate() {
            out.push_str(&format!(
                "  %p = setp.eq.u32 %i, {index}\n  @%p %{to} = mov.u32 {value:#x}\n"
            ));
        }
    }
    out + body + "  st.global.u32 [%at], %r\n  ret\n}\n"
}

#[test]
fn special_values_give_what_the_engine_gives() {
    let float = ["add", "sub", "mul"];
    let mut ops: Vec<String> = Vec::new();
    for op in float {
        ops.extend(["rn", "rz", "rm", "rp"].map(|mode| format!("{op}.f32.{mode} %a, %b")));
    }
    ops.extend(["rn", "rz", "rm", "rp"].map(|mode| format!("fma.f32.{mode} %a, %b, %c")));
    ops.extend(["rn", "rz"].map(|mode| format!("div.f32.{mode} %a, %b")));
    ops.extend(
        ["sqrt.f32.rn %a", "rcp.f32.rn %a", "min.f32 %a, %b", "max.f32 %a, %b"].map(String::from),
    );
    ops.extend(["neg.f32 %a", "abs.f32 %a"].map(String::from));
    for mode in ["rni", "rzi", "rmi", "rpi"] {
        ops.extend([format!("cvt.s32.f32.{mode} %a"), format!("cvt.u32.f32.{mode} %a")]);
    }
    ops.extend(["cvt.f32.s32.rn %a", "cvt.f32.u32.rz %a"].map(String::from));
    for op in ["mulhi", "div", "rem", "min", "max", "mul", "sub"] {
        ops.extend([format!("{op}.s32 %a, %b"), format!("{op}.u32 %a, %b")]);
    }
    for op in ["shl.b32 %a, %b", "shr.u32 %a, %b", "shr.s32 %a, %b", "abs.s32 %a", "neg.s32 %a"] {
        ops.push(op.to_owned());
    }
    for op in ["popc.b32 %a", "clz.b32 %a", "cnot.b32 %a", "andn.b32 %a, %b", "mad.u32 %a, %b, %c"]
    {
        ops.push(op.to_owned());
    }
    ops.iter().for_each(|op| check(&of_special(&format!("  %r = {op}\n"))));
    let comparisons =
        ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num"];
    let mut body = String::new();
    for (index, cmp) in comparisons.iter().enumerate() {
        body.push_str(&format!(
            "  %p, %q = setp.{cmp}.f32 %a, %b\n  @%p %r = or.b32 %r, {:#x}\n  @%q %r = add.u32 %r, {:#x}\n",
            1 << index,
            1 << (index + 16)
        ));
    }
    check(&of_special(&body));
    let mut body = String::new();
    for (index, cmp) in ["eq", "ne", "lt", "le", "gt", "ge"].iter().enumerate() {
        for (ty, shift) in [("s32", 0), ("u32", 8)] {
            body.push_str(&format!(
                "  %p = setp.{cmp}.{ty} %a, %b\n  %n = selp.b32 {:#x}, 0, %p\n  %r = or.b32 %r, %n\n  \
                 %n = selp.b32 0, %b, %p\n  %r = xor.b32 %r, %n\n",
                1 << (index + shift)
            ));
        }
    }
    check(&of_special(&body));
}

/// The campaign: kernels of all kinds, each on a machine of its own.
#[test]
#[ignore = "an hour"]
fn campaign() {
    let options: Vec<Options> = options().collect();
    super::programs::campaign(|_, text, pick| check_with(text, &[options[pick % options.len()]]));
}

#[test]
fn lanes_beyond_a_block_are_off() {
    let text = "kernel @k(out: u64 global) {
  reg %tid, %n, %v: b32
  reg %at, %wide: b64
start:
  %at = ld.param.u64 [@out]
  %tid = sreg.u32 tid.x
  %n = sreg.u32 ctaid.x
  %tid = mad.u32 %n, 8, %tid
  %wide = mulwide.u32 %tid, 4
  %at = add.u64 %at, %wide
  %v = add.u32 %tid, 1
  st.global.u32 [%at], %v
  ret
}
";
    let launch = Launch { grid: [2, 1, 1], block: [5, 1, 1], shared: 0 };
    for options in options() {
        let words = stored(&verified(text), options, &launch, 64);
        assert_eq!(words, [1, 2, 3, 4, 5, 0, 0, 0, 9, 10, 11, 12, 13, 0, 0, 0], "{options:?}");
    }
}

#[test]
fn collectives_are_those_of_warps_of_32() {
    collectives().iter().for_each(|text| check(text));
}

#[test]
fn warps_that_wait_for_each_other_for_ever_end_the_program() {
    let text = "kernel @k() {
  reg %tid: b32
  reg %p: pred
start:
  %tid = sreg.u32 tid.x
  %p = setp.lt.u32 %tid, 8
  @%p br one
other:
  warpsync 0xffffffff
  bar.sync 0
  ret
one:
  bar.sync 0
  warpsync 0xffffffff
  ret
}
";
    let options = Options::default();
    let launch = Launch { grid: [1, 1, 1], block: [32, 1, 1], shared: 0 };
    let assembly = lowered(&verified(text), options, &launch);
    let end = run(&assembly, options, (&[], 1 << 24), &mut Vec::new());
    assert_eq!(end, Ok(i64::from(APART)));
}

#[test]
fn a_warp_that_gives_way_comes_back_with_its_lanes() {
    let text = "kernel @k(out: u64 global) {
  reg %tid, %n, %v: b32
  reg %at, %wide: b64
  reg %p: pred
start:
  %at = ld.param.u64 [@out]
  %tid = sreg.u32 tid.x
  %wide = mulwide.u32 %tid, 4
  %at = add.u64 %at, %wide
  %v = mov.u32 1
  %n = and.b32 %tid, 2
  %p = setp.eq.u32 %n, 0
  @%p br join
other:
  nanosleep 0
  %v = mov.u32 7
join:
  st.global.u32 [%at], %v
  ret
}
";
    let launch = Launch { grid: [1; 3], block: [16, 1, 1], shared: 0 };
    for options in options() {
        let words = stored(&verified(text), options, &launch, 64);
        assert_eq!(words, [1, 1, 7, 7].repeat(4), "{options:?}");
    }
}

/// All threads wait for a number that the last one makes, which is of another warp mostly.
#[test]
fn warps_that_wait_for_what_others_store_give_way() {
    let reads = [
        "ld.acquire.gpu.global.u32 [%base + 128]",
        "ld.volatile.global.u32 [%base + 128]",
        "atom.or.global.b32 [%base + 128], 0",
    ];
    for read in reads {
        let text = format!(
            "kernel @k(out: u64 global) {{
  reg %tid, %v: b32
  reg %base, %at, %wide: b64
  reg %p: pred
start:
  %base = ld.param.u64 [@out]
  %tid = sreg.u32 tid.x
  %wide = mulwide.u32 %tid, 4
  %at = add.u64 %base, %wide
  %p = setp.eq.u32 %tid, 15
  @%p br produce
wait:
  %v = {read}
  %p = setp.eq.u32 %v, 0
  @%p br wait
over:
  br use
produce:
  st.global.u32 [%base + 132], 42
  st.release.gpu.global.u32 [%base + 128], 1
use:
  %v = ld.global.u32 [%base + 132]
  st.global.u32 [%at], %v
  ret
}}
"
        );
        let launch = Launch { grid: [1; 3], block: [16, 1, 1], shared: 0 };
        for options in options() {
            let words = stored(&verified(&text), options, &launch, 144);
            assert_eq!(words[..16], [42; 16], "{read} {options:?}");
        }
    }
}

#[test]
fn registers_that_nothing_has_written_are_zero() {
    // The value goes to the frame, which the next warp has, too.
    let body = "  %u = add.u64 %u, 3\n  %p = setp.ne.u32 %n, 0\n  @%p br b\na:\n  nop\nb:\n  \
                %h = cvt.u32.u64 %u\n  st.global.u32 [%at], %h\n";
    check(&kernel(body));
}

#[test]
fn guarded_writes_leave_what_other_lanes_have() {
    let body = "  %y = add.u32 %tid, 9\n  %x = and.b32 %tid, 1\n  %p = setp.eq.u32 %x, 0\n  \
                %q = setp.ne.u32 %n, 0\n  @%q br b\na:\n  nop\nb:\n  @%p %y = mov.u32 5\n  \
                st.global.u32 [%at], %y\n";
    check(&kernel(body));
}
