//! The static rule for loops that wait: what has to be warned of, and what must not be.

use flow::{SpinWaits, WriteIs, spin_waits};

/// A kernel with a lock and data; `%lock` and `%data` are their addresses, `%mine` one of the
/// lane's own in `data`.
fn found(body: &str) -> SpinWaits {
    let text = format!(
        "kernel @k(lock: u64 global, data: u64 global) {{
  reg %t, %v, %w: b32
  reg %p, %q: pred
  reg %lock, %data, %mine, %wide: b64
entry:
  %lock = ld.param.u64 [@lock]
  %data = ld.param.u64 [@data]
  %t = sreg.u32 tid.x
  %wide = mulwide.u32 %t, 4
  %mine = add.u64 %data, %wide
  %p = setp.eq.u32 %t, 0
{body}
}}
"
    );
    let module = ir::text::parse(isa::FileId(0), &text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    spin_waits(&module)
}

fn places(body: &str) -> Vec<WriteIs> {
    let found = found(body);
    assert!(found.complete);
    found.found.iter().map(|f| f.place).collect()
}

const TAKE: &str = "
again:
  %v = atom.cas.relaxed.gpu.global.b32 [%lock], 0, 1
  %q = setp.ne.u32 %v, 0
  @%q br again
";

#[test]
fn a_lock_let_go_behind_the_loop_is_warned_of() {
    let work = "work:\n  st.global.u32 [%data], %t\n";
    let free = "  st.global.u32 [%lock], 0\n  ret";
    assert_eq!(places(&format!("{TAKE}{work}{free}")), [WriteIs::After]);
    // A barrier before the write: whoever waits there waits for all.
    assert_eq!(places(&format!("{TAKE}{work}  bar.sync 0\n{free}")), []);
    // Never let go: nothing that it could wait for.
    assert_eq!(places(&format!("{TAKE}{work}  ret")), []);
}

#[test]
fn a_lock_let_go_inside_the_loop_is_not() {
    let body = "
  %w = mov.u32 0
again:
  %v = atom.cas.relaxed.gpu.global.b32 [%lock], 0, 1
  %q = setp.ne.u32 %v, 0
  @%q br retry
take:
  st.global.u32 [%data], %t
  st.global.u32 [%lock], 0
  %w = mov.u32 1
retry:
  %q = setp.eq.u32 %w, 0
  @%q br again
done:
  ret";
    assert_eq!(places(body), []);
}

#[test]
fn a_flag_raised_beside_the_loop_is_warned_of_and_one_raised_before_is_not() {
    let wait = "
wait:
  %v = ld.volatile.global.u32 [%lock]
  %q = setp.eq.u32 %v, 0
  @%q br wait
";
    let beside = format!(
        "  @%p br raise\n{wait}got:\n  br done\nraise:\n  st.global.u32 [%lock], 1\ndone:\n  ret"
    );
    assert_eq!(places(&beside), [WriteIs::Beside]);
    let before = format!("  @!%p br wait\nraise:\n  st.global.u32 [%lock], 1\n{wait}done:\n  ret");
    assert_eq!(places(&before), []);
    // The write goes to another buffer.
    let other = beside.replace("[%lock], 1", "[%data], 1");
    assert_eq!(places(&other), []);
}

#[test]
fn lanes_of_one_warp_have_to_be_on_both_sides() {
    let body = |condition: &str| {
        format!(
            "{condition}
  @%p br raise
wait:
  %v = ld.volatile.global.u32 [%lock]
  %q = setp.eq.u32 %v, 0
  @%q br wait
got:
  br done
raise:
  st.global.u32 [%lock], 1
done:
  ret"
        )
    };
    let block = "  %w = sreg.u32 ctaid.x\n  %p = setp.eq.u32 %w, 0";
    assert_eq!(places(&body(block)), []);
    let warp = "  %w = shr.u32 %t, 5\n  %p = setp.eq.u32 %w, 0";
    assert_eq!(places(&body(warp)), []);
    let half = "  %w = shr.u32 %t, 4\n  %p = setp.eq.u32 %w, 0";
    assert_eq!(places(&body(half)), [WriteIs::Beside]);
    // All lanes read the flag together, so all leave the loop together; then one lowers it.
    let after = "
wait:
  %v = ld.volatile.global.u32 [%lock]
  %q = setp.eq.u32 %v, 0
  @%q br wait
got:
  st.global.u32 [%lock], 0
  ret";
    assert_eq!(places(after), []);
}

