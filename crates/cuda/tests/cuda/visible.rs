//! `CUDA_VISIBLE_DEVICES`: which devices a program sees. The driver reads the variable once, so the
//! calls are made in processes of their own.

use std::process::Command;

use cuda::Status;
use cuda::exports::free::*;
use cuda::exports::general::*;
use cuda_abi::host::{address, get};
use cuda_abi::{Abi as _, DeviceStatus};

use crate::common::{at, is, ok};

/// Runs a test of this program with a list of devices, of three.
fn run(test: &str, list: &str) {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored"])
        .env("SIMTLAB_DEVICES", "3")
        .env("CUDA_VISIBLE_DEVICES", list)
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
}

#[test]
fn devices_are_those_of_a_list() {
    run("visible::has_the_last_and_the_first", "2,0");
    run("visible::has_none", "");
}

#[test]
#[ignore = "run by the other test, with a list"]
fn has_the_last_and_the_first() {
    ok(cuInit(0));
    let mut count = 0;
    ok(cuDeviceGetCount(at(&mut count)));
    assert_eq!(count, 2);
    is(cuDeviceGet(at(&mut count), 2), Status::INVALID_DEVICE);
    for (ordinal, device) in [(0, 2), (1, 0)] {
        let mut name = [0_u8; 32];
        ok(cuDeviceGetName(at(&mut name), 32, ordinal));
        assert_eq!(name[..25], *format!("Simtlab virtual device {device}\0").as_bytes());
        let (mut uuid, mut place, mut bus, mut found) = ([0_u8; 16], [0_u8; 13], 0, -1);
        ok(cuDeviceGetUuid(at(&mut uuid), ordinal));
        assert_eq!(uuid, *format!("simtlab-device-{device}").as_bytes());
        ok(cuDeviceGetPCIBusId(at(&mut place), 13, ordinal));
        assert_eq!(place, *format!("0000:{:02X}:00.0\0", device + 1).as_bytes());
        ok(cuDeviceGetAttribute(at(&mut bus), 33, ordinal));
        assert_eq!(bus, device + 1);
        ok(cuDeviceGetByPCIBusId(at(&mut found), at(&mut place)));
        assert_eq!(found, ordinal);
    }
    let hidden = c"0000:02:00.0";
    is(cuDeviceGetByPCIBusId(at(&mut count), hidden.as_ptr().addr()), Status::INVALID_DEVICE);
    // Management sees all devices: the context is one of the last.
    let mut context = 0_u64;
    ok(cuCtxCreate_v2(at(&mut context), 0, 0));
    let contexts = [0, 1, 2].map(|device| {
        let mut status = DeviceStatus::zeroed();
        ok(simtlab_device(at(&mut status), device));
        let status = get::<DeviceStatus>(address(&status)).unwrap();
        assert_eq!(status.devices, 3);
        status.contexts
    });
    assert_eq!(contexts, [0, 0, 1]);
}

#[test]
#[ignore = "run by the other test, with an empty list"]
fn has_none() {
    is(cuInit(0), Status::NO_DEVICE);
    let mut count = 0;
    is(cuDeviceGetCount(at(&mut count)), Status::NOT_INITIALIZED);
}
