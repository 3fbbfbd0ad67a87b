//! The report where it could grow or break: large graphs, odd graphs, long runs.

use std::path::Path;

use isa::SourceMap;
use lab::divergence::{Comparison, Plan, compare};
use lab::html::{Material, to_html};
use lab::launch::LaunchFile;
use lab::machine::{ControlFlow, FlowBlock, PostDominator, Unwatched};
use lab::run::{Job, JobParts, Settings};

/// Two loops with several entries each, one without an end that lanes only come to by a branch never taken, and a loop of one block.
const ODD: &str = "kernel @k(out: u64 global) {
  reg %t, %n: b32
  reg %p, %q: pred
entry:
  %t = sreg.u32 tid.x
  %n = mov.u32 0
  %p = setp.lt.u32 %t, 10
  %q = setp.gt.u32 %t, 99
  @%p br b
a:
  %n = add.u32 %n, 1
b:
  %n = add.u32 %n, 1
  %p = setp.lt.u32 %n, 6
  @%p br a
self:
  %n = add.u32 %n, 1
  %p = setp.lt.u32 %n, 50
  @%p br self
  @%q br forever
done:
  ret
forever:
  br forever
}
";

fn compared(name: &str, kernel: &str, block: u32) -> (Job, Comparison) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("k.ir"), kernel).expect("a file");
    let text = format!(
        "schema = 1\nmachine = \"ir\"\nmodule = \"k.ir\"\n[buffers]\nout = \"u32[32]:zeros\"\n\
         [[launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [{block}]\nargs = [\"&out\"]\n"
    );
    let mut sources = SourceMap::new();
    let file = sources.add("launch.toml", text.as_str());
    let read = LaunchFile::parse(&text, file).expect("is a launch file");
    let parts = JobParts::from_parsed(read, &folder).expect("names a machine");
    let mut job = Job::prepare(parts, &Settings::default(), &mut sources)
        .unwrap_or_else(|found| panic!("{:?}", found.iter().collect::<Vec<_>>()));
    let plan = Plan {
        mechanisms: vec!["ipdom".to_owned(), "min-pc".to_owned()],
        warp_sizes: vec![32],
        order: None,
        settings: vec![Vec::new()],
        star: false,
        look: true,
    };
    let comparison = compare(&mut job, &plan, &mut Unwatched).expect("begins").expect("ends");
    (job, comparison)
}

#[test]
fn irreducible_and_endless_graphs_are_drawn() {
    let (job, comparison) = compared("html_odd", ODD, 32);
    let page = to_html(&comparison, &Material::of(&job, &comparison));
    let flow = job.control_flow("k").expect("a graph");
    for (index, block) in flow.blocks.iter().enumerate() {
        assert!(page.contains(&format!("data-block=\"{index}\"")), "{}", block.name);
    }
    assert!(page.contains("meet at nowhere"), "a loop without an end");
    assert!(page.contains("class=\"edge back\""));
    assert!(!page.contains("NaN") && !page.contains("inf "), "coordinates are numbers");
}

/// A chain of blocks each of which may also jump to any of `cases` others.
fn flow(blocks: usize, cases: usize) -> ControlFlow {
    let block = |at: usize| FlowBlock {
        name: format!("B{at}"),
        instructions: vec!["switch".to_owned()],
        successors: (1..=cases).map(|c| ((at + c * 7) % blocks, format!("case {c}"))).collect(),
        post_dominator: PostDominator::Exit,
        frontier: (0..FlowBlock::FRONTIER.min(blocks)).collect(),
        ..FlowBlock::default()
    };
    ControlFlow {
        kernel: "k".to_owned(),
        notes: Vec::new(),
        blocks: (0..blocks).map(block).collect(),
    }
}

#[test]
fn large_graphs_do_not_make_large_pages() {
    let (_, comparison) = compared("html_large", ODD, 32);
    for (blocks, cases) in [(20_000, 2), (200, 199), (240, 4)] {
        let start = std::time::Instant::now();
        let material = Material { graphs: vec![flow(blocks, cases)], ..Material::default() };
        let page = to_html(&comparison, &material);
        assert!(page.len() < 6_000_000, "{blocks} blocks: {} bytes", page.len());
        assert!(start.elapsed().as_secs() < 60, "{blocks} blocks: {:?}", start.elapsed());
    }
}

#[test]
fn long_runs_are_cut_and_say_so() {
    let long = ODD.replace("%n, 50", "%n, 20000");
    let (job, comparison) = compared("html_long", &long, 32);
    let views = comparison.rows[0].views.as_ref().expect("views");
    let warp = &views.lanes.warps[0];
    assert!(
        warp.issues > 60_000 && warp.steps.len() <= 1_500,
        "{} of {}",
        warp.steps.len(),
        warp.issues
    );
    let total = comparison.rows[0].stats.as_ref().expect("ran").slots;
    assert_eq!((warp.issues, warp.slots), (total.issues(), total.width), "all is counted");
    let page = to_html(&comparison, &Material::of(&job, &comparison));
    assert!(page.len() < 400_000, "{} bytes", page.len());
}
