//! Kernels that call functions, with the parameters `n`, `a` and `b` of `launches::with_buffers`.

use super::launches::load_own_word;

/// Kernels that the fast engine runs.
pub(crate) const TAKEN: [(&str, &str); 23] = [
    ("each side of a branch calls, and both call the same", BOTH_SIDES),
    ("lanes return early, and wait for those that do not", EARLY),
    ("a call in a loop calls on, and is the last of its block", NESTED),
    ("warps meet at a barrier, and lanes exchange values, in a function", TOGETHER),
    ("a caller's variables and its callee's do not overlap", VARIABLES),
    ("predicates and wide values are passed", VALUES),
    ("registers that a function has not written are 0 in each call", UNWRITTEN),
    ("a function calls itself, as deep as each lane asks", RECURSIVE),
    ("a function calls itself twice, and keeps values in between", TWICE),
    ("functions call each other, in one side of a branch or the other", EACH_OTHER),
    ("a function calls itself with its parameters exchanged", EXCHANGED),
    ("a function calls itself in a loop, and others before and behind", IN_A_LOOP),
    ("a group of functions inside another one", GROUPS),
    ("a function is called by its address", INDIRECT),
    ("lanes call different functions, of an array and by a choice", CHOSEN),
    ("functions of an array call each other by their addresses", BY_TABLE),
    ("lanes exchange values in functions that call themselves", MEETING),
    ("a function with a variable calls itself", OWN_VARIABLE),
    ("functions with variables call each other, and pass addresses of them", PASSED),
    ("a function that calls itself calls one with variables", LEAF),
    ("a group with variables inside another one", GROUPS_WITH_VARIABLES),
    ("a function reads what an earlier call has left in its frame", LEFT_OVER),
    ("a function accesses what is behind its frame", BEHIND),
];

/// Kernels that it declines, with the reasons.
pub(crate) const LEFT: [(&str, &str); 2] = [
    ("it calls functions that end threads", ENDING),
    ("addresses of variables of functions that call themselves are truncated", TRUNCATED),
];

/// Begins a kernel: computes the address of a word for each thread, and loads the word.
macro_rules! kernel {
    ($rest:literal) => {
        concat!(
            "kernel @k(n: u32, a: u64 global, b: u64 global) {
  local @own size 24 align 8
  reg %t, %i, %n, %v, %r, %lane: b32
  reg %wide, %at, %b, %far: b64
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

const BOTH_SIDES: &str = kernel!(
    "  @%p br left
right:
  %r = call @mix(%v, 3)
  %r = add.u32 %r, 1
  br join
left:
  %r = call @mix(%lane, %v)
join:
  %v = call @mix(%r, %t)
  st.global.u32 [%at], %v
  ret
}
func @mix(%x: b32, %y: b32) -> (%z: b32) {
  reg %p: pred
entry:
  %z = mad.u32 %x, 5, %y
  %p = setp.gt.s32 %z, 0
  @%p br big
small:
  %z = xor.b32 %z, 0x55
  ret
big:
  %x = shr.u32 %z, 3
  %z = add.u32 %x, %y
  ret
}
"
);

const EARLY: &str = kernel!(
    "  %i = mov.u32 0
round:
  %v = call @steps(%v, %lane)
  %i = add.u32 %i, 1
  %q = setp.lt.u32 %i, 4
  @%q br round
done:
  st.global.u32 [%at], %v
  ret
}
func @steps(%x: b32, %y: b32) -> (%z: b32) {
  reg %i, %bit: b32
  reg %p, %odd: pred
entry:
  %i = mov.u32 0
  %z = mov.u32 %x
  %p = setp.gt.u32 %y, 40
  @%p ret
next:
  %z = mad.u32 %z, 3, 1
  %bit = and.b32 %z, 1
  %odd = setp.ne.u32 %bit, 0
  @%odd br turn
even:
  %z = shr.u32 %z, 1
  %p = setp.lt.u32 %z, 9
  @%p ret
turn:
  %i = add.u32 %i, 1
  %p = setp.eq.u32 %i, %y
  @%p ret
on:
  %p = setp.lt.u32 %i, 25
  @%p br next
last:
  %z = sub.u32 0, %z
  ret
}
"
);

const NESTED: &str = kernel!(
    "  %i = mov.u32 0
round:
  %q = setp.lt.u32 %i, %lane
  @%q br inner
skip:
  %v = xor.b32 %v, 1
  br join
inner:
  %v = call @outer(%v, %i)
join:
  %i = add.u32 %i, 7
  %q = setp.lt.u32 %i, 30
  @%q br round
done:
  st.global.u32 [%at], %v
  ret
}
func @outer(%x: b32, %y: b32) -> (%z: b32) {
  reg %p: pred
entry:
  %p = setp.gt.u32 %x, %y
  @%p br there
here:
  %z = call @inner(%x)
  ret
there:
  call @nothing()
  %z = call @inner(%y)
  %z = add.u32 %z, %x
  ret
}
func @inner(%x: b32) -> (%z: b32) {
entry:
  %x = mul.u32 %x, 0x9e3779b1
  %z = shr.u32 %x, 7
  ret
}
func @nothing() {
entry:
  ret
}
"
);

