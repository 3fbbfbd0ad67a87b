//! Traps with all their fields, and going on after a fault.

use linx::cases::{Outcome, run};
use linx::{Linx, Options, Program, Shared, State, TileOps, Trap};
use simt::machine::{Machine, Step};
use simt::memory::{Addr, MemoryMap, Permission};

/// Assembles, runs, and gives the trap with the outcome.
fn trap(source: &str, options: Options) -> (Trap, Outcome) {
    let outcome = run(source, options, &[]).unwrap();
    (outcome.trap.clone().expect("a trap"), outcome)
}

/// Number, cause, argument and BI; the argument may be a label.
fn expect(source: &str, number: u64, arg: impl Into<Arg>, bi: bool) {
    let (trap, outcome) = trap(source, Options::default());
    let arg = match arg.into() {
        Arg::None => None,
        Arg::Value(value) => Some(value),
        Arg::Label(label) => outcome.image.symbol(label).map(|s| s.value),
    };
    assert_eq!((trap.trapno(), trap.arg, trap.bi), (number, arg, bi), "{trap}");
    if let Some(here) = outcome.image.symbol("here") {
        assert_eq!(trap.tpc, here.value, "{trap}");
    }
}

enum Arg {
    None,
    Value(u64),
    Label(&'static str),
}

impl From<u64> for Arg {
    fn from(value: u64) -> Self {
        Self::Value(value)
    }
}

impl From<&'static str> for Arg {
    fn from(label: &'static str) -> Self {
        Self::Label(label)
    }
}

const BLOCKFMT: u64 = 0x4000_0002_0000_0005;
const BAD_TARGET: u64 = 0x4000_0001_0100_0005;
const MISSING_MARKER: u64 = 0x4000_0001_0300_0005;
const BFETCH: u64 = 0x4000_0003_0000_0005;
const ILLEGAL: u64 = 0x4000_0001_0000_0004;

/// A header of a block, followed by its continuation and a body.
fn header(marker: &str, descriptors: &[&str]) -> String {
    let list = descriptors.join("\n");
    format!(
        "_start: {marker}\n{list}\nhere: C.BSTOP\nC.BSTART.STD\nc.movi 0, ->a0\nebreak 0\nbody: C.BSTOP\n"
    )
}

#[test]
fn missing_families_by_priority() {
    const ARG: &str = "B.ARG NORM.normal";
    const IOR: &str = "B.IOR [a0,a1],[]";
    const IOT: &str = "B.IOTI [], last ->t<4KB>";
    const DIM: &str = "C.B.DIMI 4, ->lb0";
    const TEXT: &str = "B.TEXT body";
    let cases: &[(&str, &[&str], u64)] = &[
        ("BSTART.MPAR 0", &[], 2),
        ("BSTART.MSEQ 0", &[DIM], 2),
        ("BSTART.VPAR 0", &[TEXT], 1),
        ("BSTART.VSEQ 0", &[TEXT], 1),
        ("C.BSTART.MSEQ FALL", &[TEXT], 1),
        ("BSTART.TLOAD INT32", &[], 3),
        ("BSTART.TLOAD INT32", &[ARG], 5),
        ("BSTART.TLOAD INT32", &[ARG, IOT], 4),
        ("BSTART.TSTORE INT32", &[IOT, IOR], 3),
        ("BSTART.TMOV INT32", &[], 5),
        ("BSTART.TMATMUL FP16", &[ARG], 5),
        ("BSTART.TMATMUL.ACC FP16", &[ARG, IOT], 1),
        ("BSTART.ACCCVT FP32", &[ARG, IOT], 4),
        ("BSTART.TEPL TADD, INT32", &[DIM], 5),
        ("BSTART.TEPL TADD, INT32", &[IOT], 1),
        ("BSTART.TEPL TADDS, INT32", &[IOT, DIM], 4),
        ("BSTART.TEPL TDIV, INT32", &[IOT, DIM], 4),
        ("BSTART.TEPL TEXPANDS, INT32", &[IOT, DIM], 4),
        ("BSTART.TEPL TCVT, INT32", &[IOT, DIM, IOR], 3),
    ];
    for (marker, descriptors, family) in cases {
        let source = header(marker, descriptors);
        expect(&source, BLOCKFMT, *family, false);
    }
}

