//! The table of devices: rows by capability, limits as options name them.

use ir::device::{Capability, Device, Limits, NoCapability, parameter_bytes};

fn of(text: &str) -> &'static Device {
    Device::of(text.parse().unwrap())
}

#[test]
fn rows_are_found_by_capability() {
    let kib = |text: &str| (of(text).shared >> 10, of(text).shared_opt_in >> 10);
    assert_eq!(kib("7.5"), (64, 64));
    assert_eq!(kib("8.0"), (164, 163));
    assert_eq!([kib("8.6"), kib("8.9"), kib("12.0")], [(100, 99); 3]);
    assert_eq!([kib("9.0"), kib("10.0")], [(228, 227); 2]);
    assert_eq!((of("8.9").threads, of("8.9").blocks), (1536, 24));
    // Between two rows, before the first and behind the last.
    assert_eq!(of("7.2"), of("7.0"));
    assert_eq!(of("10.3"), of("10.0"));
    assert_eq!((of("3.5"), of("13.0")), (of("5.0"), of("12.0")));
    assert_eq!(Capability::of_target(103).to_string(), "10.3");
}

#[test]
fn limits_are_read() {
    let capability = Capability { major: 9, minor: 0 };
    assert_eq!("9.0".parse(), Ok(Limits::Of(capability)));
    assert_eq!(("none".parse(), "target".parse()), (Ok(Limits::None), Ok(Limits::OfTarget)));
    for wrong in ["", "9", "9.", ".0", "-1.0", "9.10", "100.0", "sm_90"] {
        assert_eq!(wrong.parse::<Limits>(), Err(NoCapability), "{wrong}");
    }
    assert_eq!(Limits::OfTarget.device(Some(capability)).map(|d| d.shared_opt_in), Some(227 << 10));
    assert_eq!(Limits::OfTarget.device(None), None);
    assert_eq!(Limits::None.device(Some(capability)), None);
}

#[test]
fn parameters_grew_with_ptx_8_1_and_sm_70() {
    assert_eq!(parameter_bytes((8, 1), 70), 32_764);
    assert_eq!(parameter_bytes((9, 0), 90), 32_764);
    assert_eq!(parameter_bytes((8, 0), 90), 4352);
    assert_eq!(parameter_bytes((8, 1), 61), 4352);
}

#[test]
fn threads_blocks_and_shared_memory_limit_what_is_resident() {
    for (capability, (threads, shared), blocks) in [
        (80, (1, 0), 512),
        (80, (64, 0), 512),
        (80, (65, 0), 21 * 16),
        (80, (256, 0), 128),
        (80, (1024, 0), 32),
        (80, (32, 48 << 10), 48),
        (80, (1024, 100 << 10), 16),
        (80, (1024, 1 << 30), 16),
        (75, (1, 0), 256),
        (50, (1, 0), 512),
    ] {
        let device = Device::of(Capability::of_target(capability));
        let found = device.resident_blocks(threads, shared);
        assert_eq!(found, blocks, "{capability}: {threads} {shared}");
    }
}
