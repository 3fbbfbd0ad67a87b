//! Control flow of all kinds, in all orders of a branch's sides.

use crate::harness::common::launches::{load_own_word, number, with_buffers};
use crate::harness::{Count, compare};
use ir::testing::Rng;

/// Begins a kernel: `%v` is a word of the thread, which is at `%at`; `%lane` is its lane.
macro_rules! kernel {
    ($rest:literal) => {
        concat!(
            "kernel @k(n: u32, a: u64 global, b: u64 global) {
  reg %t, %i, %j, %n, %v, %r, %lane: b32
  reg %wide, %at, %b: b64
  reg %p, %q: pred
entry:
",
            load_own_word!(),
            "  %p = setp.lt.u32 %lane, 11
",
            $rest
        )
    };
}

const KERNELS: [(&str, &str); 12] = [
    ("rounds of a loop leave sides behind", LEFT),
    ("branches in sides meet at one point", ONE_POINT),
    ("a switch with two numbers of one target", SWITCH),
    ("a switch ends rounds of a loop", SWITCH_IN_LOOP),
    ("a switch by a number of all lanes", UNIFORM_SWITCH),
    ("a switch beyond its table", BEYOND),
    ("the sides of a branch do not meet", APART),
    ("a loop with two entries", ENTRIES),
    ("barriers with results, and under guards", BARRIERS),
    ("lanes wait for others at a barrier that these cannot reach", BARRIER_OF_SOME),
    ("functions return some of the lanes, and switch", RETURNS),
    ("all lanes of both sides return before these meet", ALL_RETURN),
];

const LEFT: &str = kernel!(
    "  %i = mov.u32 0
  %j = and.b32 %v, 7
round:
  %i = add.u32 %i, 1
  %q = setp.eq.u32 %i, 6
  @%q br other
again:
  %q = setp.lt.u32 %i, %j
  @%q br round
side:
  %r = add.u32 %i, 100
  br join
other:
  %r = add.u32 %i, 200
join:
  %r = add.u32 %r, %v
  st.global.u32 [%at], %r
  ret
}
"
);

const ONE_POINT: &str = kernel!(
    "  %j = and.b32 %v, 3
  %q = setp.eq.u32 %j, 0
  @%q br c
a:
  st.global.u32 [%at], 5
  %q = setp.eq.u32 %j, 1
  @%q br d
b:
  st.global.u32 [%at + 4], %lane
  br join
d:
  st.global.u32 [%at], 7
  %q = setp.eq.u32 %lane, 5
  @%q ret
  br join
c:
  st.global.u32 [%at + 4], 9
join:
  %r = ld.global.u32 [%at]
  %r = add.u32 %r, %n
  st.global.u32 [%at], %r
  ret
}
"
);

const SWITCH: &str = kernel!(
    "  %j = and.b32 %v, 3
  %j = add.u32 %j, %n
  %j = rem.u32 %j, 5
  switch %j, [one, two, one, three, join]
one:
  st.global.u32 [%at], 1
  br join
two:
  st.global.u32 [%at + 4], 2
  br join
three:
  st.global.u32 [%at], %lane
join:
  %r = ld.global.u32 [%at]
  %r = add.u32 %r, %lane
  st.global.u32 [%at], %r
  ret
}
"
);

const SWITCH_IN_LOOP: &str = kernel!(
    "  %i = mov.u32 0
  %r = mov.u32 0
round:
  %i = add.u32 %i, 1
  %v = mad.u32 %v, 1103515245, 12345
  %j = shr.u32 %v, 29
  %p = setp.gt.u32 %i, 70
  @%p br end
go:
  switch %j, [round, one, two, round, end, one, two, three]
one:
  %r = add.u32 %r, 1
  br round
two:
  %r = mad.u32 %r, 3, %j
three:
  %r = xor.b32 %r, %i
  br round
end:
  st.global.u32 [%at], %r
  ret
}
"
);

const UNIFORM_SWITCH: &str = kernel!(
    "  %n = and.b32 %n, 3
  switch %n, [one, two, one, three]
one:
  st.global.u32 [%at], 1
  br join
two:
  st.global.u32 [%at + 4], 2
  br join
three:
  st.global.u32 [%at], %lane
join:
  %r = add.u32 %v, %lane
  st.global.u32 [%at], %r
  ret
}
"
);

const BEYOND: &str = kernel!(
    "  %j = shr.u32 %v, 27
  switch %j, [one, two, one, one, two, two, one, two]
one:
  st.global.u32 [%at], 1
two:
  st.global.u32 [%at + 4], 2
  ret
}
"
);

const APART: &str = kernel!(
    "  %j = and.b32 %v, 3
  %q = setp.eq.u32 %j, 0
  @%q br b
a:
  st.global.u32 [%at], 5
  %q = setp.eq.u32 %j, 1
  @%q br d
c:
  st.global.u32 [%at + 4], %lane
  ret
b:
  %q = setp.lt.u32 %lane, 20
  @%q br e
f:
  st.global.u32 [%at], 9
e:
  st.global.u32 [%at + 4], %v
  ret
d:
  st.global.u32 [%at + 4], 11
  ret
}
"
);

