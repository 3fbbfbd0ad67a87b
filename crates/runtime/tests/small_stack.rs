//! Hostile texts loaded from threads with small stacks, and limits of devices at launches.

use ir::device::Limits;
use runtime::{Context, Failure, Module, Settings, Shape};

const HEAD: &str = ".version 8.1 .target sm_80 .address_size 64\n";

#[test]
fn hostile_texts_are_read_from_threads_with_small_stacks() {
    let brackets = format!(
        "{HEAD}.entry k() {{ .reg .b32 %r; mov.b32 %r, {}1{}; ret; }}",
        "(".repeat(200_000),
        ")".repeat(200_000)
    );
    let calls: String =
        (0..3000).map(|i| format!(".func f{i}() {{ call f{}; ret; }}\n", (i + 1) % 3000)).collect();
    let declared: String = (0..3000).map(|i| format!(".func f{i}();\n")).collect();
    let calls = format!("{HEAD}{declared}{calls}.entry k() {{ call f0; ret; }}");
    let load = move || {
        let nested = Module::load("brackets", &brackets).unwrap_err().to_string();
        assert!(nested.contains("nested too deeply"), "{nested}");
        assert!(Module::check("brackets", &brackets).is_err());
        assert!(Module::link(&[("brackets", &brackets), ("calls", &calls)]).is_err());
        let end = Module::load("calls", &calls);
        assert!(end.is_ok(), "{end:?}");
    };
    std::thread::Builder::new().stack_size(64 << 10).spawn(load).unwrap().join().unwrap();
}

/// What becomes of a launch with dynamic shared memory beside 4 KiB of fixed size.
fn launch(target: &str, device: Limits, shared: u64) -> Result<(), String> {
    let text = format!(
        ".version 8.1 .target {target} .address_size 64
        .shared .align 4 .b8 fixed[4096]; .extern .shared .align 4 .b8 rest[];
        .entry k() {{ .reg .b32 %r; mov.u32 %r, fixed; st.shared.u32 [%r], 1; mov.u32 %r, rest;
            st.shared.u32 [%r], 1; ret; }}"
    );
    let module = Module::load("k", &text).unwrap();
    let mut context = Context::new(Settings { device, ..Settings::default() });
    let id = context.load(&module).unwrap();
    let shape = Shape { grid: [1; 3], block: [1; 3], shared, cooperative: false, cluster: None };
    match context.launch(id, module.kernel("k").unwrap(), shape, &[]) {
        Ok(_) => Ok(()),
        Err(Failure::Refused(error)) => Err(error.to_string()),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn launches_keep_the_limit_of_the_target_or_of_a_device() {
    let refused = |given: u64, most: u64| {
        Err(format!("{given} bytes of shared memory: at most {most} are possible"))
    };
    let target = Limits::OfTarget;
    assert_eq!(launch("sm_80", target, (163 << 10) - 4096), Ok(()));
    assert_eq!(launch("sm_80", target, 163 << 10), refused((163 << 10) + 4096, 163 << 10));
    assert_eq!(launch("sm_86", target, 99 << 10), refused((99 << 10) + 4096, 99 << 10));
    assert_eq!(launch("sm_90a", target, 200 << 10), Ok(()));
    assert_eq!(launch("sm_80", "9.0".parse().unwrap(), 200 << 10), Ok(()));
    let small = launch("sm_90", "7.5".parse().unwrap(), 64 << 10);
    assert_eq!(small, refused((64 << 10) + 4096, 64 << 10));
    assert_eq!(launch("sm_80", Limits::None, 512 << 10), Ok(()));
}