#[test]
fn illegal_and_invalid_descriptors() {
    let kernel = ["B.TEXT body", "C.B.DIMI 1, ->lb0"];
    let with = |more: &[&str]| header("BSTART.MSEQ 0", &[&kernel[..], more].concat());
    // A second body; a body of a block that has none, which comes before missing families.
    expect(&with(&["B.TEXT body"]), BLOCKFMT, 2 | 2 << 8, false);
    expect(&header("BSTART.TLOAD INT32", &["B.TEXT body"]), BLOCKFMT, 2 | 2 << 8, false);
    // Sizes that are not 512 B to 4 KB.
    expect(&with(&["B.IOTI [], last ->t<8KB>"]), BLOCKFMT, 5 | 1 << 8, false);
    expect(&with(&["B.IOT [], last ->t<a0>"]), BLOCKFMT, 5 | 1 << 8, false);
    // More names than there are.
    expect(&with(&["B.IOTI [t#1, t#2]"; 3]), BLOCKFMT, 5 | 1 << 8, false);
    expect(&with(&["B.IOR [sp,sp,sp],[]"; 5]), BLOCKFMT, 4 | 1 << 8, false);
    // Payload inside a header.
    let payload = "_start: BSTART.MSEQ 0\nhere: addi a0, 1, ->a0\nC.BSTART.STD\nebreak 0\n";
    expect(payload, BLOCKFMT, 2 << 8, false);
}

#[test]
fn control_flow_integrity() {
    // Into a body, which is not a marker: the transfer's block is named.
    let body = "_start:\nhere: BSTART.STD DIRECT, body\nC.BSTOP\nbody: v.addi zero.ud, 1, ->t.d\nC.BSTOP\n";
    expect(body, BAD_TARGET, "here", false);
    let indirect = "_start: C.BSTART.STD\nhere: BSTART.STD IND\nc.setc.tgt zero\nC.BSTOP\nC.BSTART.STD\nebreak 0\n";
    expect(indirect, BAD_TARGET, "here", false);
    // Behind an explicit end a marker must stand; a program starts with one.
    let behind = "_start: C.BSTART.STD\nhere: C.BSTOP\naddi a0, 1, ->a0\nC.BSTART.STD\nebreak 0\n";
    expect(behind, MISSING_MARKER, "here", false);
    let first = "_start:\nhere: addi a0, 1, ->a0\nC.BSTART.STD\nebreak 0\n";
    expect(first, MISSING_MARKER, "here", false);
}

/// A kernel of one group over four lanes.
fn kernel(body: &str) -> String {
    format!(
        "_start: C.BSTART.STD\nhl.liu out, ->a0\nBSTART.MSEQ 0\nB.TEXT body\nB.IOR [a0],[]\nC.B.DIMI 4, ->lb0\n\
         C.BSTART.STD\nc.movi 0, ->a0\nebreak 0\nbody: {body}\n.data\nout: .space 64\n"
    )
}

#[test]
fn bodies_are_contained() {
    let cases = [
        (
            "v.addi zero.ud, 0, ->t.d\nhere: j outside\nC.BSTOP\noutside: C.BSTOP",
            Arg::Label("outside"),
        ),
        // A misaligned target.
        ("addi zero, 1, ->u\nhere: jr u#1, 0\nC.BSTOP", Arg::Value(1)),
        // Before the body, and into the middle of an instruction.
        ("v.addi zero.ud, 0, ->t.d\nhere: j _start\nC.BSTOP", Arg::Label("_start")),
        (
            "v.addi zero.ud, 0, ->t.d\nhere: j here+2\nC.BSTOP\n.equ middle, here+2",
            Arg::Label("middle"),
        ),
    ];
    for (body, arg) in cases {
        expect(&kernel(body), BFETCH, arg, true);
    }
}

#[test]
fn a_body_fetch_trap_is_final() {
    let image = linx::assemble(
        isa::FileId::default(),
        &kernel("j outside\nC.BSTOP\noutside: C.BSTOP"),
        TileOps::V04,
    )
    .unwrap();
    let program = Program::from_image(&image, TileOps::V04).unwrap();
    let machine = Linx::default();
    let mut state = machine.launch(&program, linx::Launch::default()).unwrap();
    let first = machine.run_unobserved(&program, &mut state, 1000);
    let issues = state.issues();
    let again = machine.run_unobserved(&program, &mut state, 1000);
    assert!(matches!(&first, Step::Fault(f) if f.cause.fatal));
    assert_eq!((first, issues), (again, state.issues()));
}