const TOGETHER: &str = kernel!(
    "  %r = mov.u32 0
  %r = call @sum(%v, %t)
  bar.sync 0
  %v = call @sum(%r, %lane)
  st.global.u32 [%at], %v
  ret
}
shared @cell size 4 align 4
func @sum(%x: b32, %y: b32) -> (%z: b32) {
  reg %s, %f: b32
  reg %p: pred
entry:
  %s = shfl.bfly.b32 %x, 1, 31, 0xffffffff
  %z = add.u32 %s, %y
  %f = mov.u32 @cell
  %p = setp.eq.u32 %y, 0
  @%p br first
others:
  br meet
first:
  st.shared.u32 [%f], %z
meet:
  bar.sync 0
  %s = ld.shared.u32 [%f]
  %z = xor.b32 %z, %s
  bar.sync 0
  ret
}
"
);

const VARIABLES: &str = kernel!(
    "  %far = mov.u64 @own
  st.local.u32 [%far + 4], %v
  st.local.u32 [%far + 20], %lane
  %r = call @keep(%lane)
  %v = ld.local.u32 [%far + 4]
  %v = add.u32 %v, %r
  %r = call @outside(%t)
  %v = add.u32 %v, %r
  %r = ld.local.u32 [%far + 20]
  %v = add.u32 %v, %r
  st.global.u32 [%at], %v
  ret
}
func @keep(%x: b32) -> (%z: b32) {
  local @cells size 40 align 8
  reg %at: b64
entry:
  %at = mov.u64 @cells
  st.local.u32 [%at], %x
  st.local.u32 [%at + 36], 77
  %z = call @outside(%x)
  %x = ld.local.u32 [%at]
  %z = add.u32 %z, %x
  %x = ld.local.u32 [%at + 36]
  %z = add.u32 %z, %x
  ret
}
func @outside(%x: b32) -> (%z: b32) {
  local @cell size 8 align 8
  reg %at: b64
entry:
  %at = mov.u64 @cell
  %z = ld.local.u32 [%at]
  st.local.u32 [%at], %x
  ret
}
"
);

const VALUES: &str = kernel!(
    "  %wide = cvt.u64.u32 %v
  %q, %far, %r = call @both(%p, %wide, %lane)
  %v = cvt.u32.u64 %far
  @%q br more
less:
  %v = add.u32 %v, %r
more:
  _, %far, _ = call @both(%q, 0x123456789abcdef, 5)
  %r = cvt.u32.u64 %far
  %v = add.u32 %v, %r
  st.global.u32 [%at], %v
  ret
}
func @both(%p: pred, %w: b64, %x: b32) -> (%q: pred, %z: b64, %y: b32) {
  reg %s: pred
entry:
  %s = setp.lt.u32 %x, 20
  %q = xor.pred %p, %s
  %z = add.u64 %w, 9
  %y = selp.b32 %x, 4, %q
  ret
}
"
);

pub(crate) const RECURSIVE: &str = kernel!(
    "  %v = call @down(%lane)
  st.global.u32 [%at], %v
  ret
}
func @down(%x: b32) -> (%z: b32) {
  reg %p: pred
entry:
  %z = mov.u32 1
  %p = setp.lt.u32 %x, 2
  @%p ret
again:
  %x = sub.u32 %x, 1
  %z = call @down(%x)
  %z = add.u32 %z, %x
  ret
}
"
);

