//! The HTML report on inputs that could make it large or break it: large graphs, irregular graphs,
//! long runs.

use std::path::Path;

use inputs::launch::LaunchFile;
use isa::SourceMap;
use lab::run::{Job, JobParts, Settings};
use machines::{ControlFlow, FlowBlock, PostDominator, Unmonitored};
use study::divergence::{Comparison, Plan, compare};
use study::html::{PageData, to_html};

/// Two loops with several entries each, one of them endless and reached only by a branch that is
/// never taken, and a loop of one block.
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
    compared_under(&["ipdom", "min-pc"], name, kernel, block)
}

pub(crate) fn compared_under(
    mechanisms: &[&str],
    name: &str,
    kernel: &str,
    block: u32,
) -> (Job, Comparison) {
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
    let job = Job::prepare(parts, &Settings::default(), &mut sources)
        .unwrap_or_else(|found| panic!("{:?}", found.iter().collect::<Vec<_>>()));
    let plan = Plan {
        mechanisms: mechanisms.iter().map(|&m| m.to_owned()).collect(),
        warp_sizes: vec![32],
        order: None,
        settings: vec![Vec::new()],
        star: false,
        record_views: true,
        profiles: Vec::new(),
        jobs: 0,
    };
    let comparison = compare(&job, &plan, &mut Unmonitored).expect("begins").expect("ends");
    (job, comparison)
}

#[test]
fn irreducible_and_endless_graphs_are_drawn() {
    let (job, comparison) = compared("html_odd", ODD, 32);
    let page = to_html(&comparison, &PageData::of(&job, &comparison));
    let flow = job.control_flow("k").expect("a graph");
    for (index, block) in flow.blocks.iter().enumerate() {
        assert!(page.contains(&format!("data-block=\"{index}\"")), "{}", block.name);
    }
    assert!(page.contains("meet at nowhere"), "a loop without an end");
    assert!(page.contains("class=\"edge back\""));
    assert!(!page.contains("NaN") && !page.contains("inf "), "coordinates are numbers");
}

#[test]
fn the_title_names_the_first_of_many_kernels() {
    let (job, mut comparison) = compared("html_title", ODD, 32);
    let page_data = PageData::of(&job, &comparison);
    let title = |comparison: &Comparison| {
        let page = to_html(comparison, &page_data);
        let (_, rest) = page.split_once("<h1>").expect("a title");
        rest.split_once("</h1>").expect("its end").0.to_owned()
    };
    assert_eq!(title(&comparison), "k");
    comparison.kernels = (0..8).map(|i| format!("k{i}")).collect();
    assert_eq!(title(&comparison), "k0, k1, k2, k3, k4, k5, k6, k7");
    comparison.kernels = (0..100).map(|i| format!("k{i}")).collect();
    assert_eq!(title(&comparison), "k0, k1, k2, k3, k4, k5, k6, k7 and 92 more");
}

/// Returns a chain of blocks, each of which may also jump to any of `cases` others.
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
        let page_data = PageData { graphs: vec![flow(blocks, cases)], ..PageData::default() };
        let page = to_html(&comparison, &page_data);
        assert!(page.len() < 6_000_000, "{blocks} blocks: {} bytes", page.len());
        assert!(start.elapsed().as_secs() < 60, "{blocks} blocks: {:?}", start.elapsed());
    }
}

#[test]
fn long_runs_are_cut_with_a_note() {
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
    let total = comparison.rows[0].stats.as_ref().expect("ran").counts.slots;
    assert_eq!((warp.issues, warp.slots), (total.issues(), total.width), "all is counted");
    let page = to_html(&comparison, &PageData::of(&job, &comparison));
    assert!(page.len() < 400_000, "{} bytes", page.len());
}

/// A kernel that calls a function, with five nested conditions: more than three banks can hold.
const NESTED: &str = "kernel @k(out: u64 global) {
  reg %t, %n: b32
  reg %p: pred
  reg %a: b64
