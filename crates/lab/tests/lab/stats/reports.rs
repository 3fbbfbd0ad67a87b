//! The text and the JSON report.

use engine::{Counters, PcSlots};
use lab::stats::{RunStats, to_json, to_text};
use machines::stats::{AccessSite, LaunchStats, LineSlots};
use simt::LaneMask;
use simt::counts::{METRICS, Traffic};
use simt::observe::{
    Access, AccessKind, Branch, GroupId, Issue, Observer, Order, Pc, Scope, Space,
};
use simt::slots::{Domain, IssueLanes};

fn mask(bits: u64) -> LaneMask<1> {
    LaneMask::from_bits(bits)
}

/// A warp of four: three issues, among them a divergent branch and one with a lane guarded off.
fn sample() -> LaunchStats {
    let mut launch = LaunchStats {
        kernel: "k".into(),
        grid: [2, 3, 1],
        block: [4, 1, 1],
        outcome: "done".into(),
        ..LaunchStats::default()
    };
    launch.counts.block_issues = 2;
    let mut observer = Counters::with_pcs(PcSlots::new(3));
    let issue = |launch: &mut LaunchStats, observer: &mut Counters, pc, active, on, depth| {
        let lanes = IssueLanes::<1> {
            width: 4,
            launched: mask(0b1111),
            exited: mask(0),
            waiting: mask(0),
            active: mask(active),
            unmasked: mask(active),
            on: mask(on),
        };
        launch.counts.slots.vector(&lanes);
        let issue = Issue {
            group: GroupId::default(),
            pc: Pc(pc),
            domain: Domain::Vector,
            lanes: &lanes,
            depth,
            guard_off: 0,
        };
        observer.issue(&issue);
    };
    let seen = &mut observer;
    issue(&mut launch, seen, 0, 0b1111, 0b1111, 1);
    issue(&mut launch, seen, 1, 0b1111, 0b0111, 1);
    let targets = [(Pc(2), mask(0b0011)), (Pc(0), mask(0b1100))];
    seen.branch(&Branch { group: GroupId::default(), pc: Pc(1), targets: &targets });
    issue(&mut launch, seen, 2, 0b0011, 0b0011, 2);
    LaunchStats {
        counts: launch.counts.with_events(&observer.counts),
        active_lanes: observer.active_lanes,
        by_pc: observer.by_pc,
        ..launch
    }
}

fn run() -> RunStats {
    RunStats {
        machine: "ptx".into(),
        module: "k.ptx".into(),
        mechanism: "ipdom".into(),
        warp_size: 4,
        seed: 0,
        launches: vec![sample()],
        times: None,
    }
}

#[test]
fn metrics_follow_their_definitions() {
    let run = run();
    let value = |name: &str| run.value(name, None).expect("a metric");
    assert_eq!(value("inst_executed"), 3.0);
    assert_eq!(value("thread_inst_executed"), 10.0);
    assert_eq!(value("thread_inst_pred_on"), 9.0);
    assert_eq!(value("warp_execution_efficiency"), 100.0 * (10.0 / 12.0));
    assert_eq!(value("branch_efficiency"), 0.0);
    assert_eq!(value("block_issues"), 2.0);
    assert_eq!(value("max_depth"), 2.0);
    assert_eq!(value("slots_diverged"), 2.0);
    assert_eq!(value("slots_predicated_off"), 1.0);
    assert_eq!(run.launches[0].active_lanes, [0, 0, 1, 0, 2]);
    assert_eq!(run.launches[0].by_pc.slots()[2].width, 4);
    assert_eq!(run.value("lane_slots", Some(1)), None);
    assert_eq!(run.value("nonsense", None), None);
}

/// Returns the traffic of an access of 32 lanes.
fn access(space: Space, pc: u64, at: impl Fn(u64) -> u64) -> Traffic {
    let lanes: Vec<(u16, u64)> = (0..32).map(|lane| (lane, at(lane.into()))).collect();
    let mut counters = Counters::default();
    Observer::<1>::access(
        &mut counters,
        &Access {
            group: GroupId::default(),
            pc: Pc(pc),
            kind: AccessKind::Load,
            space,
            owner: 0,
            order: Order::Weak,
            scope: Scope::Gpu,
            size: 4,
            lanes: &lanes,
            values: &[],
        },
    );
    counters.counts.traffic
}