const TWICE: &str = kernel!(
    "  %i = and.b32 %v, 7
  %v = call @fib(%i, %n)
  @%p br done
more:
  %r = call @fib(%n, %v)
  %v = add.u32 %v, %r
done:
  st.global.u32 [%at], %v
  ret
}
func @fib(%x: b32, %y: b32) -> (%z: b32) {
  reg %a, %b, %kept: b32
  reg %wide: b64
  reg %p, %odd: pred
entry:
  %p = setp.lt.u32 %x, 2
  @%p br least
again:
  %a = and.b32 %x, 1
  %odd = setp.eq.u32 %a, %y
  %wide = mulwide.u32 %x, 0x10001
  %kept = mul.u32 %x, 3
  %a = sub.u32 %x, 1
  %a = call @fib(%a, 1)
  %b = sub.u32 %x, 2
  %b = call @fib(%b, %y)
  %z = add.u32 %a, %b
  @%odd %z = add.u32 %z, %kept
  %kept = cvt.u32.u64 %wide
  %z = xor.b32 %z, %kept
  ret
least:
  %z = add.u32 %x, %y
  ret
}
"
);

const EACH_OTHER: &str = kernel!(
    "  %i = and.b32 %v, 15
  %v = call @even(%i)
  %r = call @odd(%lane)
  %v = mad.u32 %v, 2, %r
  st.global.u32 [%at], %v
  ret
}
func @even(%x: b32) -> (%z: b32) {
  reg %p: pred
entry:
  %p = setp.eq.u32 %x, 0
  %z = mov.u32 1
  @%p ret
less:
  %x = sub.u32 %x, 1
  %z = call @odd(%x)
  ret
}
func @odd(%x: b32) -> (%z: b32) {
  reg %p: pred
  reg %y: b32
entry:
  %p = setp.eq.u32 %x, 0
  %z = mov.u32 0
  @%p br end
less:
  %y = and.b32 %x, 4
  %p = setp.eq.u32 %y, 0
  @%p br two
one:
  %x = sub.u32 %x, 1
  %z = call @even(%x)
  br end
two:
  %y = shr.u32 %x, 1
  %z = call @odd(%y)
  %z = add.u32 %z, %x
end:
  ret
}
"
);

const EXCHANGED: &str = kernel!(
    "  %i = and.b32 %v, 31
  %r, %v = call @gcd(%i, %lane)
  %v = mad.u32 %v, 100, %r
  st.global.u32 [%at], %v
  ret
}
func @gcd(%x: b32, %y: b32) -> (%z: b32, %depth: b32) {
  reg %p: pred
entry:
  %p = setp.eq.u32 %y, 0
  @%p br end
less:
  %x = rem.u32 %x, %y
  %z, %depth = call @gcd(%y, %x)
  %depth = add.u32 %depth, 1
  ret
end:
  %z = mov.u32 %x
  %depth = mov.u32 0
  ret
}
"
);

const IN_A_LOOP: &str = kernel!(
    "  %i = and.b32 %v, 3
  %v = call @tree(%i, %at)
  st.global.u32 [%at], %v
  ret
}
func @tree(%x: b32, %w: b64) -> (%z: b32) {
  reg %i, %y: b32
  reg %p: pred
entry:
  %z = call @leaf(%x)
  %i = mov.u32 0
  %p = setp.eq.u32 %x, 0
  @%p ret
round:
  %y = sub.u32 %x, 1
  %y = call @tree(%y, %w)
  %y = call @leaf(%y)
  %z = mad.u32 %z, 7, %y
  st.global.u32 [%w], %z
  %i = add.u32 %i, 1
  %p = setp.lt.u32 %i, %x
  @%p br round
end:
  ret
}
func @leaf(%x: b32) -> (%z: b32) {
  reg %i: b32
  reg %p: pred
entry:
  %i = mov.u32 0
  %z = mov.u32 %x
more:
  %z = mad.u32 %z, 3, %i
  %i = add.u32 %i, 1
  %p = setp.lt.u32 %i, %x
  @!%p ret
on:
  %p = setp.lt.u32 %i, 3
  @%p br more
end:
  ret
}
"
);

const GROUPS: &str = kernel!(
    "  %i = and.b32 %v, 3
  %v = call @outer(%i, %lane)
  st.global.u32 [%at], %v
  ret
}
func @outer(%x: b32, %y: b32) -> (%z: b32) {
  reg %p: pred
  reg %a: b32
entry:
  %a = and.b32 %y, 3
  %z = call @inner(%a, %x)
  %p = setp.eq.u32 %x, 0
  @%p ret
again:
  %x = sub.u32 %x, 1
  %a = call @outer(%x, %z)
  %z = call @inner(%x, %a)
  %z = add.u32 %z, %y
  ret
}
func @inner(%x: b32, %y: b32) -> (%z: b32) {
  reg %p: pred
entry:
  %z = mov.u32 %y
  %p = setp.eq.u32 %x, 0
  @%p ret
again:
  %x = sub.u32 %x, 1
  %z = call @inner(%x, %y)
  %z = mad.u32 %z, 5, %y
  ret
}
"
);

