//! Output of kernels, against the exact engine: by some lanes and in loops, of strings in each
//! space, by CTAs that are committed and that are not, and where a launch faults or hangs.

use crate::harness::common::launches::{load_own_word, with_buffers};
use crate::harness::{Count, compare_tiers};
use ir::testing::Rng;
use vm::Launch;

/// Begins a kernel: `%v` is a word of the thread, which is at `%at`; `%lane` is its lane, `%cta`
/// its CTA. `%args` is the generic address of two words and a long one, which have the CTA, the
/// lane and the address of the string `%name`, and `%format` that of the format of all three.
macro_rules! kernel {
    ($rest:literal) => {
        concat!(
            "global @format align 1 = [\"%d:%d:%s \\0\"]
global @short align 1 = [\"%d \\0\"]
const @name align 1 = [\"name\\0\"]
shared @shared size 8 align 8
kernel @k(n: u32, a: u64 global, b: u64 global) {
  reg %t, %i, %j, %n, %v, %r, %lane, %cta: b32
  reg %wide, %at, %b, %format, %args, %name: b64
  reg %p, %q: pred
  local @own size 8 align 8
  local @three size 16 align 8
entry:
",
            load_own_word!(),
            "  %cta = sreg.u32 ctaid.x
  %format = mov.u64 @format
  %args = mov.u64 @three
  %args = cvta.local.u64 %args
  %name = mov.u64 @name
  st.local.b32 [@three], %cta
  st.local.b32 [@three + 4], %lane
  st.local.b64 [@three + 8], %name
",
            $rest
        )
    };
}

const ALL_LANES: &str = kernel!(
    "  %r = printf %format, %args
  st.global.u32 [%at], %r
  ret
}
"
);

const LOOPS: &str = kernel!(
    "  %j = and.b32 %v, 7
round:
  %q = setp.eq.u32 %j, 0
  @%q br done
  %j = sub.u32 %j, 1
  %i = and.b32 %j, 1
  %p = setp.eq.u32 %i, 0
  st.local.b32 [@three + 4], %j
  @%p %r = printf %format, %args
  br round
done:
  st.global.u32 [%at], %r
  ret
}
"
);

const FORMATS: &str = kernel!(
    "  %i = and.b32 %v, 3
  %p = setp.eq.u32 %i, 0
  @%p br done
  %p = setp.eq.u32 %i, 1
  %name = mov.u64 @short
  %format = selp.b64 %name, %format, %p
  %r = printf %format, %args
  st.global.u32 [%at], %r
done:
  ret
}
"
);

const SPACES: &str = kernel!(
    "  st.shared.b32 [@shared], 0x68732e
  st.local.b32 [@own], 0x6c632e
  bar.sync 0
  %name = mov.u64 @shared
  %name = cvta.shared.u64 %name
  %p = setp.lt.u32 %lane, 9
  @%p br said
  %name = mov.u64 @own
  %name = cvta.local.u64 %name
said:
  st.local.b64 [@three + 8], %name
  printf %format, %args
  ret
}
"
);

const LAST_BLOCK: &str = kernel!(
    "  %i = sreg.u32 nctaid.x
  %i = sub.u32 %i, 1
  %p = setp.eq.u32 %cta, %i
  %v = mad.u32 %v, 3, %cta
  st.global.u32 [%at], %v
  @%p br say
  ret
say:
  printf %format, %args
  ret
}
"
);

const FAULTS_LATE: &str = kernel!(
    "  printf %format, %args
  %p = setp.ge.u32 %cta, 3
  %wide = selp.b64 0x7000, %at, %p
  st.global.u32 [%wide], %v
  ret
}
"
);

const UNREADABLE: &str = kernel!(
    "  %p = setp.eq.u32 %lane, 5
  %name = selp.b64 64, %name, %p
  st.local.b64 [@three + 8], %name
  %q = setp.ge.u32 %cta, 2
  @%q printf %format, %args
  ret
}
"
);

const FOR_EVER: &str = kernel!(
    "again:
  printf %format, %args
  br again
}
"
);

/// Kernels, and whether their launches end.
const KERNELS: [(&str, bool, &str); 8] = [
    ("all lanes", true, ALL_LANES),
    ("some lanes, in loops", true, LOOPS),
    ("different formats", true, FORMATS),
    ("strings in each space", true, SPACES),
    ("the last block alone", true, LAST_BLOCK),
    ("a fault after output", false, FAULTS_LATE),
    ("a string that cannot be read", false, UNREADABLE),
    ("output for ever", false, FOR_EVER),
];

#[test]
fn output_is_that_of_the_exact_engine() {
    let mut resumed = 0;
    for (name, ends, text) in KERNELS {
        let mut count = Count::default();
        for seed in 3..6 {
            let mut one = |program: &_, launch: &Launch<1>| {
                // Output for ever is to end soon.
                let launch = &Launch { limit: 600, ..launch.clone() };
                compare_tiers(program, launch, &mut count).map_err(|what| format!("{name}: {what}"))
            };
            with_buffers(text, &mut Rng::new(seed), seed, &mut one);
        }
        resumed += count.resumed;
        let (ended, others) = (count.compared > 0, count.stopped + count.refused > 0);
        assert_eq!((ended, others), (ends, !ends), "{name}: {count:?}");
    }
    assert!(resumed > 0, "no launch goes on after what committed blocks have printed");
}
