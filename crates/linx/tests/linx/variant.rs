//! Tables of designers: the same programs with other numbers.

use isa::FileId;
use linx::{Encoding, Launch, Linx, Program, State, Trap, Variant};
use simt::machine::{Machine, Step};
use simt::memory::{Addr, MemoryMap, Permission};

use crate::common::BASE;

const PROGRAM: &str = "_start: BSTART.MSEQ 0
    B.TEXT body
    B.IOR [a0],[]
    C.B.DIMI 8, ->lb0
    C.BSTART.STD
    c.movi 0, ->a0
    ebreak 0
body: v.add lc0.uw, lc0.uw<<3, ->vt.w
    v.subi vt#1.uw, 4, ->vu.w
    v.cmp.ltui lc0.uw, 5, ->p
    v.sw.brg vu#1.uw, [ri0, lc0<<2, zero.ud<<2]
    C.BSTOP
";

/// `v.add` and `v.sub` exchanged, fields of other forms elsewhere, a descriptor and a stop of other
/// numbers.
const TABLE: &str = "# A variant.
v.add\t\t\t000010050000007f
v.sub\t-\t-\t000000050000007f
v.subi\t64\t0000707ffff0707f\t000010150000007f\tRegDst=15:5@5+47:5 legal=@dest;SrcL=7:5@5+39:5 legal=@source;uimm12=52:12
c.b.dimi\t\t\t\tLoopNest=6:2 legal=0..2;imm8=8:8
@cause body-fetch 0x4242
";

fn with(table: &str) -> Encoding {
    let variant = Variant::read(table).unwrap_or_else(|errors| panic!("{errors:?}"));
    Encoding { variant: Some(variant), ..Encoding::default() }
}

fn binary(source: &str, encoding: Encoding) -> Vec<u8> {
    let image = linx::assemble(FileId::default(), source, encoding).unwrap();
    linx::binary(&image).unwrap()
}

fn run(binary: &[u8], encoding: Encoding) -> (State, Option<Trap>) {
    let program = Program::from_binary(binary, encoding).unwrap();
    let mut memory = MemoryMap::new();
    memory.map_at("data", Addr(BASE), 64, Permission::ReadWrite).unwrap();
    let launch = Launch { memory, arguments: vec![BASE], ..Launch::default() };
    let machine = Linx::default();
    let mut state = machine.launch(&program, launch).unwrap();
    match machine.run_unobserved(&program, &mut state, 10_000) {
        Step::Done => (state, None),
        Step::Fault(fault) => (state, Some(fault.cause)),
        other => panic!("{other:?}"),
    }
}

fn words(state: &State) -> Vec<i32> {
    let mut bytes = vec![0; 32];
    state.memory.read_bytes(Addr(BASE), &mut bytes).unwrap();
    bytes.chunks(4).map(|c| i32::from_le_bytes(c.try_into().unwrap())).collect()
}

#[test]
fn the_same_program_with_other_numbers() {
    let (plain, variant) = (Encoding::default(), with(TABLE));
    let binaries = [binary(PROGRAM, plain), binary(PROGRAM, variant)];
    let differ = binaries[0].iter().zip(&binaries[1]).filter(|(a, b)| a != b).count();
    assert!(differ > 3, "{differ} bytes");
    for (bytes, encoding) in binaries.iter().zip([plain, variant]) {
        let (state, trap) = run(bytes, encoding);
        assert_eq!(trap, None);
        assert_eq!(words(&state), [-4, 5, 14, 23, 32, 0, 0, 0]);
    }
    let [listed, expected] =
        [(1, variant), (0, plain)].map(|(at, encoding)| linx::listing(&binaries[at], encoding));
    let texts = |listing: &str| -> Vec<String> {
        // Address and bytes stand before the text.
        let text = |line: &str| line.rsplit("  ").next().unwrap().trim().to_owned();
        listing.lines().map(text).collect()
    };
    assert_eq!(texts(&listed), texts(&expected));
    // By the numbers of LinxISA the first addition is a subtraction.
    assert!(linx::listing(&binaries[1], plain).contains("v.sub "), "{listed}");
}

#[test]
fn causes_have_other_numbers() {
    let text = PROGRAM.replace("C.BSTOP\n", "j .+4000\nC.BSTOP\n");
    for (encoding, cause) in [(Encoding::default(), 0x300), (with(TABLE), 0x4242)] {
        let trap = run(&binary(&text, encoding), encoding).1.unwrap();
        assert_eq!(trap.trapno() >> 24 & 0xff_ffff, cause, "{trap}");
        assert_eq!(trap.name(), "E_BLOCK(EC_BFETCH)");
    }
}

#[test]
fn markers_that_end_no_body() {
    let text = PROGRAM.replace("C.BSTOP\n", "C.BSTART.STD\nC.BSTOP\n");
    assert_eq!(run(&binary(&text, Encoding::default()), Encoding::default()).1, None);
    let encoding = with("c.bstart.std\t\t\t\t\tterminator=no\n");
    let trap = run(&binary(&text, encoding), encoding).1.unwrap();
    assert!(trap.detail.contains("does not end a body"), "{trap}");
    // The program around it has such markers all the same.
    assert_eq!(run(&binary(PROGRAM, encoding), encoding).1, None);
}

#[test]
fn mistakes_are_told_with_their_lines() {
    let cases = [
        ("v.plus\t64", "line 1: there is no form `v.plus`"),
        ("\n# x\nv.add 64", "line 3: there is no form `v.add 64`"),
        ("v.add\t64\t0\t0\t\t\tx", "line 1: `v.add` has 7 columns"),
        ("v.add\nv.sub\nv.add", "line 3: `v.add` is in line 1 already"),
        ("v.add\t\t\t000020050000007f", "overlaps"),
        ("v.add\t\t\t\tRegDst=7:5", "line 1: `v.add`"),
        ("addi\t\t\t\tRegDst=7:5;SrcL=15:5;uimm12=12:12", "line 1: `addi`: "),
        ("addi\t\t\t\tRegDst=7:5;SrcL=15:5;uimm12=24:12", "line 1: `addi`: "),
        ("addi\t\t\t\tRegDst=7:5;SrcL=15:5;uimm12=20:12 signed", "holds -2048 to 2047"),
        ("addi\t64", "line 1: `addi`: "),
        ("addi\tmany", "line 1: `addi`: "),
        ("addi\t\t\t\t\tterminator=yes", "only block start markers and stops"),
        ("bstop\t\t\t\t\tends", "column 6 is `ends`"),
        ("@cause body-fetch", "line 1: `@cause body-fetch`: the only declaration"),
        ("@cause fetch 3", "there is no cause `fetch`; there are illegal-instruction"),
        ("@cause body-fetch 0x1000000", "a cause is a number from 0 to 0xffffff"),
        ("@cause body-fetch 1\n@cause body-fetch 2", "line 2: `body-fetch` has two numbers"),
    ];
    for (table, expected) in cases {
        let errors = Variant::read(table).expect_err(table);
        let text: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert!(text[0].contains(expected), "{table:?}: {text:?}");
    }
}

#[test]
fn the_same_table_is_read_once() {
    let (a, b) = (Variant::read(TABLE).unwrap(), Variant::read(TABLE).unwrap());
    assert!(std::ptr::eq(a, b));
}