const CHOSEN: &str = concat!(
    "global @table size 24 align 8
  reloc 0: u64 @add
  reloc 8: u64 @twice
  reloc 16: u64 @none
",
    kernel!(
        "  %i = and.b32 %v, 1
  %i = mul.u32 %i, 8
  %wide = cvt.u64.u32 %i
  %far = mov.u64 @@table
  %far = add.u64 %far, %wide
  %far = ld.global.u64 [%far]
  %v, %q = calli %far(%v, %lane)
  %far = mov.u64 @@table
  %wide = mov.u64 8
  %wide = selp.b64 %wide, 16, %p
  %far = add.u64 %far, %wide
  %far = ld.global.u64 [%far]
  %r, _ = calli %far(%lane, 7)
  @%q %v = add.u32 %v, %r
  st.global.u32 [%at], %v
  ret
}
func @add(%x: b32, %y: b32) -> (%z: b32, %q: pred) {
entry:
  %z = add.u32 %x, %y
  %q = setp.gt.u32 %y, 5
  ret
}
func @twice(%x: b32, %y: b32) -> (%z: b32, %q: pred) {
  reg %p: pred
entry:
  %z = add.u32 %y, %y
  %q = setp.eq.u32 %y, %y
  %p = setp.gt.u32 %y, 20
  @%p ret
more:
  %z = add.u32 %z, 1
  ret
}
func @none(%x: b32, %y: b32) -> (%z: b32, %q: pred) {
entry:
  %z = mov.u32 %x
  ret
}
"
    )
);

const BY_TABLE: &str = concat!(
    "global @table size 24 align 8
  reloc 0: u64 @leaf
  reloc 8: u64 @once
  reloc 16: u64 @both
",
    kernel!(
        "  %i = and.b32 %v, 7
  %v = call @visit(%i, 3, %at)
  st.global.u32 [%at], %v
  ret
}
func @visit(%x: b32, %depth: b32, %w: b64) -> (%z: b32) {
  reg %i: b32
  reg %far, %o: b64
entry:
  %i = rem.u32 %x, 3
  %i = min.u32 %i, %depth
  %o = mulwide.u32 %i, 8
  %far = mov.u64 @@table
  %far = add.u64 %far, %o
  %far = ld.global.u64 [%far]
  %z = calli %far(%x, %depth, %w)
  %z = mad.u32 %z, 3, %x
  ret
}
func @leaf(%x: b32, %depth: b32, %w: b64) -> (%z: b32) {
entry:
  %z = xor.b32 %x, %depth
  st.global.u32 [%w], %z
  ret
}
func @once(%x: b32, %depth: b32, %w: b64) -> (%z: b32) {
entry:
  %x = add.u32 %x, 5
  %depth = sub.u32 %depth, 1
  %z = call @visit(%x, %depth, %w)
  ret
}
func @both(%x: b32, %depth: b32, %w: b64) -> (%z: b32) {
  reg %a, %b: b32
entry:
  %depth = sub.u32 %depth, 1
  %a = add.u32 %x, 1
  %a = call @visit(%a, %depth, %w)
  %b = mul.u32 %x, 5
  %depth = shr.u32 %depth, 1
  %b = call @visit(%b, %depth, %w)
  %z = mad.u32 %a, 11, %b
  ret
}
"
    )
);

const MEETING: &str = kernel!(
    "  %i = and.b32 %v, 7
  %v = call @sum(%i, %lane)
  st.global.u32 [%at], %v
  ret
}
func @sum(%x: b32, %y: b32) -> (%z: b32) {
  reg %p: pred
  reg %mask: b32
entry:
  %mask = activemask
  %z = shfl.idx.b32 %y, 3, 31, %mask
  %p = setp.eq.u32 %x, 0
  @%p ret
again:
  %x = sub.u32 %x, 1
  %y = add.u32 %y, %z
  %y = call @sum(%x, %y)
  %mask = activemask
  %z = shfl.bfly.b32 %y, 1, 31, %mask
  %z = add.u32 %z, %x
  ret
}
"
);