#[test]
fn illegal_instructions() {
    let scalar =
        |text: &str| format!("_start: C.BSTART.STD\nhere: {text}\nC.BSTART.STD\nebreak 0\n");
    for text in ["b.nz .+4", "v.addi zero.ud, 1, ->t.d", "hl.qpop a0, ->a0, a1", ".half 0xfffe"] {
        expect(&scalar(text), ILLEGAL, "here", false);
    }
    for text in [
        "lwi [a0, 0], ->t",
        "fence.d 0, 0",
        "C.B.DIMI 4, ->lb0",
        "c.setret .+2, ->ra",
        "v.add vt#1.sw, vt#1.sw, ->t.d",
        "v.fadd vt#1.fs, vt#1.fd, ->vt.w",
        "v.lw [ri0, zero.ud], ->vt.w",
        "v.lw.brg [ta, zero.ud], ->vt.w",
        "v.lw.brg.local [ri0, zero.ud], ->vt.w",
        "v.rdadd vt#1.sw, ->vt.w",
        "v.add ta.ud, zero.ud, ->t.d",
    ] {
        expect(&kernel(&format!("\nhere: {text}\nC.BSTOP")), ILLEGAL, "here", true);
    }
    // The data types of blocks, and blocks that are reserved.
    expect(
        "_start:\nhere: BSTART.FIXP 0, FP32\nC.BSTOP\nC.BSTART.STD\nebreak 0\n",
        ILLEGAL,
        "here",
        false,
    );
    expect(
        "_start:\nhere: BSTART.MPAR 2\nC.BSTOP\nC.BSTART.STD\nebreak 0\n",
        ILLEGAL,
        "here",
        false,
    );
}

#[test]
fn data_and_fetch_faults() {
    let unmapped = "_start: C.BSTART.STD\nhere: lwi [zero, 64], ->t\nebreak 0\n";
    expect(unmapped, 1 << 62 | 35, 64, false);
    let body = kernel("\nhere: v.lw.brg [ri0, zero.ud, ], ->vt.w\nC.BSTOP")
        .replace("zero.ud, ]", "lc0.ud<<30]");
    let (trap, _) = trap(&body, Options::default());
    assert_eq!((trap.trapno(), trap.bi), (1 << 62 | 35, true));
    // A body that runs off the text.
    let off = "_start: BSTART.MSEQ 0\nB.TEXT body\nC.B.DIMI 1, ->lb0\nC.BSTART.STD\nebreak 0\nbody: v.addi zero.ud, 1, ->t.d\nhere:\n";
    expect(off, 1 << 62 | 33, "here", true);
    let align = Options { align: true, ..Options::default() };
    let (trap, outcome) =
        self::trap("_start: C.BSTART.STD\nhere: lwi.u [sp, -6], ->t\nebreak 0\n", align);
    assert_eq!(
        (trap.trapno(), trap.arg),
        (1 << 62 | 34, outcome.state.register(1).map(|sp| sp - 6))
    );
}

#[test]
fn breakpoints_asserts_and_calls() {
    let scalar = |text: &str| format!("_start: C.BSTART.STD\nhere: {text}\nebreak 0\n");
    expect(&scalar("ebreak 3"), 50, Arg::None, false);
    expect(&scalar("assert zero"), 52, Arg::None, false);
    expect(&scalar("acrc 1"), 6, Arg::None, false);
    expect(&scalar("acre 0"), 0, Arg::None, false);
    expect(&kernel("\nhere: assert zero\nC.BSTOP"), 52, Arg::None, true);
}

/// A handler of the guest's ring sees the trap and returns behind a service call.
#[test]
fn guest_handlers() {
    let source = "
_start: C.BSTART.STD
        hl.liu  handler, ->a1
        hl.ssrset a1, EVBASE_ACR1
        c.movi  5, ->a0
        acrc    2
        addi    a0, 1, ->a0
        ebreak  0
handler: C.BSTART.SYS FALL
        hl.ssrget TRAPNO_ACR1, ->a2
        hl.ssrget EBARG_TPC_ACR1, ->a3
        acre    0
";
    let outcome = run(source, Options::default(), &[]).unwrap();
    assert_eq!(outcome.trap, None);
    assert_eq!(outcome.state.status(), Some(6));
    assert_eq!(outcome.state.register(4), Some(6));
}

