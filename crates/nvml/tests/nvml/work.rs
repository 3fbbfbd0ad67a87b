//! Answers, beside those of the driver API.

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use cuda as _;
use culibs::driver::{
    cuCtxSetCurrent, cuDevicePrimaryCtxRetain, cuInit, cuMemAlloc_v2, cuMemFree_v2,
};
use nvml::exports::general::*;
use nvml::exports::missing::nvmlDeviceGetPowerUsage;
use nvml::exports::missing::{nvmlDeviceGetNvLinkState, nvmlEventSetCreate};

const UNINITIALIZED: i32 = 1;
const INVALID_ARGUMENT: i32 = 2;
const NOT_SUPPORTED: i32 = 3;
const NOT_FOUND: i32 = 6;
const INSUFFICIENT_SIZE: i32 = 7;
const VERSION_MISMATCH: i32 = 25;

/// Loads the driver library. Tests run one at a time: how often the library is initialised is
/// counted for the process.
fn alone() -> MutexGuard<'static, ()> {
    static LOADED: OnceLock<bool> = OnceLock::new();
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let loaded = *LOADED.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        culibs::driver::load(&test.parent().unwrap().join("libcuda.so"))
    });
    assert!(loaded, "the driver library is not beside the test");
    guard
}

fn address<T>(value: &mut T) -> usize {
    (&raw mut *value).expose_provenance()
}

/// Initialises the library, and returns the first device.
fn device() -> u64 {
    assert_eq!(nvmlInit_v2(), 0);
    let mut handle = 0_u64;
    assert_eq!(nvmlDeviceGetHandleByIndex_v2(0, address(&mut handle)), 0);
    handle
}

fn text(room: u32, call: impl FnOnce(usize, u32) -> i32) -> Result<String, i32> {
    let mut bytes = vec![0xff_u8; room as usize];
    match call(bytes.as_mut_ptr().expose_provenance(), room) {
        0 => {
            let end = bytes.iter().position(|&byte| byte == 0).unwrap();
            Ok(String::from_utf8(bytes[..end].to_vec()).unwrap())
        }
        status => Err(status),
    }
}

/// Returns the word that a call writes.
fn word(call: impl FnOnce(usize) -> i32) -> Result<u32, i32> {
    let mut value = 0xdead_u32;
    match call(address(&mut value)) {
        0 => Ok(value),
        status => Err(status),
    }
}

#[test]
fn calls_need_the_library_to_be_initialised() {
    let _alone = alone();
    assert_eq!(word(|out| nvmlDeviceGetCount_v2(out)), Err(UNINITIALIZED));
    assert_eq!(nvmlShutdown(), UNINITIALIZED);
    assert_eq!(nvmlInitWithFlags(1 << 20), INVALID_ARGUMENT);
    assert_eq!((nvmlInit(), nvmlInitWithFlags(1)), (0, 0));
    assert_eq!(nvmlShutdown(), 0);
    assert_eq!(word(|out| nvmlDeviceGetCount(out)), Ok(1));
    assert_eq!(nvmlShutdown(), 0);
    assert_eq!(nvmlDeviceGetPowerUsage(0), UNINITIALIZED);
    // A text is there for each status, also unknown ones.
    for status in [0, 1, 999, -7] {
        assert!(!nvmlErrorString(status).is_null());
    }
}

#[test]
fn a_device_is_what_the_driver_says() {
    let _alone = alone();
    let device = device();
    assert_eq!(
        text(96, |o, n| nvmlDeviceGetName(device, o, n)).unwrap(),
        "Simtlab virtual device 0"
    );
    assert_eq!(text(24, |o, n| nvmlDeviceGetName(device, o, n)), Err(INSUFFICIENT_SIZE));
    assert_eq!(nvmlDeviceGetName(device, 0, 96), INVALID_ARGUMENT);
    // The driver's 16 bytes are `simtlab-device-0`.
    let uuid = "GPU-73696d74-6c61-622d-6465-766963652d30";
    assert_eq!(text(41, |o, n| nvmlDeviceGetUUID(device, o, n)).unwrap(), uuid);
    let mut major = 0_u32;
    let minor = word(|out| nvmlDeviceGetCudaComputeCapability(device, address(&mut major), out));
    assert_eq!((major, minor), (8, Ok(0)));
    assert_eq!(word(|out| nvmlDeviceGetArchitecture(device, out)), Ok(7));
    assert_eq!(word(|out| nvmlSystemGetCudaDriverVersion(out)), Ok(12090));
    assert_eq!(text(80, |o, n| nvmlSystemGetDriverVersion(o, n)).unwrap(), "575.00");
    assert_eq!(text(80, |o, n| nvmlSystemGetNVMLVersion(o, n)).unwrap(), "12.575.00");
    assert_eq!(word(|out| nvmlDeviceGetClockInfo(device, 1, out)), Ok(1000));
    assert_eq!(word(|out| nvmlDeviceGetClockInfo(device, 4, out)), Err(INVALID_ARGUMENT));
    assert_eq!(word(|out| nvmlDeviceGetMemoryBusWidth(device, out)), Ok(256));
    let mut bytes = [0xff_u8; 68];
    assert_eq!(nvmlDeviceGetPciInfo_v3(device, address(&mut bytes)), 0);
    assert_eq!(&bytes[..13], b"0000:01:00.0\0");
    assert_eq!(&bytes[36..53], b"00000000:01:00.0\0");
    // Older layouts are shorter.
    for (call, len) in [
        (nvmlDeviceGetPciInfo as extern "C" fn(u64, usize) -> i32, 32),
        (nvmlDeviceGetPciInfo_v2, 36),
    ] {
        let mut bytes = [0xff_u8; 68];
        assert_eq!(call(device, address(&mut bytes)), 0);
        assert_eq!((bytes[len - 1], bytes[len]), (0, 0xff));
    }
    assert_eq!(nvmlShutdown(), 0);
}

