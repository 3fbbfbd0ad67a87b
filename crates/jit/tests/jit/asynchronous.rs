//! Asynchronous operations, against the exact engine: producers and consumers at barriers in shared
//! memory, with bulk copies, asynchronous products of warp groups, and waits of every kind.

use crate::harness::{Count, RunConfig, compare_in, levels};
use converge::catalogue::Entry;
use fast::Level;
use ir::FuncId;
use ir::testing::Rng;
use std::fmt::Write as _;
use vm::{Launch, Program, catalogued, load_variables};

/// Bytes of a stage: a factor of 64 rows and one of 24 columns, of 32 bytes each.
const STAGE: usize = 2048 + 1024;

/// The choices of a kernel.
struct Shape {
    /// Warp groups that multiply; a warp more brings the factors.
    groups: usize,
    rounds: usize,
    stages: usize,
    columns: usize,
    /// Elements of the factors, and elements along the depth.
    element: (&'static str, usize),
    registers: bool,
    /// Groups of products that may be unfinished when a stage is released.
    pending: usize,
    /// Whether all threads of a group release a stage, or one of each warp.
    all: bool,
    /// How a thread waits.
    wait: &'static str,
}

impl Shape {
    fn new(rng: &mut Rng) -> Self {
        let element = [("f16", 16), ("bf16", 16), ("e4m3", 32), ("s8", 32)][rng.below(4)];
        Self {
            groups: 1 + rng.below(2),
            rounds: 1 + rng.below(6),
            stages: 2 + rng.below(2),
            columns: 8 * (1 + rng.below(3)),
            element,
            registers: rng.one_in(3),
            pending: rng.below(2),
            all: rng.one_in(3),
            wait: ["try_wait", "try_wait", "test_wait"][rng.below(3)],
        }
    }

    fn sum(&self) -> &'static str {
        if self.element.0 == "s8" { "s32" } else { "f32" }
    }

    /// A product; `of_sums` takes factors in registers from the sums.
    fn product(&self, of_sums: bool) -> String {
        let list = |of: &str, count: usize| {
            let names: Vec<String> = (0..count).map(|i| format!("%{of}{i}")).collect();
            format!("{{{}}}", names.join(", "))
        };
        let ((element, depth), columns, sum) = (self.element, self.columns, self.sum());
        let wide = element.ends_with("f16");
        let registers = if of_sums { "d" } else { "l" };
        let left = if self.registers { list(registers, 4) } else { "%da".to_owned() };
        let signs = if self.sum() == "s32" { "" } else { ", 1, 1" };
        let major = match (wide, self.registers) {
            (false, _) => "",
            (true, true) => ", 0",
            (true, false) => ", 0, 0",
        };
        format!(
            "wgmma.mma_async.sync.aligned.m64n{columns}k{depth}.{sum}.{element}.{element} {}, \
             {left}, %db, %add{signs}{major};\n",
            list("d", columns / 2)
        )
    }
}

/// A wait for a phase of the barrier at `%bar`, whose parity is `%par`.
fn wait(out: &mut String, label: &str, how: &str) {
    let _ = write!(
        out,
        "{label}:
  mbarrier.{how}.parity.shared.b64 %p, [%bar], %par;
  @!%p bra {label};
"
    );
}

