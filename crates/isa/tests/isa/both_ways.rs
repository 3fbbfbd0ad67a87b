//! Assembler and disassembler are each other's inverse, over every form of the test table.

use crate::common;

use crate::common::{dialect, try_assemble};
use isa::disasm::{disassemble, listing, source};
use isa::{docs, testing};

#[test]
fn every_form_goes_round() {
    let done = testing::round_trip(dialect(), 300, 1).unwrap();
    assert_eq!(done.forms, common::TABLE.forms().len());
    assert_eq!(done.words, 300 * done.forms);
}

#[test]
fn random_bytes_come_back() {
    testing::random_bytes(dialect(), 2000, 2).unwrap();
}

#[test]
fn token_soup_never_panics() {
    let (accepted, rejected) = testing::token_soup(dialect(), 3000, 3);
    assert!(accepted > 50 && rejected > 1000, "{accepted} {rejected}");
}

/// A longer run of the three above; a minute in a release build.
#[test]
#[ignore = "long campaign"]
fn campaign() {
    testing::round_trip(dialect(), 20_000, 11).unwrap();
    testing::random_bytes(dialect(), 200_000, 12).unwrap();
    let (accepted, rejected) = testing::token_soup(dialect(), 1_000_000, 13);
    assert_eq!(accepted + rejected, 1_000_000);
}

#[test]
fn conformance_tables_tell_facts_from_mistakes() {
    let facts = "\
# Words by GNU as.
both\t33 05 a5 00\tadd a0, a0, a0
both\t3305a500\tadd a0,a0 ,  a0
both\te310b5fe\tbne a0, a1, .-32\t0x100
both\te310b5fe\tbne a0, a1, 0xe0\t0x100
dis\te310b5fe\tbne a0, a1, 0xffffffffffffffe0
asm\t3305a500\tADD x10, x10, x10
not-code\t0000
not-text\tadd a0\tasm::syntax
";
    let report = isa::conform::check(dialect(), facts, |_| None);
    let mut reasons = report.failures();
    assert_eq!(reasons.next(), Some((2, "`33 05 a5 00` is not bytes in hexadecimal")));
    assert_eq!(reasons.next(), None);
    assert_eq!(report.passed(), 7);
    assert_eq!(report.cases[1].fact, "both 3305a500 add a0,a0 ,  a0");
    let wrong = "both\t3305a500\tadd a0, a0, a1\ndis\t3305a500\tadd a0, a0, a1\ndis\t3305\tx\n\
        dis\t3305a50000\tx\nnot-code\t3305a500\nnot-text\tnop\tasm::syntax\nnot-text\tx y\tasm::syntax\n\
        asm\t13000000\tnop\tzz\nboth\t13\nown\tx";
    let own = |columns: &[&str]| (columns[0] == "own").then_some(Ok(()));
    let report = isa::conform::check(dialect(), wrong, own);
    assert_eq!(
        report.to_string(),
        "\
1 of 10 passed
line 1: `add a0, a0, a1` assembles to 3305b500, not 3305a500
line 2: 3305a500 disassembles to `add a0, a0, a0`, not `add a0, a0, a1`
line 3: 3305: an instruction of 32 bits is cut off after 16
line 4: 3305a50000 starts with `add a0, a0, a0`
line 5: 3305a500 is `add a0, a0, a0`
line 6: `nop` assembles, but should fail with asm::syntax
line 7: `x y` fails with asm::unknown-mnemonic, not asm::syntax
line 8: `zz` is not a number
line 9: `both` is not a kind of fact, or has too few columns"
    );
    assert!(!report.ok());
}

#[test]
fn printed_aliases_and_optional_parts() {
    let text = |word: u64| {
        let instruction = common::TABLE.decode(word, 64).unwrap();
        dialect().print(instruction, 0x1000)
    };
    assert_eq!(text(0x13), "nop");
    assert_eq!(text(0x02a0_0513), "li a0, 42");
    assert_eq!(text(0x0001_0413), "addi s0, sp, 0");
    assert_eq!(text(0x8067), "ret");
    assert_eq!(text(0x0ff0_000f), "fence");
    assert_eq!(text(0x0310_000f), "fence rw, w");
    assert_eq!(text(0x0031_10d3), "fadd.s ra, sp, gp, rtz");
    assert_eq!(text(0xffff_f06f), "j 0xffe");
    assert_eq!(text(0x0001_2083), "lw ra, (sp)");
}

#[test]
fn a_disassembly_reads_well_and_assembles_again() {
    let text = "1: bne a0, a1, 1b\n j 1f\n .word 0xffffffff\n1: ret\n .half 0";
    let bytes = try_assemble(text).unwrap().segments.remove(0).bytes;
    let lines = disassemble(dialect(), &bytes, 0x100);
    let expected = "\
L_100:
     100:  6310b500          bne a0, a1, L_100
     104:  6f008000          j L_10c
     108:  ffffffff          .word 0xffffffff
L_10c:
     10c:  67800000          ret
     110:  0000              .half 0x0000
";
    assert_eq!(listing(&lines), expected);
    let again = try_assemble(&source(dialect(), &lines)).unwrap();
    assert_eq!(again.bytes_at(0x100), Some(&bytes[..]));
}

#[test]
fn bits_that_text_cannot_say_stay_as_data() {
    // fence with a mode in its top bits is not a form; `call2` is one, and so is its first half
    // alone.
    let lines = disassemble(dialect(), &[0x73, 0x00, 0x20], 0);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0].text, ".byte 0x73, 0x00, 0x20");
}

#[test]
fn the_reference_page_has_every_form() {
    let page = docs::reference(&common::TABLE);
    for form in common::TABLE.forms() {
        assert!(page.contains(&format!("### {}\n", form.name)), "{}", form.name);
        assert!(page.contains(&form.syntax.text), "{}", form.name);
    }
    let beq = "\
### beq

pc = target if rs1 and rs2 compare so

    beq {rs1:x}, {rs2:x}, {off:target}

| 31 | 30..25 | 24..20 | 19..15 | 14..12 | 11..8 | 7 | 6..0 |
|:-:|:-:|:-:|:-:|:-:|:-:|:-:|:-:|
| off\\[12\\] | off\\[10:5\\] | rs2 | rs1 | `000` | off\\[4:1\\] | off\\[11\\] | `1100011` |

- `rs1`: 0 to 31
- `rs2`: 0 to 31
- `off`: -4096 to 4094, multiples of 2
- 32 bits, mask `0x0000707f`, match `0x00000063`
";
    assert!(page.contains(beq), "{page}");
}
