//! Any bytes for the PMASK machine: as a file (ELF or text), as assembly text, and as machine code
//! under any options. None panics or hangs; a text's disassembly assembles to the same bytes; what
//! always holds of a state holds after a run.

#![no_main]

use isa::FileId;
use libfuzzer_sys::fuzz_target;
use pmask::machine::RAM_BASE;
use pmask::program::Segment;
use pmask::run::{Outcome, run};
use pmask::table::dialect;
use pmask::{Config, Launch, Level, Pmask, Program};

/// Steps of a run.
const LIMIT: u64 = 4000;

fuzz_target!(|data: &[u8]| {
    match data.split_first() {
        Some((0, file)) => load(file),
        Some((1, text)) => {
            if let Ok(text) = std::str::from_utf8(text) {
                assemble(text);
            }
        }
        Some((_, rest)) => execute(rest),
        None => {}
    }
});

fn load(file: &[u8]) {
    if let Ok(program) = Program::load(file, FileId::default()) {
        let machine = Pmask::default();
        let launch = Launch { ram: 1 << 16, input: file.to_vec(), ..Launch::default() };
        // A segment may lie where there is no memory.
        if let Ok(outcome) = run(&machine, &program, launch, LIMIT) {
            check(&machine, &outcome);
        }
        let again = Program::from_elf(&pmask::elf::write(&program));
        assert!(program.segments.is_empty() || again.is_ok());
    }
}

fn assemble(text: &str) {
    let Ok(image) = pmask::asm::assemble(FileId::default(), text) else { return };
    for segment in image.segments.iter().filter(|s| s.section == ".text" && s.bytes.len() < 4096) {
        let lines = pmask::asm::disassemble(&segment.bytes, segment.address);
        let listing = isa::disasm::source(dialect(), &lines);
        let again = pmask::asm::assemble(FileId::default(), &listing);
        let again = again.unwrap_or_else(|found| panic!("{found:?}\n{listing}"));
        let bytes: Vec<u8> = again.segments.iter().flat_map(|s| s.bytes.iter().copied()).collect();
        assert_eq!(bytes, segment.bytes, "{listing}");
    }
}

fn execute(rest: &[u8]) {
    let Some((options, code)) = rest.split_first_chunk::<6>() else { return };
    let [flags, banks, maskw, vl, vlmax, seed] = *options;
    let on = |bit: u8| flags >> bit & 1 == 1;
    let config = Config {
        pmask: !on(0) || banks & 8 == 0,
        banks: 1 + (banks & 3),
        level: if on(1) { Level::M1 } else { Level::M2 },
        maskw: 1 + (maskw & 63),
        vlmax: 8 << (vlmax & 3),
        vl: vl % 65,
        zero: on(2),
        fused_branches: !on(3),
        lane_forms: !on(4),
        pcmp_bank: on(5),
        scalar_algebra: on(6),
        rt: on(7),
        misaligned_trap: banks & 4 != 0,
        reset_random: Some(seed.into()),
        ..Config::default()
    };
    let size = code.len() as u64;
    let segment = Segment { address: RAM_BASE, bytes: code.to_vec(), size };
    let program = Program { segments: vec![segment], entry: RAM_BASE, ..Program::default() };
    let machine = Pmask { config };
    let launch = Launch { ram: 1 << 16, input: code.to_vec(), ..Launch::default() };
    if let Ok(outcome) = run(&machine, &program, launch, LIMIT) {
        check(&machine, &outcome);
    }
}

fn check(machine: &Pmask, outcome: &Outcome) {
    let state = &outcome.state;
    let most = pmask::state::ones(machine.config.maskw);
    assert_eq!(state.x[0], 0);
    assert!(state.masks.banks.iter().all(|bank| bank & !most == 0));
    assert!(state.rsv.vl <= machine.config.most_lanes());
    assert!(state.rsv.pbank < machine.config.banks);
    assert!(state.slots.identity_holds());
}