const ENTRIES: &str = kernel!(
    "  %i = mov.u32 0
  %j = and.b32 %v, 31
  %q = setp.lt.u32 %j, 13
  @%q br middle
head:
  %i = add.u32 %i, 3
  st.global.u32 [%at], %i
middle:
  %i = add.u32 %i, 1
  %q = setp.gt.u32 %i, %j
  @%q br end
latch:
  %r = and.b32 %i, 1
  %q = setp.eq.u32 %r, 1
  @%q br head
other:
  %j = sub.u32 %j, 1
  br middle
end:
  st.global.u32 [%at + 4], %i
  ret
}
"
);

const BARRIERS: &str = kernel!(
    "  %q = setp.gt.s32 %v, 0
  %r = bar.popc 1, %q
  %p = bar.and %n, %q
  @%p %r = add.u32 %r, 1000
  %p = bar.or 2, %q
  @%p %r = add.u32 %r, 100
  %p = setp.lt.u32 %t, 5
  @%p ret
rest:
  %i = and.b32 %r, 3
  %i = add.u32 %i, 3
  bar.sync %i
  %q = setp.eq.u32 %lane, 7
  %p = bar.and 3, %q
  @%p %r = add.u32 %r, 10000
  %q = setp.ge.u32 %t, 3
  @%q bar.sync 5
  st.global.u32 [%at], %r
  ret
}
"
);

const BARRIER_OF_SOME: &str = kernel!(
    "  @%p bar.sync 5
  st.global.u32 [%at], %v
  ret
}
"
);

const ALL_RETURN: &str = kernel!(
    "  %r = call @sides(%v, %lane)
  st.global.u32 [%at], %r
  ret
}
func @sides(%x: b32, %y: b32) -> (%z: b32) {
  reg %p: pred
entry:
  %z = and.b32 %x, 1
  %p = setp.eq.u32 %z, 0
  @%p br even
odd:
  %z = mad.u32 %x, 5, %y
  %p = setp.lt.u32 %y, 40
  @%p ret
  br end
even:
  %z = mad.u32 %x, 3, %y
  %p = setp.lt.u32 %y, 40
  @%p ret
more:
  %z = add.u32 %z, 1
end:
  %z = add.u32 %z, 7
  ret
}
"
);

const RETURNS: &str = kernel!(
    "  %i = mov.u32 0
round:
  %v = call @some(%v, %lane)
  %i = add.u32 %i, 1
  %j = and.b32 %v, 7
  %q = setp.lt.u32 %i, %j
  @%q br round
done:
  %r = call @chosen(%v, %t)
  st.global.u32 [%at], %r
  ret
}
func @some(%x: b32, %y: b32) -> (%z: b32) {
  reg %p, %q: pred
entry:
  %z = mad.u32 %x, 5, %y
  %p = setp.gt.s32 %z, 0
  @%p ret
rest:
  %x = and.b32 %z, 7
  %q = setp.lt.u32 %x, 3
  @%q br small
big:
  %z = xor.b32 %z, 0x55
  %q = setp.lt.u32 %y, 30
  @%q ret
more:
  %z = add.u32 %z, 3
  br end
small:
  %z = add.u32 %z, 1
  %q = setp.lt.u32 %y, 2
  @%q ret
end:
  %z = add.u32 %z, 7
  ret
}
func @chosen(%x: b32, %y: b32) -> (%z: b32) {
entry:
  %x = and.b32 %x, 3
  switch %x, [a, b, c, b]
a:
  %z = mov.u32 %y
  ret
b:
  %z = call @some(%x, %y)
  ret
c:
  %z = add.u32 %y, 17
  ret
}
"
);

#[test]
fn control_flow_ends_the_same() {
    for (name, text) in KERNELS {
        let mut count = Count::default();
        for seed in 0..4 {
            with_buffers(text, &mut Rng::new(seed), seed, &mut |program, launch| {
                compare(program, launch, &mut count).map_err(|what| format!("{name}: {what}"))
            });
        }
        assert!(count.compared + count.stopped > 10 || count.steps == 0, "{name}: {count:?}");
    }
}

/// `KERNEL=FILE SEED=N cargo test -p simtlab-jit --test jit control -- --ignored`
#[test]
#[ignore = "runs a kernel of a file"]
fn kernel_of_a_file() {
    let Some(file) = std::env::var_os("KERNEL") else { return };
    let text = std::fs::read_to_string(file).expect("the file is there");
    let seed = number("SEED", 0);
    let mut count = Count::default();
    with_buffers(&text, &mut Rng::new(seed), seed, &mut |program, launch| {
        compare(program, launch, &mut count)
    });
}
