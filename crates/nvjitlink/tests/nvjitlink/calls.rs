//! Calls with wrong handles, addresses and inputs: each returns a status.

use nvjitlink::exports::jit_link::*;
use nvjitlink::exports::ptx_compiler::*;
use proptest::prelude::*;

const NULL_INPUT: i32 = 10;
const INVALID_INPUT: i32 = 3;
const PTX: &[u8] = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";
/// An address at which nothing is.
const NOWHERE: usize = 64;

fn address<T>(value: &mut T) -> usize {
    (&raw mut *value).expose_provenance()
}

fn of(bytes: &[u8]) -> usize {
    bytes.as_ptr().expose_provenance()
}

/// Returns a link with options.
fn link(options: &[&std::ffi::CStr]) -> u64 {
    let list: Vec<usize> = options.iter().map(|o| of(o.to_bytes_with_nul())).collect();
    let mut handle = 0_u64;
    let status =
        nvJitLinkCreate(address(&mut handle), list.len() as u32, list.as_ptr().expose_provenance());
    assert_eq!(status, 0);
    handle
}

fn destroy(mut handle: u64) {
    assert_eq!(nvJitLinkDestroy(address(&mut handle)), 0);
    assert_eq!(handle, 0);
}

#[test]
fn wrong_handles_and_addresses_have_statuses() {
    let mut handle = 0_u64;
    let mut size = 0_u64;
    assert_eq!(nvJitLinkCreate(0, 0, 0), NULL_INPUT);
    assert_eq!(nvJitLinkCreate(address(&mut handle), 1, 0), NULL_INPUT);
    assert_eq!(nvJitLinkCreate(address(&mut handle), 1, NOWHERE), NULL_INPUT);
    assert_eq!(nvJitLinkCreate(address(&mut handle), u32::MAX, address(&mut size)), NULL_INPUT);
    let null_option = [0_usize];
    let list = null_option.as_ptr().expose_provenance();
    assert_eq!(nvJitLinkCreate(address(&mut handle), 1, list), NULL_INPUT);
    assert_eq!(nvJitLinkCreate(NOWHERE, 0, 0), INVALID_INPUT);
    // Without an architecture there is a handle for its logs.
    assert_eq!(nvJitLinkCreate(address(&mut handle), 0, 0), 2);
    destroy(handle);
    for (wrong, status) in [(0, NULL_INPUT), (1, INVALID_INPUT), (handle, INVALID_INPUT)] {
        let status = if wrong == 0 { NULL_INPUT } else { status };
        let mut copy = wrong;
        assert_eq!(nvJitLinkDestroy(address(&mut copy)), status);
        assert_eq!(nvJitLinkAddData(wrong, 2, of(PTX), PTX.len(), 0), status);
        assert_eq!(nvJitLinkAddFile(wrong, 2, of(b"x\0")), status);
        assert_eq!(nvJitLinkComplete(wrong), status);
        assert_eq!(nvJitLinkGetLinkedCubinSize(wrong, address(&mut size)), status);
        assert_eq!(nvJitLinkGetErrorLog(wrong, address(&mut size)), status);
    }
    assert_eq!((nvJitLinkDestroy(0), nvJitLinkDestroy(NOWHERE)), (NULL_INPUT, INVALID_INPUT));
    let handle = link(&[c"-arch=sm_80"]);
    assert_eq!(nvJitLinkAddData(handle, 2, 0, 8, 0), INVALID_INPUT);
    assert_eq!(nvJitLinkAddData(handle, 2, of(PTX), 0, 0), INVALID_INPUT);
    assert_eq!(nvJitLinkAddData(handle, 2, of(PTX), usize::MAX, 0), INVALID_INPUT);
    assert_eq!(nvJitLinkAddData(handle, 2, NOWHERE, 1 << 29, 0), INVALID_INPUT);
    assert_eq!(nvJitLinkAddData(handle, 2, of(PTX), PTX.len(), NOWHERE), INVALID_INPUT);
    assert_eq!(nvJitLinkAddFile(handle, 2, 0), NULL_INPUT);
    assert_eq!(nvJitLinkAddData(handle, 2, of(PTX), PTX.len(), 0), 0);
    assert_eq!(nvJitLinkComplete(handle), 0);
    assert_eq!(nvJitLinkGetLinkedCubinSize(handle, 0), NULL_INPUT);
    assert_eq!(nvJitLinkGetLinkedCubin(handle, 0), NULL_INPUT);
    assert_eq!(nvJitLinkGetLinkedCubin(handle, NOWHERE), INVALID_INPUT);
    assert_eq!(nvJitLinkGetLinkedPtxSize(handle, address(&mut size)), INVALID_INPUT);
    assert_eq!(nvJitLinkGetInfoLogSize(handle, address(&mut size)), 0);
    assert_eq!((size, nvJitLinkVersion(0, address(&mut size))), (0, NULL_INPUT));
    destroy(handle);
}

extern "C" fn answer(payload: usize, _: usize) -> i32 {
    payload as i32
}