const FUNCTIONS: &str = "
func @take(%lock: b64) {
  reg %v: b32
  reg %q: pred
again:
  %v = atom.cas.relaxed.gpu.global.b32 [%lock], 0, 1
  %q = setp.ne.u32 %v, 0
  @%q br again
done:
  ret
}
func @free(%lock: b64) {
entry:
  st.global.u32 [%lock], 0
  ret
}
func @wrapped(%a: b64, %b: b64) {
entry:
  call @take(%b)
  ret
}
";

/// What is found in a kernel that calls these functions.
fn through_calls(body: &str) -> Vec<(usize, WriteIs)> {
    let text = format!(
        "kernel @k(lock: u64 global, data: u64 global) {{
  reg %t: b32
  reg %p: pred
  reg %lock, %data: b64
entry:
  %lock = ld.param.u64 [@lock]
  %data = ld.param.u64 [@data]
  %t = sreg.u32 tid.x
  %p = setp.eq.u32 %t, 0
{body}
}}
{FUNCTIONS}"
    );
    let module = ir::text::parse(isa::FileId(0), &text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let found = spin_waits(&module);
    assert!(found.complete);
    found.found.iter().map(|f| (f.function, f.place)).collect()
}

#[test]
fn locks_are_followed_through_calls() {
    let free = "  call @free(%lock)\n  ret";
    assert_eq!(through_calls(&format!("  call @take(%lock)\n{free}")), [(1, WriteIs::After)]);
    assert_eq!(
        through_calls(&format!("  call @wrapped(%data, %lock)\n{free}")),
        [(1, WriteIs::After)]
    );
    // Another lock is let go, or nothing is, or a barrier stands between.
    assert_eq!(through_calls(&format!("  call @wrapped(%lock, %data)\n{free}")), []);
    assert_eq!(through_calls("  call @take(%lock)\n  ret"), []);
    assert_eq!(through_calls(&format!("  call @take(%lock)\n  bar.sync 0\n{free}")), []);
    // On the other side of a branch.
    let beside = "  @%p br raise\nwait:\n  call @take(%lock)\n  br done\nraise:\n  call @free(%lock)\ndone:\n  ret";
    assert_eq!(through_calls(beside), [(1, WriteIs::Beside)]);
    // Around a loop of the caller what stands before the call comes after it.
    let around =
        "round:\n  st.global.u32 [%lock], 0\n  call @take(%lock)\n  @%p br round\nend:\n  ret";
    assert_eq!(through_calls(around), [(1, WriteIs::After)]);
}

#[test]
fn retries_and_walks_do_not_wait() {
    let retry = "
again:
  %v = ld.relaxed.gpu.global.u32 [%lock]
  %w = add.u32 %v, 1
  %w = atom.cas.relaxed.gpu.global.b32 [%lock], %v, %w
  %q = setp.ne.u32 %w, %v
  @%q br again
done:
  ret";
    assert_eq!(places(retry), []);
    let walk = "
again:
  %v = ld.global.u32 [%mine]
  %mine = add.u64 %mine, 4
  %q = setp.ne.u32 %v, 0
  @%q br again
done:
  st.global.u32 [%data], 1
  ret";
    assert_eq!(places(walk), []);
}

#[test]
fn large_functions_take_little_time() {
    let mut body = String::new();
    for i in 0..4000 {
        body += &format!(
            "b{i}:\n  %v = ld.volatile.global.u32 [%mine]\n  %q = setp.eq.u32 %v, {i}\n  @%q br b{i}\n"
        );
    }
    body += "last:\n  st.global.u32 [%data], 1\n  ret";
    let start = std::time::Instant::now();
    let found = found(&body);
    assert!(!found.found.is_empty());
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}
