//! Any bytes for LinxISA: as a file, as assembly text, as a program's code, as a kernel's body
//! under any options, as code in codec B. None panics or hangs; a text's and a binary's disassembly
//! assembles to the same bytes; what always holds of a state holds.

#![no_main]

use std::sync::LazyLock;

use isa::FileId;
use libfuzzer_sys::fuzz_target;
use linx::{
    Inactive, Launch, Linear, Linx, LoadError, Options, Program, Region, State, TEXT, TileOps,
};
use simt::machine::{Machine, Step};
use simt::memory::{Addr, MemoryMap, Permission};

/// Steps of a run.
const LIMIT: u64 = 1000;
/// Where the buffer of a run lies.
const BUFFER: u64 = 0x200_0000;

fuzz_target!(
    // Tables are built once, before the clock of the first input runs.
    init: {
        let _ = (linx::table(TileOps::V03), linx::other_dialect(), HEADER.len());
    },
    |data: &[u8]| target(data)
);

fn target(data: &[u8]) {
    match data.split_first() {
        Some((0, text)) => {
            if let Ok(text) = std::str::from_utf8(text) {
                assemble(text, TileOps::V04);
            }
        }
        Some((1, text)) => {
            if let Ok(text) = std::str::from_utf8(text) {
                assemble(text, TileOps::V03);
            }
        }
        Some((2, rest)) => code(rest, &[]),
        Some((4, rest)) => same_in_other_codec(rest),
        Some((_, rest)) => code(rest, &HEADER),
        None => {}
    }
}

/// A program that starts a kernel whose body is what follows; it has tiles, imports and exports.
static HEADER: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let text = "_start: BSTART.TLOAD FP32\nB.ARG NORM.normal\nB.IOR [a0],[]\nB.IOTI [], last ->t<1KB>\n\
                BSTART.MSEQ 0\nB.TEXT body\nB.IOR [a0,a1,a2],[s0]\nB.IOR [a3,a4],[s1]\nB.IOTI [t#1], last ->u<512B>\n\
                C.B.DIMI 9, ->lb0\nC.B.DIMI 2, ->lb1\nC.BSTART.STD\nc.movi 0, ->a0\nebreak 0\nbody:\n";
    let image = linx::assemble(FileId::default(), text, TileOps::V04).expect("it is right");
    linx::binary(&image).expect("it has code")
});

fn assemble(text: &str, tile_ops: TileOps) {
    let Ok(image) = linx::assemble(FileId::default(), text, tile_ops) else { return };
    let _ = linx::parameters(&image);
    // Disassembly reads every line back, and a binary with data is a megabyte of zeros at least:
    // they take their time.
    if image.size() < 1 << 11
        && let Ok(binary) = linx::binary(&image)
        && binary.len() < 1 << 11
    {
        same(&binary, tile_ops);
    }
    run(Program::from_image(&image, tile_ops), Options::default(), tile_ops);
}

/// The source that is made of a binary assembles to it.
fn same(binary: &[u8], tile_ops: TileOps) {
    let _ = linx::listing(binary, tile_ops);
    let source = linx::source(binary, tile_ops);
    let again = linx::assemble(FileId::default(), &source, tile_ops);
    // Shifts that the assembler refuses are instructions all the same.
    if let Err(found) = &again {
        assert!(found.iter().all(|f| f.code == "linx::shift"), "{found:?}\n{source}");
        return;
    }
    let bytes = again.ok().and_then(|image| linx::binary(&image).ok()).unwrap_or_default();
    let used = binary.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
    assert_eq!(bytes.get(..used), binary.get(..used), "{source}");
}

/// The same of codec B, which has no listing of its own.
fn same_in_other_codec(code: &[u8]) {
    if code.len() > 1 << 11 {
        return;
    }
    let dialect = linx::other_dialect();
    let lines = isa::disasm::disassemble(dialect, code, TEXT);
    let source = isa::disasm::source(dialect, &lines);
    let image = isa::asm::assemble(dialect, FileId::default(), &source);
    let image = image.unwrap_or_else(|found| panic!("{found:?}\n{source}"));
    assert_eq!(image.bytes_at(TEXT).unwrap_or_default(), code, "{source}");
}

fn options([first, second, third]: [u8; 3]) -> (Options, TileOps) {
    let on = |byte: u8, bit: u8| byte >> bit & 1 == 1;
    let options = Options {
        group_width: 1 << (first % 7),
        inactive: [Inactive::Merge, Inactive::Zero, Inactive::Poison][usize::from(first >> 3) % 3],
        region: if on(first, 6) { Region::TakenPath } else { Region::FirstTerminator },
        replay: on(first, 7),
        linear_groups: [Linear::Off, Linear::On, Linear::Attribute][usize::from(second & 3) % 3],
        lc0_group: on(second, 2),
        exports_import: on(second, 3),
        seed: u64::from(second >> 4 & 3),
        align: on(third, 0),
        lenient_dim: on(third, 1),
        lenient_arg: on(third, 2),
        warn_gpr_writes: on(third, 3),
        lenient_tiles: on(second, 6),
        strict_linear: on(second, 7),
        l_bstop: on(third, 4),
        strict_branches: on(third, 5),
        conflicts: on(third, 6),
        check: true,
        ..Options::default()
    };
    (options, if on(third, 7) { TileOps::V03 } else { TileOps::V04 })
}

fn code(rest: &[u8], header: &[u8]) {
    let Some((choices, code)) = rest.split_first_chunk::<3>() else { return };
    let (options, tile_ops) = options(*choices);
    let binary = [header, code].concat();
    if binary.len() > 4096 {
        return;
    }
    same(&binary, tile_ops);
    run(Program::from_binary(&binary, tile_ops), options, tile_ops);
}

fn run(program: Result<Program, LoadError>, options: Options, tile_ops: TileOps) {
    let Ok(program) = program else { return };
    let mut memory = MemoryMap::new();
    memory.map_at("buffer", Addr(BUFFER), 4096, Permission::ReadWrite).expect("there is room");
    let arguments = vec![BUFFER, BUFFER + 1024, TEXT, 7, u64::MAX];
    let launch = Launch { memory, arguments, options, ..Launch::default() };
    let machine = Linx { tile_ops };
    let Ok(mut state) = machine.launch(&program, launch) else { return };
    // After a fault the same instruction is tried again, once, with nothing changed.
    let before = match machine.run_unobserved(&program, &mut state, LIMIT) {
        Step::Fault(fault) => fault,
        _ => return check(&state),
    };
    check(&state);
    let issues = state.issues();
    match machine.run_unobserved(&program, &mut state, 1) {
        Step::Fault(fault) => assert_eq!((fault, issues), (before, state.issues())),
        other => panic!("{other:?} after {before:?}"),
    }
}

/// What always holds.
fn check(state: &State) {
    assert_eq!(state.register(0), Some(0));
    let _ = (state.exec(), state.findings(), state.status());
}