entry:
  %a = ld.param.u64 [@out]
  %t = sreg.u32 tid.x
  %n = mov.u32 0
  %p = setp.lt.u32 %t, 20
  @!%p br out
b1:
  %n = add.u32 %n, 1
  %p = setp.lt.u32 %t, 16
  @!%p br out1
b2:
  %n = add.u32 %n, 1
  %p = setp.lt.u32 %t, 12
  @!%p br out2
b3:
  %n = add.u32 %n, 1
  %p = setp.lt.u32 %t, 8
  @!%p br out3
b4:
  %n = call @more(%n)
out3:
  %n = add.u32 %n, 1
out2:
  %n = add.u32 %n, 1
out1:
  %n = add.u32 %n, 1
out:
  %t = shl.b32 %t, 2
  %a = madwide.u32 %t, 1, %a
  st.global.u32 [%a], %n
  ret
}
func @more(%x: b32) -> (%x) {
entry:
  %x = add.u32 %x, 10
  ret
}
";

#[test]
fn compiled_code_is_listed_with_its_predicates_and_spills() {
    let mechanisms = ["ipdom", "exec-mask", "predication", "masked-banks"];
    let (job, comparison) = compared_under(&mechanisms, "html-compiled", NESTED, 32);
    let code = |at: usize| comparison.rows[at].stats.as_ref().and_then(|s| s.code);
    assert!(code(0).is_none(), "no pass");
    let predicates = |at: usize| code(at).and_then(|c| c.pass.predicates).expect("predicates");
    // No predicate survives a call in its register, so there are spills for any number of
    // registers.
    for at in [2, 3] {
        let cost = predicates(at);
        assert!(
            cost.needed > 4 && cost.spilled > 0 && cost.stores > 0 && cost.loads > 0,
            "{cost:?}"
        );
    }
    assert!(code(1).is_some_and(|c| c.pass.after > c.pass.before && c.pass.saved_masks > 0));
    for row in &comparison.rows[1..] {
        let slots = row.stats.as_ref().expect("ran").counts.slots;
        assert!(slots.masked_off > 0, "{}: lanes off by a mask are told apart", row.mechanism);
    }
    let page = to_html(&comparison, &PageData::of(&job, &comparison));
    assert!(
        page.contains("Code that compile-time mechanisms run") && page.contains("p-masked_off")
    );
    assert!(page.contains("\"kernel\":\"more\""), "the function has a graph, too");
}

#[test]
fn branches_and_lanes_are_on_the_page() {
    let (job, comparison) = compared("html_branches", ODD, 20);
    let page = to_html(&comparison, &PageData::of(&job, &comparison));
    let data = page.split("id=\"views\">").nth(1).and_then(|rest| rest.split("</script>").next());
    let views: serde_json::Value = serde_json::from_str(data.expect("is there")).expect("is JSON");
    for (row, of) in views["rows"].as_array().expect("rows").iter().zip(&comparison.rows) {
        let counts = &of.stats.as_ref().expect("it ran").counts;
        let branches = row["branches"]["rows"].as_array().expect("branches");
        let sum =
            |column: usize| branches.iter().map(|b| b[column].as_u64().unwrap_or(0)).sum::<u64>();
        assert_eq!((sum(2), sum(3)), (counts.branches, counts.divergent_branches));
        let lost = counts.slots.of(simt::slots::SlotCause::Diverged);
        let rest = row["branches"]["unattributed"].as_u64().expect("a number");
        assert_eq!(sum(8) + rest, lost);
        // One warp, all of whose issues are in the map.
        let map = &row["occupancy"];
        let cells = map["rows"][0].as_str().expect("a row").len() as u64;
        let per_column = map["issues"].as_u64().expect("a number");
        assert_eq!(cells, counts.slots.issues().div_ceil(per_column));
    }
    assert!(page.contains("id=\"branch-rows\"") && page.contains("id=\"occupancy-map\""));
}