pub(crate) const OWN_VARIABLE: &str = kernel!(
    "  %v = call @down(%lane)
  st.global.u32 [%at], %v
  ret
}
func @down(%x: b32) -> (%z: b32) {
  local @cell size 8 align 8
  reg %p: pred
entry:
  st.local.u32 [@cell], %x
  %z = mov.u32 1
  %p = setp.lt.u32 %x, 2
  @%p ret
again:
  %x = sub.u32 %x, 1
  %z = call @down(%x)
  %x = ld.local.u32 [@cell]
  %z = add.u32 %z, %x
  ret
}
"
);

const PASSED: &str = kernel!(
    "  %far = mov.u64 @own
  st.local.u32 [%far + 12], %v
  %i = and.b32 %lane, 7
  %r = call @ping(%i, %far)
  %v = ld.local.u32 [%far + 12]
  %v = add.u32 %v, %r
  st.global.u32 [%at], %v
  ret
}
func @ping(%x: b32, %from: b64) -> (%z: b32) {
  local @pair size 24 align 16
  reg %a: b64
  reg %p: pred
entry:
  %z = ld.local.u32 [%from + 12]
  %p = setp.eq.u32 %x, 0
  @%p ret
more:
  st.local.u32 [@pair + 12], %z
  %a = mov.u64 @pair
  %x = sub.u32 %x, 1
  %x = call @pong(%a, %x)
  %z = ld.local.u32 [%a + 12]
  %z = add.u32 %z, %x
  %x = ld.local.u32 [@pair + 16]
  %z = add.u32 %z, %x
  st.local.u32 [%from + 12], %z
  ret
}
func @pong(%to: b64, %x: b32) -> (%z: b32) {
  local @one size 4 align 4
  local @all size 40 align 8
  reg %a, %o: b64
  reg %p: pred
entry:
  st.local.u32 [%to + 16], %x
  %a = mov.u64 @all
  %o = mulwide.u32 %x, 4
  %o = add.u64 %a, %o
  st.local.u32 [%o], 5
  st.local.u32 [@one], %x
  %z = call @ping(%x, %a)
  %x = ld.local.u32 [@one]
  %z = add.u32 %z, %x
  %x = ld.local.u32 [%o]
  %z = add.u32 %z, %x
  ret
}
"
);

const LEAF: &str = kernel!(
    "  %i = and.b32 %v, 15
  %v = call @down(%i)
  %r = call @sum(%v)
  %v = add.u32 %v, %r
  st.global.u32 [%at], %v
  ret
}
func @down(%x: b32) -> (%z: b32) {
  local @cell size 4 align 4
  reg %p: pred
entry:
  st.local.u32 [@cell], %x
  %z = call @sum(%x)
  %p = setp.lt.u32 %x, 2
  @%p ret
again:
  %x = sub.u32 %x, 1
  %z = call @down(%x)
  %x = ld.local.u32 [@cell]
  %x = call @sum(%x)
  %z = add.u32 %z, %x
  ret
}
func @sum(%x: b32) -> (%z: b32) {
  local @four size 16 align 16
  reg %a: b64
entry:
  %a = mov.u64 @four
  %z = ld.local.u32 [%a + 4]
  st.local.u32 [%a + 4], %x
  st.local.u32 [@four + 8], 3
  %x = call @last(%z)
  %z = ld.local.u32 [@four + 8]
  %z = add.u32 %z, %x
  ret
}
func @last(%x: b32) -> (%z: b32) {
  local @kept size 8 align 8
entry:
  %z = ld.local.u32 [@kept + 4]
  st.local.u32 [@kept + 4], %x
  ret
}
"
);

const GROUPS_WITH_VARIABLES: &str = kernel!(
    "  %i = and.b32 %v, 3
  %v = call @outer(%i)
  st.global.u32 [%at], %v
  ret
}
func @outer(%x: b32) -> (%z: b32) {
  local @cell size 4 align 4
  reg %p: pred
entry:
  st.local.u32 [@cell], %x
  %z = call @inner(%x, 4)
  %p = setp.lt.u32 %x, 1
  @%p ret
again:
  %x = sub.u32 %x, 1
  %x = call @outer(%x)
  %z = add.u32 %z, %x
  %x = ld.local.u32 [@cell]
  %z = add.u32 %z, %x
  ret
}
func @inner(%x: b32, %n: b32) -> (%z: b32) {
  reg %p: pred
entry:
  %z = call @cell(%x)
  %p = setp.eq.u32 %n, 0
  @%p ret
again:
  %n = sub.u32 %n, 1
  %x = add.u32 %x, 1
  %x = call @inner(%x, %n)
  %z = add.u32 %z, %x
  ret
}
func @cell(%x: b32) -> (%z: b32) {
  local @own size 20 align 4
entry:
  %z = ld.local.u32 [@own + 16]
  st.local.u32 [@own + 16], %x
  ret
}
"
);

