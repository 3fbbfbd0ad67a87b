//! Programs that are cut off or have a bit turned: they end, trap or go on, and leave the machine
//! as it should be.

use crate::common::assembled;
use isa::testing::Rng;
use linx::{Launch, Linx, Options, Program, Region, TileOps};
use simt::machine::{Machine, Step};
use simt::memory::{Addr, MemoryMap, Permission};

/// The code of all bundled kernels.
fn binaries() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/linx");
    let mut names: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let read = |path: std::path::PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path.join(format!("{name}.linx"))).unwrap();
        linx::binary(&assembled(&text, TileOps::V04)).unwrap()
    };
    names.into_iter().map(read).collect()
}

/// Runs for a while; a trap comes again when its instruction is tried again, and then too nothing
/// has changed.
fn survives(binary: &[u8], options: Options) {
    let tile_ops = TileOps::V04;
    let _ = linx::listing(binary, tile_ops);
    let Ok(program) = Program::from_binary(binary, tile_ops) else { return };
    let mut memory = MemoryMap::new();
    memory.map_at("buffer", Addr(0x200_0000), 4096, Permission::ReadWrite).unwrap();
    let arguments = vec![0x200_0000, 0x200_0400, 40, 0x3f80_0000, 0x200_0800];
    let launch = Launch { memory, arguments, options, ..Launch::default() };
    let machine = Linx { tile_ops };
    let mut state = machine.launch(&program, launch).unwrap();
    let Step::Fault(first) = machine.run_unobserved(&program, &mut state, 3000) else { return };
    let issues = state.issues();
    match machine.run_unobserved(&program, &mut state, 1) {
        Step::Fault(again) => assert_eq!((&first, issues), (&again, state.issues())),
        other => panic!("{other:?} after {first:?}"),
    }
}

#[test]
fn programs_that_are_cut_off() {
    for binary in binaries() {
        for length in 0..binary.len().min(400) {
            survives(&binary[..length], Options::default());
        }
    }
}

#[test]
fn programs_with_bits_turned() {
    let mut random = Rng::new(9);
    for binary in binaries() {
        for round in 0..60 {
            let mut damaged = binary.clone();
            damaged.truncate(600);
            for _ in 0..=round % 3 {
                let bit = random.bits() as usize % (8 * damaged.len());
                damaged[bit / 8] ^= 1 << (bit % 8);
            }
            let options = Options {
                region: if round % 2 == 0 { Region::FirstTerminator } else { Region::TakenPath },
                conflicts: true,
                check: true,
                seed: random.bits(),
                ..Options::default()
            };
            survives(&damaged, options);
        }
    }
}