#[test]
fn the_text_report_names_lines_with_costly_accesses() {
    let mut run = run();
    let launch = &mut run.launches[0];
    for (line, space, stride) in
        [(5, Space::Global, 4), (6, Space::Global, 128), (9, Space::Shared, 8)]
    {
        let traffic = access(space, line.into(), |lane| lane * stride);
        launch.counts.traffic.add(&traffic);
        let source = (line != 9).then(|| ("src/k.cu".to_owned(), line + 10));
        launch.sites.push(AccessSite { line, source, text: "ld".into(), traffic });
    }
    let text = to_text(&run);
    let row = |name: &str, value: &str, note: &str| {
        format!(
            "  {name:<35}{value:>19}  {note}
"
        )
    };
    assert!(text.contains(&row("sectors_per_request", "18.00", "2 requests")), "{text}");
    assert!(text.contains(&row("bank_conflicts", "1", "1 requests")), "{text}");
    assert!(
        text.ends_with(
            "
  where memory hurts
  line 6, k.cu:16                              1 requests, 32.00 sectors each
  line 9                                       1 requests, 1.00 conflicts each
"
        ),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn metric_names_are_unique() {
    for (i, metric) in METRICS.iter().enumerate() {
        assert!(METRICS[..i].iter().all(|m| m.name != metric.name), "{}", metric.name);
    }
}

#[test]
fn the_text_report_fits_a_terminal() {
    let text = to_text(&run());
    assert_eq!(
        text,
        "\
k.ptx on ptx, ipdom, warp size 4
  k, grid 2 x 3, block 4

  inst_executed                                        3
  thread_inst_executed                                10  3.33 an issue
  thread_inst_pred_on                                  9  3.00 an issue
  warp_execution_efficiency                      83.33 %
  warp_nonpred_execution_efficiency              75.00 %
  branch_efficiency                               0.00 %  of 1
  divergent_branches                                   1
  block_issues                                         2
  max_depth                                            2

  where the lanes went                                  12 lane slots
  on              █████████████████████████▌           75.00 %                 9
  predicated off  ██▉                                   8.33 %                 1
  diverged        █████▋                               16.67 %                 2
  waiting at sync                                       0.00 %                 0
  exited                                                0.00 %                 0
  never launched                                        0.00 %                 0
"
    );
    let mut many = run();
    many.launches = vec![sample(); 12];
    many.launches[0].kernel = "k".repeat(100);
    let text = to_text(&many);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.lines().count() <= 30, "{text}");
}

#[test]
fn the_json_report_matches_its_schema() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../../docs/schemas/stats.schema.json"))
            .expect("JSON");
    jsonschema::meta::validate(&schema).expect("a valid schema");
    let validator = jsonschema::validator_for(&schema).expect("a usable schema");
    let mut run = run();
    run.launches[0].lines =
        vec![LineSlots { file: "k.cu".into(), line: 7, slots: run.launches[0].counts.slots }];
    run.launches[0].sites = vec![
        AccessSite {
            line: 3,
            source: Some(("k.cu".into(), 7)),
            text: "ld".into(),
            traffic: access(Space::Global, 3, |lane| lane * 64),
        },
        AccessSite { line: 4, source: None, text: String::new(), traffic: Traffic::default() },
    ];
    let report = to_json(&run);
    let errors: Vec<String> = validator.iter_errors(&report).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    // The schema describes exactly the metrics of the list.
    let described = &schema["$defs"]["metrics"]["properties"];
    let described: Vec<&String> = described.as_object().expect("properties").keys().collect();
    assert_eq!(described, METRICS.iter().map(|m| m.name).collect::<Vec<_>>());
    let mut broken = report;
    broken["total"]["metrics"]["branches"] = serde_json::json!("many");
    assert!(!validator.is_valid(&broken));
}