fn kernel(rng: &mut Rng, shape: &Shape) -> String {
    let Shape { groups, rounds, stages, columns, .. } = *shape;
    let (consumers, stage_bytes) = (128 * groups, 2048 + 32 * columns);
    let arrivals = if shape.all { consumers } else { 4 * groups };
    let mut text = format!(
        ".version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 n, .param .u64 a, .param .u64 b) {{
  .reg .pred %p, %q, %add, %lead;
  .reg .b32 %t, %w, %r, %s, %par, %bar, %full, %empty, %lane, %left, %right, %x<4>, %l<4>, %seen;
  .reg .b32 %d<16>;
  .reg .b64 %a, %b, %at, %da, %db;
  .shared .align 128 .b8 stages[{}];
  .shared .align 8 .b64 full[{stages}];
  .shared .align 8 .b64 empty[{stages}];
  mov.u32 %t, %tid.x;
  and.b32 %lane, %t, 31;
  ld.param.u64 %a, [a];
  ld.param.u64 %b, [b];
  setp.ne.u32 %p, %t, 0;
  @%p bra begun;
",
        STAGE * stages
    );
    for stage in 0..stages {
        let _ = write!(
            text,
            "  mbarrier.init.shared.b64 [full+{}], 1;
  mbarrier.init.shared.b64 [empty+{}], {arrivals};
",
            8 * stage,
            8 * stage
        );
    }
    text.push_str(
        "  fence.mbarrier_init.release.cluster;\nbegun:\n  bar.sync 0;\n  mov.u32 %r, 0;\n",
    );
    let place = format!(
        "  rem.u32 %s, %r, {stages};
  div.u32 %par, %r, {stages};
  and.b32 %par, %par, 1;
  mov.u32 %full, full;
  mad.lo.u32 %full, %s, 8, %full;
  mov.u32 %empty, empty;
  mad.lo.u32 %empty, %s, 8, %empty;
  mov.u32 %left, stages;
  mad.lo.u32 %left, %s, {STAGE}, %left;
  add.u32 %right, %left, 2048;
"
    );
    let _ = write!(
        text,
        "  setp.lt.u32 %p, %t, {consumers};
  @%p bra consume;
  setp.ne.u32 %p, %lane, {};
  @%p bra done;
produce:
{place}  xor.b32 %par, %par, 1;
  mov.u32 %bar, %empty;
",
        rng.below(32)
    );
    wait(&mut text, "free", shape.wait);
    let expects = match rng.below(2) {
        0 => format!("  mbarrier.arrive.expect_tx.shared.b64 _, [%full], {stage_bytes};\n"),
        _ => format!(
            "  mbarrier.expect_tx.relaxed.cta.shared.b64 [%full], {stage_bytes};
  mbarrier.arrive.shared.b64 %at, [%full];\n"
        ),
    };
    let _ = write!(
        text,
        "{expects}  mov.u32 %x0, %ctaid.x;
  mad.lo.u32 %x0, %x0, 3, %r;
  and.b32 %x0, %x0, 7;
  mul.wide.u32 %at, %x0, 16;
  add.u64 %at, %at, %b;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%left], [%at], 2048, [%full];
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%right], [%at], {}, [%full];
  add.u32 %r, %r, 1;
  setp.lt.u32 %p, %r, {rounds};
  @%p bra produce;
  bra done;
consume:
",
        32 * columns
    );
    for i in 0..columns / 2 {
        let _ = writeln!(text, "  mov.b32 %d{i}, 0;");
    }
    let _ = write!(
        text,
        "  mov.b32 %l0, 0x38383838;\n  mov.b32 %l1, 0x30303030;\n  mov.b32 %l2, 0x3838;
  mov.b32 %l3, %lane;
  mov.u32 %seen, 0;
next:
{place}  mov.u32 %bar, %full;
"
    );
    wait(&mut text, "filled", shape.wait);
    // Rows 0 to 7 are 128 bytes on, the second half of the depth 128 bytes before that.
    let _ = write!(
        text,
        "  shr.u32 %x0, %left, 4;
  cvt.u64.u32 %da, %x0;
  or.b64 %da, %da, 0x0000001000080000;
  shr.u32 %x0, %right, 4;
  cvt.u64.u32 %db, %x0;
  or.b64 %db, %db, 0x0000001000080000;
  setp.ne.u32 %add, %r, {};
  wgmma.fence.sync.aligned;
",
        rng.below(3)
    );
    // Products of the same sums are computed together, unless something between them names these.
    for _ in 0..[1, 2, 3, 4, 20][rng.below(5)] {
        text.push_str(&shape.product(rng.one_in(2)));
        text.push_str(match rng.below(4) {
            0 => "  mad.lo.u32 %seen, %seen, 3, %d1;\n",
            1 => "  add.u32 %x2, %x0, 1;\n",
            2 => "  mov.b32 %d2, 0x3c003c00;\n",
            _ => "",
        });
    }
    let _ = write!(
        text,
        "  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned {};
",
        shape.pending
    );
    // A stage whose products may be unfinished is released in the next round.
    let released = if shape.pending == 0 { "%r" } else { "%x1" };
    let _ = write!(
        text,
        "  sub.u32 %x1, %r, 1;
  setp.ge.s32 %lead, {released}, 0;
  and.b32 %x2, %lane, {};
  setp.eq.and.u32 %lead, %x2, 0, %lead;
  rem.u32 %x3, {released}, {stages};
  mov.u32 %empty, empty;
  mad.lo.u32 %empty, %x3, 8, %empty;
  @%lead mbarrier.arrive.shared.b64 _, [%empty];
  add.u32 %r, %r, 1;
  setp.lt.u32 %p, %r, {rounds};
  @%p bra next;
  wgmma.wait_group.sync.aligned 0;
  mov.u32 %x0, %ctaid.x;
  mad.lo.u32 %x0, %x0, {consumers}, %t;
  mul.wide.u32 %at, %x0, {};
  add.u64 %at, %at, %a;
",
        if shape.all { 0 } else { 31 },
        2 * columns + 4
    );
    for i in 0..columns / 2 {
        let _ = writeln!(text, "  st.global.b32 [%at+{}], %d{i};", 4 * i);
    }
    let _ = writeln!(text, "  st.global.b32 [%at+{}], %seen;", 2 * columns);
    text.push_str("done:\n  ret;\n}\n");
    text
}

