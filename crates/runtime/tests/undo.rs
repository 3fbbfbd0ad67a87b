//! Launches that end in a fault leave memory as they found it where a fault ends its launch alone,
//! whatever the engines have done before the fault.

#![allow(clippy::unwrap_used, reason = "a test")]

use runtime::{Context, Failure, Faults, Module, Settings, Shape};

#[test]
fn a_fault_after_many_blocks_takes_all_back() {
    // Each thread adds 1 to its word of half a buffer of 4 MiB, in a loop of one iteration; the
    // last thread adds to the word behind the buffer.
    const TEXT: &str = "
        .version 7.0 .target sm_70 .address_size 64
        .visible .entry k(.param .u64 out) {
            .reg .b32 %t, %b, %v; .reg .b64 %a; .reg .pred %p;
            ld.param.u64 %a, [out];
            mov.u32 %t, %tid.x;
            mov.u32 %b, %ctaid.x;
            mad.lo.u32 %t, %b, 256, %t;
            setp.eq.u32 %p, %t, 524287;
            @%p mov.u32 %t, 1048576;
            mad.wide.u32 %a, %t, 4, %a;
        more:
            ld.global.u32 %v, [%a];
            add.u32 %v, %v, 1;
            st.global.u32 [%a], %v;
            setp.eq.u32 %p, %v, 0;
            @%p bra more;
            ret;
        }";
    let module = Module::load("t", TEXT).unwrap();
    for (faults, first) in [(Faults::Stop, 8), (Faults::Launch, 7)] {
        for written in [false, true] {
            let settings = Settings { faults, threads: 1, ..Settings::default() };
            let mut context = Context::new(settings);
            let (len, words) = (4 << 20, 1 << 20);
            let out = context.allocate("out", len).unwrap();
            // The other case keeps pages that were never written.
            if written {
                context.fill(out, &7_u32.to_le_bytes(), words).unwrap();
            }
            let id = context.load(&module).unwrap();
            let shape = Shape {
                grid: [2048, 1, 1],
                block: [256, 1, 1],
                shared: 0,
                cooperative: false,
                cluster: None,
            };
            let kernel = module.kernel("k").unwrap();
            let end = context.launch(id, kernel, shape, &out.0.to_le_bytes());
            assert!(matches!(end, Err(Failure::Stopped(_))), "{end:?}");
            let mut bytes = vec![0; len as usize];
            context.read(out, &mut bytes).unwrap();
            let words: Vec<u32> =
                bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
            let before = if written { 7 } else { 0 };
            let expected = first - 7 + before;
            assert!(words[..524_032].iter().all(|&word| word == expected), "{faults:?}");
            assert!(words[524_288..].iter().all(|&word| word == before));
        }
    }
}