const LEFT_OVER: &str = kernel!(
    "  %i = and.b32 %v, 7
  %v = call @down(%i, %lane)
  %r = call @down(2, %v)
  %v = add.u32 %v, %r
  st.global.u32 [%at], %v
  ret
}
func @down(%x: b32, %y: b32) -> (%z: b32) {
  local @cells size 48 align 8
  reg %a, %o: b64
  reg %p: pred
entry:
  %a = mov.u64 @cells
  %o = mulwide.u32 %x, 4
  %o = add.u64 %a, %o
  %z = ld.local.u32 [%o]
  st.local.u32 [%o], %y
  %p = setp.eq.u32 %x, 0
  @%p ret
again:
  %x = sub.u32 %x, 1
  %y = mad.u32 %y, 3, 1
  %y = call @down(%x, %y)
  %z = add.u32 %z, %y
  %y = ld.local.u32 [%o + 64]
  %z = add.u32 %z, %y
  ret
}
"
);

const BEHIND: &str = kernel!(
    "  %i = and.b32 %v, 1
  %v = call @down(%i, %t)
  st.global.u32 [%at], %v
  ret
}
func @down(%x: b32, %y: b32) -> (%z: b32) {
  local @cell size 8 align 8
  reg %p: pred
entry:
  %z = ld.local.u32 [@cell + 2000]
  %y = add.u32 %y, 1
  st.local.u32 [@cell + 2000], %y
  %p = setp.eq.u32 %x, 0
  @%p ret
again:
  %x = sub.u32 %x, 1
  %y = call @down(%x, %y)
  %z = add.u32 %z, %y
  ret
}
"
);

const TRUNCATED: &str = kernel!(
    "  %v = call @down(%lane)
  st.global.u32 [%at], %v
  ret
}
func @down(%x: b32) -> (%z: b32) {
  local @cell size 8 align 8
  reg %p: pred
entry:
  %z = mov.u32 @cell
  %p = setp.lt.u32 %x, 2
  @%p ret
again:
  %x = sub.u32 %x, 1
  %z = call @down(%x)
  ret
}
"
);

const ENDING: &str = kernel!(
    "  %v = call @some(%lane)
  st.global.u32 [%at], %v
  ret
}
func @some(%x: b32) -> (%z: b32) {
  reg %p: pred
entry:
  %p = setp.lt.u32 %x, 2
  @%p exit
rest:
  %z = add.u32 %x, 1
  ret
}
"
);

const UNWRITTEN: &str = kernel!(
    "  %v = call @old(%lane)
  %far = cvt.u64.u32 %v
  %r = call @fill(%far)
  %v = call @old(%r)
  %q = setp.gt.u32 %v, 3
  %r = call @old(%v)
  @%q %v = mov.u32 %r
  st.global.u32 [%at], %v
  ret
}
func @old(%x: b32) -> (%z: b32) {
  reg %kept, %part: b32
  reg %wide: b64
  reg %p, %odd: pred
entry:
  %p = setp.gt.u32 %x, 9
  @%p %part = mov.u32 %x
  %odd = xor.pred %odd, %p
  %z = add.u32 %x, %kept
  %z = mad.u32 %part, 3, %z
  @%odd %z = add.u32 %z, 1
  %part = cvt.u32.u64 %wide
  %z = add.u32 %z, %part
  %kept = mov.u32 %x
  %odd = xor.pred %odd, %odd
  %odd = not.pred %odd
  %wide = cvt.u64.u32 %x
  ret
}
func @fill(%x: b64) -> (%y: b32) {
  reg %a, %b, %c: b64
  reg %p: pred
entry:
  %a = mul.u64 %x, 5
  %b = add.u64 %a, %x
  %c = xor.b64 %b, %a
  %p = setp.gt.u64 %c, %a
  %a = add.u64 %b, %c
  %y = cvt.u32.u64 %a
  @%p %y = add.u32 %y, 7
  ret
}
"
);

const INDIRECT: &str = kernel!(
    "  %far = mov.u64 @@next
  %v = calli %far(%lane)
  st.global.u32 [%at], %v
  ret
}
func @next(%x: b32) -> (%z: b32) {
entry:
  %z = add.u32 %x, 1
  ret
}
"
);