#[test]
fn devices_are_found_by_names_of_all_kinds() {
    let _alone = alone();
    let device = device();
    type Find = extern "C" fn(usize, usize) -> i32;
    let find = |call: Find, name: &std::ffi::CStr| {
        let mut found = 0_u64;
        let end = call(name.as_ptr().expose_provenance(), address(&mut found));
        if end == 0 { Ok(found) } else { Err(end) }
    };
    let by_uuid: Find = nvmlDeviceGetHandleByUUID;
    assert_eq!(find(by_uuid, c"GPU-73696d74-6c61-622d-6465-766963652d30"), Ok(device));
    assert_eq!(find(by_uuid, c"GPU-73696d74-6c61-622d-6465-766963652d31"), Err(NOT_FOUND));
    let by_place: Find = nvmlDeviceGetHandleByPciBusId_v2;
    for place in [c"0000:01:00.0", c"00000000:01:00.0", c"01:00.0", c"01:00"] {
        assert_eq!(find(by_place, place), Ok(device), "{place:?}");
    }
    for place in [c"0000:02:00.0", c"", c":", c"01:00.1", c"123456789:01:00.0"] {
        assert_eq!(find(by_place, place), Err(NOT_FOUND), "{place:?}");
    }
    assert_eq!(find(nvmlDeviceGetHandleBySerial, c"1"), Err(NOT_FOUND));
    // As a structure: the version, the type, the identifier.
    let mut words = [0_u32; 13];
    let mut found = 0_u64;
    assert_eq!(
        nvmlDeviceGetHandleByUUIDV(address(&mut words), address(&mut found)),
        VERSION_MISMATCH
    );
    (words[0], words[1]) = (52 | 1 << 24, 2);
    for (word, part) in words[2..].iter_mut().zip(b"simtlab-device-0".chunks_exact(4)) {
        *word = u32::from_ne_bytes(part.try_into().unwrap());
    }
    assert_eq!(nvmlDeviceGetHandleByUUIDV(address(&mut words), address(&mut found)), 0);
    assert_eq!(found, device);
    let mut other = 0_u64;
    assert_eq!(nvmlDeviceGetHandleByIndex(1, address(&mut other)), INVALID_ARGUMENT);
    assert_eq!(nvmlDeviceGetHandleByIndex(0, 0), INVALID_ARGUMENT);
    for wrong in [0, 1, device - 1, device + 1, u64::MAX] {
        assert_eq!(word(|out| nvmlDeviceGetIndex(wrong, out)), Err(INVALID_ARGUMENT));
        assert_eq!(nvmlDeviceGetPowerUsage(wrong), INVALID_ARGUMENT);
    }
    assert_eq!(nvmlShutdown(), 0);
}

#[test]
fn what_a_virtual_device_has_not_is_not_supported() {
    let _alone = alone();
    let device = device();
    let mut value = 0_u32;
    assert_eq!(nvmlDeviceGetTemperature(device, 0, address(&mut value)), NOT_SUPPORTED);
    assert_eq!(nvmlDeviceGetTemperature(device, 9, address(&mut value)), INVALID_ARGUMENT);
    assert_eq!(nvmlDeviceGetPowerUsage(device), NOT_SUPPORTED);
    assert_eq!(nvmlDeviceGetNvLinkState(device), NOT_SUPPORTED);
    assert_eq!(nvmlEventSetCreate(), NOT_SUPPORTED);
    let mut pending = 7_u32;
    let mode = word(|out| nvmlDeviceGetMigMode(device, out, address(&mut pending)));
    assert_eq!((mode, pending), (Ok(0), 0));
    assert_eq!(nvmlDeviceGetMigDeviceHandleByIndex(device, 0, address(&mut value)), NOT_FOUND);
    // Queries by number: 40 bytes each, the status at 28.
    let mut fields = [0_u8; 80];
    fields[40] = 83;
    assert_eq!(nvmlDeviceGetFieldValues(device, 2, address(&mut fields)), 0);
    assert_eq!(
        (fields[28], fields[68], fields[40]),
        (NOT_SUPPORTED as u8, NOT_SUPPORTED as u8, 83)
    );
    assert_eq!(nvmlDeviceGetFieldValues(device, -1, address(&mut fields)), INVALID_ARGUMENT);
    assert_eq!(nvmlDeviceGetFieldValues(device, 1, 8), INVALID_ARGUMENT);
    assert_eq!(nvmlShutdown(), 0);
}

