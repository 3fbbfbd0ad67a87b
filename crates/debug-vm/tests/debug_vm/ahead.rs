//! Runs ahead on the fast engine end in states that the exact engine comes to.

use debug::{Look as _, Target as _};
use ir::testing::Rng;
use simt::Pc;
use simt::inspect::Inspect as _;
use simt::observe::Blind;

use crate::case::{Case, ENGINE};

/// A kernel of some blocks, each of which ends in its first turn: loops of few rounds, branches on
/// which lanes part, and stores. Others the fast engine commits only as a whole.
fn random(seed: u64) -> Case {
    let mut rng = Rng::new(seed);
    let (blocks, threads) = (4 + rng.below(20) as u32, 32 * (1 + rng.below(3)) as u32);
    let late = rng.below(blocks as usize);
    let (rounds, split) = (1 + rng.below(6), 1 + rng.below(threads as usize));
    let text = format!(
        ".visible .entry k(.param .u64 out) {{
  .reg .b32 %t, %c, %n, %v, %i;
  .reg .b64 %a;
  .reg .pred %p, %q;
  ld.param.u64 %a, [out];
  mov.u32 %t, %tid.x;
  mov.u32 %c, %ctaid.x;
  mad.lo.u32 %n, %c, {threads}, %t;
  mad.wide.u32 %a, %n, 4, %a;
  mov.u32 %v, %n;
  mov.u32 %i, 0;
LOOP:
  mad.lo.u32 %v, %v, 5, %i;
  setp.lt.u32 %q, %t, {split};
  @%q bra SMALL;
  xor.b32 %v, %v, 77;
  st.global.u32 [%a], %v;
  bra NEXT;
SMALL:
  @%p add.u32 %v, %v, 3;
NEXT:
  add.u32 %i, %i, 1;
  setp.le.u32 %p, %i, {rounds};
  @%p bra LOOP;
  st.global.u32 [%a], %v;
  setp.lt.u32 %q, %c, {late};
  @%q bra END;
  add.u32 %v, %v, 1;
  st.global.u32 [%a], %v;
END:
  ret;
}}"
    );
    Case::new(&text, (blocks, [threads, 1, 1]), u64::from(4 * blocks * threads))
}

/// The place of each issue; the launch is `None` behind the last one.
fn plain(case: &Case) -> Vec<Option<Pc>> {
    let mut out = Vec::new();
    case.run("ipdom", &mut Blind, |_, next, _, _| out.push(next));
    out
}

/// The digest of the state at a position.
fn digest_at(case: &Case, position: u64) -> u64 {
    let mut out = 0;
    case.run("ipdom", &mut Blind, |issue, _, state, _| {
        if issue == position {
            out = ENGINE.digest(state);
        }
    });
    out
}

#[test]
fn states_far_away_are_those_of_a_plain_run() {
    let mut ahead = 0;
    for seed in 0..8 {
        let case = random(seed);
        let wanted = plain(&case);
        let begin = |name: &str| case.begin(name);
        let kernel = case.kernel("ipdom", &begin);
        let mut rng = Rng::new(seed);
        for _ in 0..4 {
            let mut execution = case.execution(&kernel).with_far(0);
            let position = rng.below(wanted.len());
            execution.seek(position as u64).expect("there");
            assert_eq!(execution.position(), position as u64, "seed {seed}");
            assert_eq!(execution.digest(), digest_at(&case, position as u64), "seed {seed}");
            if let Some(Ok(reached)) = execution.ran_ahead() {
                assert!(*reached <= position as u64, "seed {seed}: {reached} for {position}");
                ahead += 1;
            }
        }
    }
    assert!(ahead >= 20, "only {ahead} runs went ahead");
}

#[test]
fn runs_ahead_stop_before_the_first_of_the_places() {
    let mut ahead = 0;
    for seed in 0..8 {
        let case = random(seed + 100);
        let wanted = plain(&case);
        let begin = |name: &str| case.begin(name);
        let kernel = case.kernel("ipdom", &begin);
        let mut rng = Rng::new(seed);
        for _ in 0..4 {
            // Late blocks alone come to the last places.
            let from = if rng.one_in(2) { case.places.len() - 4 } else { 0 };
            let place = Pc((from + rng.below(case.places.len() - from)) as u64);
            let first = wanted.iter().position(|next| *next == Some(place));
            let first = first.unwrap_or(wanted.len() - 1);
            let mut execution = case.execution(&kernel).with_far(0);
            let reached = execution.run_ahead(&[place]).clone();
            let at = execution.position();
            assert_eq!(at, reached.clone().unwrap_or(0), "seed {seed}");
            assert!(at <= first as u64, "seed {seed}: {at}, the place is first at {first}");
            assert_eq!(execution.digest(), digest_at(&case, at), "seed {seed} at {at}");
            ahead += usize::from(reached.is_ok());
        }
    }
    assert!(ahead >= 5, "only {ahead} runs went ahead");
}

#[test]
fn other_mechanisms_do_not_run_ahead() {
    let case = random(3);
    let begin = |name: &str| case.begin(name);
    let kernel = case.kernel("min-pc", &begin);
    let mut execution = case.execution(&kernel).with_far(0);
    assert_eq!(*execution.run_ahead(&[]), Err("it has the mechanism `ipdom` alone".to_owned()));
    assert_eq!(execution.position(), 0);
}