#[test]
fn wrong_compilers_and_addresses_have_statuses() {
    let (mut handle, mut size) = (0_u64, 0_u64);
    assert_eq!(nvPTXCompilerCreate(0, PTX.len(), of(PTX)), 2);
    assert_eq!(nvPTXCompilerCreate(address(&mut handle), 4, 0), 2);
    assert_eq!(nvPTXCompilerCreate(address(&mut handle), 0, of(PTX)), 2);
    assert_eq!(nvPTXCompilerCreate(address(&mut handle), usize::MAX, of(PTX)), 2);
    assert_eq!(nvPTXCompilerCompile(0, 0, 0), 1);
    assert_eq!((nvPTXCompilerDestroy(0), nvPTXCompilerDestroy(address(&mut handle))), (1, 1));
    assert_eq!(nvPTXCompilerCreate(address(&mut handle), PTX.len(), of(PTX)), 0);
    assert_eq!(nvPTXCompilerSetFlowCallback(handle, None, 0), 2);
    assert_eq!(nvPTXCompilerCompile(handle, -1, 0), 2);
    assert_eq!(nvPTXCompilerCompile(handle, 1 << 30, address(&mut size)), 2);
    assert_eq!(nvPTXCompilerCompile(handle, 1, 0), 2);
    assert_eq!(nvPTXCompilerGetCompiledProgramSize(handle, address(&mut size)), 6);
    assert_eq!(nvPTXCompilerGetErrorLogSize(handle, 0), 2);
    let options = [of(b"-arch=sm_80\0")];
    let list = options.as_ptr().expose_provenance();
    for (payload, status) in [(1, 9), (0, 0)] {
        assert_eq!(nvPTXCompilerSetFlowCallback(handle, Some(answer), payload), 0);
        assert_eq!(nvPTXCompilerCompile(handle, 1, list), status);
        let has_program = nvPTXCompilerGetCompiledProgramSize(handle, address(&mut size)) == 0;
        assert_eq!(has_program, status == 0);
    }
    assert_eq!(nvPTXCompilerGetCompiledProgram(handle, NOWHERE), 2);
    assert_eq!(nvPTXCompilerDestroy(address(&mut handle)), 0);
    assert_eq!(nvPTXCompilerGetVersion(0, 0), 2);
    let mut count = 0_i32;
    assert_eq!(nvPTXCompilerGetNumSupportedArchs(address(&mut count)), 0);
    let mut numbers = vec![0_i32; count as usize];
    assert_eq!(nvPTXCompilerGetSupportedArchs(numbers.as_mut_ptr().expose_provenance()), 0);
    assert!(numbers.is_sorted() && numbers.contains(&80));
}

/// A fat binary with one entry of PTX.
fn fat_binary() -> Vec<u8> {
    let mut bytes = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    bytes.extend((64 + PTX.len() as u64).to_le_bytes());
    let mut entry = vec![0; 64];
    entry[0] = 1;
    entry[4] = 64;
    entry[8] = PTX.len() as u8;
    entry[28] = 80;
    bytes.extend(entry);
    bytes.extend(PTX);
    bytes
}

#[test]
fn fat_binaries_are_linked() {
    let handle = link(&[c"-arch=sm_80"]);
    let fat = fat_binary();
    assert_eq!(nvJitLinkAddData(handle, 4, of(&fat), fat.len(), of(b"fat\0")), 0);
    assert_eq!(nvJitLinkComplete(handle), 0);
    destroy(handle);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    // Arbitrary bytes of any kind, and inputs with changed bytes, cut anywhere, have a status.
    #[test]
    fn inputs_of_any_bytes_have_a_status(
        kind in -1_i32..12,
        start in 0_usize..5,
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        end in any::<prop::sample::Index>(),
    ) {
        let mut input = match start {
            0 => Vec::new(),
            1 => PTX.to_vec(),
            2 => fat_binary(),
            3 => b"!<arch>\n".to_vec(),
            _ => b"\x7fELF\x02\x01\x01".to_vec(),
        };
        input.extend(bytes);
        for (at, value) in changes {
            if !input.is_empty() {
                let at = at.index(input.len());
                input[at] = value;
            }
        }
        input.truncate(end.index(input.len() + 1));
        let handle = link(&[c"-arch=sm_80", c"-lto"]);
        let status = nvJitLinkAddData(handle, kind, of(&input), input.len(), 0);
        prop_assert!((0..=18).contains(&status));
        prop_assert!((0..=18).contains(&nvJitLinkComplete(handle)));
        destroy(handle);
        let mut compiler = 0_u64;
        if nvPTXCompilerCreate(address(&mut compiler), input.len(), of(&input)) == 0 {
            let options = [of(b"-arch=sm_80\0")];
            let list = options.as_ptr().expose_provenance();
            prop_assert!((0..=10).contains(&nvPTXCompilerCompile(compiler, 1, list)));
            prop_assert_eq!(nvPTXCompilerDestroy(address(&mut compiler)), 0);
        }
    }
}
