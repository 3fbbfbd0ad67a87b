//! Indexed memory without an opcode of its own: lanes compute addresses, and a load or store whose
//! base register steps goes to each. What the documents say of indexed accesses holds of these, and
//! lanes that are off show nowhere.

use crate::common::{accesses, ends, word};
use isa::testing::Rng;
use simt::memory::{Addr, Width};

/// Windows that step by one for all operands, VL 8; a table around `base`, and eight indices.
const START: &str =
    "li t0, 0x100\ncsrw svsrcb, t0\ncsrw svdst, t0\nsvsetvl x0, 8\nla a0, index\nla a1, base\n";

fn list(values: impl Iterator<Item = i64>) -> String {
    values.map(|v| v.to_string()).collect::<Vec<_>>().join(", ")
}

/// Checks XM-5.1-a, XM-5.1-b: address = base + extended index * scale for every scale and both
/// extensions, and elements as wide as the instruction says. SVMEM itself is not offered; lanes
/// with their own base registers take its place.
#[test]
fn every_scale_extension_and_width() {
    let mut rng = Rng::new(11);
    for (scale, signed) in (0..5).flat_map(|s| [(s, false), (s, true)]) {
        for (suffix, bytes) in [("b", 1u64), ("h", 2), ("w", 4), ("d", 8)] {
            let least = if signed { -20 } else { 0 };
            let index: Vec<i64> = (0..8).map(|_| least + rng.below(20) as i64).collect();
            let table: Vec<i64> = (0..640).map(|_| rng.below(256) as i64).collect();
            let extend = if signed { "lw" } else { "lwu" };
            let text = format!(
                "{START}csrw svsrca, x0\nsvon.one\n{extend} x16, 0(a0)\ncsrw svsrca, t0\nsvon.one\nslli x16, x16, {scale}\n\
                 csrw svsrcb, x0\nsvon.one\nadd x16, x16, a1\ncsrw svsrcb, t0\nsvon.one\nl{suffix} x24, 0(x16)\n\
                 svon.one\nsb x24, 0(x16)\nli a7, 0\necall\n\
                 .data\nindex: .word {}\ntable: .byte {}\nbase: .byte {}\n#",
                list(index.iter().copied()),
                list(table[..320].iter().copied()),
                list(table[320..].iter().copied()),
            );
            let (log, outcome) = accesses(&text);
            let state = outcome.state;
            let base = state.x[11];
            let address = |i: &i64| base.wrapping_add_signed(i << scale);
            let expected: Vec<(u16, u64)> = (0..).zip(index.iter().map(address)).collect();
            // The indices, then the gather, then the scatter.
            assert_eq!(log[8..16], expected);
            assert_eq!(log[16..], expected);
            for (lane, i) in index.iter().enumerate() {
                let at = (320 + (i << scale)) as usize;
                let element = table[at..].iter().take(bytes as usize).rev();
                let value = element.fold(0u64, |value, byte| value << 8 | *byte as u64);
                let unused = 64 - 8 * bytes;
                assert_eq!(state.x[24 + lane], ((value << unused) as i64 >> unused) as u64);
                let last = index.iter().rposition(|other| other == i).unwrap();
                let stored = state.memory.load(Addr(address(i)), Width::B1).unwrap();
                assert_eq!(stored, state.x[24 + last] & 0xff, "the last lane's store stays");
            }
        }
    }
    // What would hold base, scale and element length of SVMEM reads zero, but for first-fault.
    let registers = "li t1, -1\ncsrw 0x7f0, t1\ncsrw 0x7f1, t1\ncsrw svmscl, t1\ncsrw 0x7f3, t1\ncsrw 0x7f4, t1\n\
        csrr s0, 0x7f0\ncsrr s1, 0x7f1\ncsrr s2, svmscl\ncsrr s3, 0x7f3\ncsrr s4, 0x7f4";
    let state = ends(registers);
    assert_eq!([8, 9, 18, 19, 20].map(|i| state.x[i]), [0, 0, 16, 0, 0]);
}

/// Checks PM-2.2-b, PM-5-b: a machine may form the addresses of lanes that are off, and run ahead;
/// this one shows nothing of either. Wherever those lanes point, accesses, registers, flags and
/// memory are the same, and what a branch skips leaves no trace.
#[test]
fn what_lanes_that_are_off_point_to_shows_nowhere() {
    let mut seen = Vec::new();
    for off in ["buffer", "0", "1", "0x10", "-1", "0x87fffffc", "0x88000000", "_start", "tohost"] {
        let mut text =
            format!("_start: {START}csrw svsrca, t0\nli a2, 0x55\npmlow.wr 1, a2\nla t1, buffer\n");
        for lane in 0..8 {
            let own = format!("addi x{}, t1, {}\n", 16 + lane, 8 * lane);
            let other = match off.parse::<i64>().is_ok() || off.starts_with("0x") {
                true => format!("li x{}, {off}\n", 16 + lane),
                false => format!("la x{}, {off}\n", 16 + lane),
            };
            text.push_str(if lane % 2 == 0 { &own } else { &other });
        }
        text.push_str(
            "csrsi svstate, 4\nsvon.blk 4\nld x24, 0(x16)\naddi x24, x24, 1\nsd x24, 0(x16)\nflw f8, 0(x16)\n\
             csrci svstate, 12\npmset 2\nbp.t 1f\nld x3, 0(x0)\nsw x3, 0(t1)\n1: csrr x4, fcsr\ncsrr x6, svfaulti\n\
             li x17, 0\nli x19, 0\nli x21, 0\nli x23, 0\nli a7, 0\necall\n\
             .data\n.balign 8\nbuffer: .dword 10, 11, 12, 13, 14, 15, 16, 17\ntohost: .dword 0\nindex:\nbase:\n#",
        );
        let (log, outcome) = accesses(&text);
        assert_eq!(outcome.end, pmask::run::End::Exit(0), "{off}");
        let state = outcome.state;
        let buffer = state.x[16];
        let memory: Vec<u64> = (0..18).map(|i| word(&state, buffer + 4 * i)).collect();
        assert!(log.iter().all(|(lane, _)| lane % 2 == 0));
        assert_eq!(log.len(), 3 * 4);
        seen.push((log, state.x, state.f, state.csr.fflags, memory));
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]));
}