/// Uses memory of the device; in a process of its own, in which nothing else is allocated.
#[test]
fn memory_and_processes_are_those_of_this_process() {
    let test = std::env::current_exe().unwrap();
    let ran = Command::new(test)
        .args(["--exact", "work::uses_memory", "--ignored"])
        .env("SIMTLAB_DEVICE_MEMORY", "1048576")
        .env("SIMTLAB_DEVICES", "2")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
}

fn memory(device: u64) -> [u64; 3] {
    let mut words = [0_u64; 3];
    assert_eq!(nvmlDeviceGetMemoryInfo(device, address(&mut words)), 0);
    words
}

/// Returns the first process and the number of all.
fn processes(device: u64, room: u32) -> (i32, u32, [u64; 3]) {
    let (mut count, mut infos) = (room, [0_u64; 3]);
    let (at, out) = (address(&mut count), address(&mut infos));
    (nvmlDeviceGetComputeRunningProcesses_v3(device, at, out), count, infos)
}

#[test]
#[ignore = "runs in a process of its own"]
fn uses_memory() {
    let _alone = alone();
    let device = device();
    let mut second = 0_u64;
    assert_eq!(nvmlDeviceGetHandleByIndex_v2(1, address(&mut second)), 0);
    assert_eq!(memory(device), [1 << 20, 1 << 20, 0]);
    assert_eq!(processes(device, 8).1, 0);
    cuInit(0).unwrap();
    let (mut context, mut at) = (0_u64, 0_u64);
    cuDevicePrimaryCtxRetain(address(&mut context), 0).unwrap();
    cuCtxSetCurrent(context).unwrap();
    cuMemAlloc_v2(address(&mut at), 4096).unwrap();
    assert_eq!(memory(device), [1 << 20, (1 << 20) - 4096, 4096]);
    let mut words = [0_u64; 5];
    assert_eq!(nvmlDeviceGetMemoryInfo_v2(device, address(&mut words)), VERSION_MISMATCH);
    words[0] = 40 | 2 << 24;
    assert_eq!(nvmlDeviceGetMemoryInfo_v2(device, address(&mut words)), 0);
    assert_eq!(words[1..], [1 << 20, 0, (1 << 20) - 4096, 4096]);
    assert_eq!(processes(device, 0).0, INSUFFICIENT_SIZE);
    let (end, count, infos) = processes(device, 8);
    let instances = u64::MAX;
    assert_eq!((end, count), (0, 1));
    assert_eq!(infos, [u64::from(std::process::id()), 4096, instances]);
    // The context is one of the first device.
    assert_eq!(processes(second, 8).1, 0);
    cuMemFree_v2(at).unwrap();
    assert_eq!(memory(device), [1 << 20, 1 << 20, 0]);
    assert_eq!(word(|out| nvmlDeviceGetP2PStatus(device, second, 0, out)), Ok(0));
    assert_eq!(word(|out| nvmlDeviceGetP2PStatus(device, second, 2, out)), Ok(5));
    assert_eq!(word(|out| nvmlDeviceGetP2PStatus(device, second, 5, out)), Err(INVALID_ARGUMENT));
    assert_eq!(word(|out| nvmlDeviceGetTopologyCommonAncestor(device, device, out)), Ok(0));
    assert_eq!(word(|out| nvmlDeviceGetTopologyCommonAncestor(device, second, out)), Ok(30));
    let (mut count, mut others) = (4_u32, [0_u64; 4]);
    let (at, out) = (address(&mut count), address(&mut others));
    assert_eq!(nvmlDeviceGetTopologyNearestGpus(device, 30, at, out), 0);
    assert_eq!((count, others), (1, [second, 0, 0, 0]));
}

/// The functions that programs load by name, in the shared library where one has been made.
#[test]
fn the_library_is_found_by_its_name() {
    let test = std::env::current_exe().unwrap();
    let library: PathBuf = test.parent().unwrap().join("../libnvidia-ml.so.1");
    if library.exists() {
        let bytes = std::fs::read(library).unwrap();
        for name in [&b"nvmlInit_v2\0"[..], b"nvmlErrorString\0", b"libnvidia-ml.so.1\0"] {
            assert!(bytes.windows(name.len()).any(|part| part == name));
        }
    }
}