/// Compares a kernel on all engines; returns the first difference.
pub(crate) fn compare(
    text: &str,
    threads: usize,
    rng: &mut Rng,
    count: &mut Count,
) -> Result<(), String> {
    let grid = 1 + rng.below(4) as u32;
    compare_grid(text, (grid, threads), rng, count)
}

/// The same with a number of blocks.
pub(crate) fn compare_grid(
    text: &str,
    (grid, threads): (u32, usize),
    rng: &mut Rng,
    count: &mut Count,
) -> Result<(), String> {
    let (tree, _) = ptx::parse(isa::FileId::default(), text);
    let (module, found) = ptx::lower(&tree, ptx::Select::All);
    let module = module.unwrap_or_else(|| panic!("{text}\n{found:#?}"));
    let program = Program::link(module).expect("it links");
    let entry = Entry::find("ipdom").expect("it is in the catalogue");
    let mut launch: Launch<1> = Launch::new(FuncId(0), catalogued(entry));
    launch.variables = load_variables(&program, &mut launch.memory).expect("room");
    (launch.grid, launch.block) = ([grid, 1, 1], [threads as u32, 1, 1]);
    launch.limit = 100_000;
    launch.params = 0u64.to_le_bytes().to_vec();
    let words = [4 * 256 * 13, 8192 / 4];
    for (name, words) in ["a", "b"].into_iter().zip(words) {
        let buffer = launch.memory.allocate(name, 4 * words as u64).expect("room");
        let word = |_| (0x3838_3838 | rng.bits() as u32 & 0x8787_8787).to_le_bytes();
        let content: Vec<u8> = (0..words).flat_map(word).collect();
        launch.memory.host_write(buffer, &content).expect("it is there");
        launch.params.extend(buffer.0.to_le_bytes());
    }
    let interpreted = |level| {
        let way = |(detailed, threads)| RunConfig {
            compiled: false,
            level,
            assume: true,
            detailed,
            threads,
        };
        [(false, 1), (true, 1), (false, 3)].map(way)
    };
    let compiled = levels().flat_map(|level| {
        let way = move |(detailed, threads)| RunConfig {
            compiled: true,
            level,
            assume: true,
            detailed,
            threads,
        };
        [(false, 1), (true, 1), (false, 3)].map(way)
    });
    let ways = interpreted(Level::best()).into_iter().chain(compiled);
    compare_in(ways, &program, &launch, count)
}

#[test]
fn waits_at_barriers_in_memory_are_exact() {
    let mut count = Count::default();
    for seed in 0..24 {
        let mut rng = Rng::new(seed);
        let shape = Shape::new(&mut rng);
        let text = kernel(&mut rng, &shape);
        let same = compare(&text, 128 * shape.groups + 32, &mut rng, &mut count);
        same.unwrap_or_else(|what| panic!("{what}\n{text}"));
    }
    assert!(count.refused == 0 && count.stopped == 0 && count.compared > 0, "{count:?}");
}