/// A handler skips the instruction that trapped in a body, and changes a queue entry that the group
/// goes on with.
#[test]
fn a_guest_handler_goes_on_in_a_body() {
    let source = |change: &str| {
        format!(
            "
_start: C.BSTART.STD
        hl.liu  handler, ->a1
        hl.ssrset a1, EVBASE_ACR1
        BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [],[a0]
        C.B.DIMI 4, ->lb0
next:   C.BSTART.STD
        ebreak  0
handler: C.BSTART.SYS FALL
        hl.ssrget TRAPNO_ACR1, ->a2
        hl.ssrget EBARG_TPC_ACR1, ->a3
        hl.ssrget EBARG_BPC_TGT_ACR1, ->a4
        hl.ssrget ECSTATE_ACR1, ->a5
        {change}
        acre    0
body:   v.addi  zero.ud, 11, ->t.d
here:   ebreak  3
        v.addi  t#1.ud, 0, ->ro0.d
        C.BSTOP
outside: C.BSTOP
"
        )
    };
    let skip = "addi a3, 4, ->a6\nhl.ssrset a6, EBARG_TPC_ACR1";
    let outcome = run(&source(skip), Options::default(), &[]).unwrap();
    assert_eq!((outcome.trap.clone(), outcome.state.status()), (None, Some(11)));
    let symbol = |name: &str| outcome.image.symbol(name).map(|s| s.value);
    let registers = [4, 5, 6, 7].map(|r| outcome.state.register(r));
    // ECSTATE: ring 2, BI.
    assert_eq!(registers, [Some(50), symbol("here"), symbol("next"), Some(2 | 1 << 62)]);
    let queue = format!("{skip}\nhl.liu 77, ->a6\nhl.ssrset a6, EBARG_TQ0_ACR1");
    let outcome = run(&source(&queue), Options::default(), &[]).unwrap();
    assert_eq!(outcome.state.status(), Some(77));
    // Out of the body, and to a ring above: no return.
    for wrong in [
        "hl.liu outside, ->a6\nhl.ssrset a6, EBARG_TPC_ACR1",
        "hl.ssrset zero, ECSTATE_ACR1",
        "hl.liu 3, ->a6\nhl.ssrset a6, ECSTATE_ACR1",
    ] {
        let (trap, _) = trap(&source(wrong), Options::default());
        assert_eq!((trap.trapno(), trap.bi), (0, false), "{wrong}");
    }
}

/// The counters that a handler sees are those of the group's first lane, however groups are cut.
#[test]
fn a_guest_handler_sees_the_counters() {
    let source = "
_start: C.BSTART.STD
        hl.liu  handler, ->a1
        hl.ssrset a1, EVBASE_ACR1
        BSTART.MSEQ 0
        B.TEXT  body
        C.B.DIMI 3, ->lb0
        C.B.DIMI 5, ->lb1
        C.BSTART.STD
        ebreak  0
handler: C.BSTART.SYS FALL
        hl.ssrget EBARG_LB_ACR1, ->a2
        hl.ssrget EBARG_LC_ACR1, ->a0
        ebreak  0
body:   v.cmp.eqi lc1.ud, 2, ->p
        b.z     end
        ebreak  1
end:    C.BSTOP
";
    let linear = Options { linear_groups: linx::Linear::On, group_width: 4, ..Options::default() };
    // Lanes 4 to 7 of the linearised space: the first is (1, 1).
    for (options, counters) in [(Options::default(), 2 << 16), (linear, 1 | 1 << 16)] {
        let outcome = run(source, options, &[]).unwrap();
        assert_eq!(outcome.state.status(), Some(counters));
        assert_eq!(outcome.state.register(4), Some(3 | 5 << 16 | 1 << 32));
    }
}

/// Two kernels with memory instructions of every kind, over buffers far apart.
const KERNELS: [&str; 2] = [
    "body: v.lw.brg [ri0, lc0<<2, lc1.ud<<5], ->vt.w
     v.cmp.ltui lc0.ud, 5, ->p
     v.addi p.ud, 0, ->t.d
     v.sll vt#1.uw, lc0.uw, ->vu.w
     v.sw.brg vu#1.uw, [ri1, lc0<<2, lc1.ud<<5]
     v.xori t#1.ud, -1, ->p
     v.lhui.brg [ri0, lc0<<1, 4], ->vm.w
     v.swi.brg vm#1.uw, [ri1, lc0<<2, 64]
     C.BSTOP",
    "body: v.add lc0.ud, lc0.ud, ->vt.d
     v.sll lc0.ud, lc1.ud, ->vu.d
     v.add ri1.ud, vt#1.ud<<2, ->vm.d
     v.lw.add [vm#1], vu#1.uw, ->vn.w
     v.sd.add [ri2], vu#1.ud
     v.sd.brg vn#1.ud, [ri2, lc0<<3, zero.ud<<3]
     v.ld.brg [ri2, lc0<<3, zero.ud], ->vt.d
     v.rdadd vt#1.ud, ->ro0.d
     C.BSTOP",
];

/// Where the buffers lie: they are not mapped until a fault asks for them.
const BUFFERS: [u64; 3] = [0x200_0000, 0x300_0000, 0x400_0000];

fn launch(kernel: &str, block: &str, mapped: usize) -> (Program, State) {
    let source = format!(
        "_start: C.BSTART.STD\nhl.liu {:#x}, ->a0\nhl.liu {:#x}, ->a1\nhl.liu {:#x}, ->a2\nBSTART.{block} 0\nB.TEXT body\n\
         B.IOR [a0,a1,a2],[a3]\nC.B.DIMI 8, ->lb0\nC.B.DIMI 2, ->lb1\nC.BSTART.STD\nc.movi 0, ->a0\nebreak 0\n{kernel}\n",
        BUFFERS[0], BUFFERS[1], BUFFERS[2]
    );
    let image = linx::assemble(isa::FileId::default(), &source, TileOps::V04).unwrap();
    let program = Program::from_image(&image, TileOps::V04).unwrap();
    let mut memory = MemoryMap::new();
    for base in &BUFFERS[..mapped] {
        map(&mut memory, *base);
    }
    let launch = linx::Launch { memory, ..linx::Launch::default() };
    let state = Linx::default().launch(&program, launch).unwrap();
    (program, state)
}

fn map(memory: &mut MemoryMap, base: u64) {
    memory.map_at("buffer", Addr(base), 256, Permission::ReadWrite).unwrap();
    let bytes: Vec<u8> = (0..=255).map(|i| if base == BUFFERS[0] { i % 11 } else { 0 }).collect();
    memory.host_write(Addr(base), &bytes).unwrap();
}

/// Steps to the end; each fault maps the buffer that it is about. Gives the buffers, `a3`, and the
/// number of faults.
fn finish(program: &Program, state: &mut State) -> (Vec<u8>, Option<u64>, usize) {
    let mut faults = 0;
    loop {
        match Linx::default().run_unobserved(program, state, 10_000) {
            Step::Done => break,
            Step::Fault(fault) => {
                faults += 1;
                assert!(faults < 100 && fault.cause.bi, "{}", fault.cause);
                let address = fault.cause.arg.unwrap();
                let base = BUFFERS.into_iter().find(|b| (*b..b + 256).contains(&address)).unwrap();
                map(&mut state.memory, base);
            }
            other => panic!("{other:?}"),
        }
    }
    let mut bytes = vec![0; 768];
    for (chunk, base) in bytes.chunks_mut(256).zip(BUFFERS) {
        // A buffer that the kernel has not touched has not been mapped.
        if state.memory.region_at(Addr(base)).is_none() {
            map(&mut state.memory, base);
        }
        state.memory.read_bytes(Addr(base), chunk).unwrap();
    }
    (bytes, state.register(5), faults)
}

#[test]
fn a_resumed_kernel_ends_as_one_without_a_fault() {
    for kernel in KERNELS {
        for block in ["MSEQ", "MPAR"] {
            let (program, mut whole) = launch(kernel, block, 3);
            let (bytes, export, faults) = finish(&program, &mut whole);
            assert_eq!(faults, 0);
            let (program, mut torn) = launch(kernel, block, 0);
            let (torn_bytes, torn_export, faults) = finish(&program, &mut torn);
            assert!(faults >= 2, "{kernel}");
            assert_eq!((bytes, export), (torn_bytes, torn_export));
            assert_eq!(Linx::default().slots(&whole), Linx::default().slots(&torn));
        }
    }
}

/// Every memory instruction faults once: its buffer is taken away before it, and given back with
/// its contents.
#[test]
fn every_memory_instruction_can_fault_and_resume() {
    for kernel in KERNELS {
        for block in ["MSEQ", "MPAR"] {
            let (program, mut whole) = launch(kernel, block, 3);
            let (expected, export, _) = finish(&program, &mut whole);
            let (program, mut state) = launch(kernel, block, 3);
            let mut faulted = 0;
            loop {
                // Try the next instruction with read-protected buffers gone; a fault must change
                // nothing.
                let mut probe = state.clone();
                for base in BUFFERS {
                    probe.memory.free(Addr(base)).unwrap();
                }
                let step = Linx::default().run_unobserved(&program, &mut probe, 1);
                if let Step::Fault(fault) = &step {
                    faulted += 1;
                    assert!(fault.cause.bi);
                    // The contents come back; everything else is what the fault left.
                    probe.memory = state.memory.clone();
                    state = probe;
                }
                match Linx::default().run_unobserved(&program, &mut state, 1) {
                    Step::Done => break,
                    Step::Issued => {}
                    other => panic!("{other:?}"),
                }
            }
            let mut bytes = vec![0; 768];
            for (chunk, base) in bytes.chunks_mut(256).zip(BUFFERS) {
                state.memory.read_bytes(Addr(base), chunk).unwrap();
            }
            assert_eq!((bytes, state.register(5)), (expected, export));
            // Four memory instructions a group, two groups.
            assert_eq!(faulted, 8);
        }
    }
}

#[test]
fn parallel_groups_run_in_a_seeded_order_and_conflicts_are_named() {
    let order = Linx::group_order(10, 7, 10);
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..10).collect::<Vec<u64>>());
    assert_ne!(order, sorted);
    // What the first two groups of a parallel kernel share, and what shows their order.
    let named = |header: &str, body: &str| {
        let source = kernel(&format!("{body}\nC.BSTOP"))
            .replace("MSEQ", "MPAR")
            .replace("[a0],[]", "[a0],[a1]")
            .replace(
                "C.B.DIMI 4, ->lb0",
                &format!("C.B.DIMI 4, ->lb0\nC.B.DIMI 3, ->lb1\n{header}"),
            );
        let options = Options { conflicts: true, warn_gpr_writes: true, ..Options::default() };
        let outcome = run(&source, options, &[]).unwrap();
        assert_eq!(outcome.trap, None, "{body}");
        let out = outcome.image.symbol("out").unwrap().value;
        let place = |shared| match shared {
            Shared::Memory(address) => Shared::Memory(address - out),
            other => other,
        };
        outcome.state.conflict().map(|c| (place(c.shared), c.first, c.second))
    };
    let found = |shared| Some((shared, 0, 1));
    let tile = "B.IOTI [], last ->t<512B>";
    let cases = [
        ("", "v.sw.brg lc1.uw, [ri0, lc0<<2, zero.ud<<2]", found(Shared::Memory(0))),
        // Nobody else uses a group's own row.
        ("", "v.sb.brg lc1.uw, [ri0, lc0, lc1.ud<<2]", None),
        // Both have read before one writes.
        (
            "",
            "v.lw.brg [ri0, zero.ud], ->vt.w\nv.cmp.nei lc1.ud, 0, ->p\nv.cmp.eqi lc0.ud, 0, ->p\n\
             v.cmp.eqi lc1.ud, 1, ->p\nv.sw.brg lc0.uw, [ri0, zero.ud<<2]",
            found(Shared::Memory(0)),
        ),
        ("", "v.add zero.ud, lc0.ud, ->vt.d\nv.sw.add [ri0], vt#1.uw", None),
        ("", "v.add zero.ud, lc0.ud, ->vt.d\nv.lw.add [ri0], vt#1.uw, ->zero", None),
        // The old value tells who came first.
        (
            "",
            "v.add zero.ud, lc0.ud, ->vt.d\nv.lw.add [ri0], vt#1.uw, ->vu.w",
            found(Shared::Memory(0)),
        ),
        (
            "",
            "v.add zero.ud, lc0.ud, ->vt.d\nv.qpush ri0.ud, vt#1.uw, ->vu.w",
            found(Shared::Memory(0)),
        ),
        (tile, "v.sw lc1.uw, [to, lc0<<2, zero.ud<<2]", found(Shared::Tile(7, 0))),
        (tile, "v.sb lc1.uw, [to, lc0, lc1.ud<<2]", None),
        ("", "v.addi lc1.ud, 0, ->ro0.d", found(Shared::Export(0))),
        ("", "v.rdadd lc0.ud, ->ro0.d", None),
        ("", "v.rdfadd lc0.fs, ->ro0.w", found(Shared::Export(0))),
        ("", "addi a7, 1, ->a7", found(Shared::Register(9))),
        ("", "addi a7, 1, ->t", None),
    ];
    for (header, body, expected) in cases {
        assert_eq!(named(header, body), expected, "{body}");
    }
}
