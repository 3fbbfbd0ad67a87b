//! Attributes of kernels and launches that the headers of CUDA 13.5 list, with their values.

use std::process::Command;

use cuda::Status;
use cuda::exports::code::*;
use cuda::exports::copies::*;
use cuda::exports::free::*;
use cuda::exports::general::*;
use cuda::exports::graphs::*;
use cuda_abi::{CUlaunchAttribute, CUlaunchConfig};

use crate::common::memory::alloc;
use crate::common::{at, is, ok, written};

const MAX_DYNAMIC: i32 = 8;
const CLUSTER: [i32; 3] = [11, 12, 13];
const SHARED_MODE: i32 = 17;
const PORTABLE: i32 = 1;
const OVERSIZED: i32 = 3;

/// `dynamic` has 1024 bytes of shared memory; `width` writes the blocks of its cluster in x.
const PTX: &str = "
    .version 8.0
    .target sm_90
    .address_size 64
    .visible .entry dynamic() {
        .shared .align 4 .b8 fixed[1024];
        st.shared.u8 [fixed], 1;
        ret;
    }
    .visible .entry width(.param .u64 at) {
        .reg .b64 %a; .reg .b32 %n;
        ld.param.u64 %a, [at];
        mov.u32 %n, %cluster_nctaid.x;
        st.global.u32 [%a], %n;
        ret;
    }
    .visible .entry declared() .reqnctapercluster 2 { ret; }\0";

/// Returns a context, which becomes this thread's current one, and the functions of the module.
fn functions() -> (u64, [u64; 3]) {
    ok(cuInit(0));
    let context = written(|out| cuCtxCreate_v2(out, 0, 0));
    let module = written(|out| cuModuleLoadData(out, PTX.as_ptr().addr()));
    let function = |name: &std::ffi::CStr| {
        written(|out| cuModuleGetFunction(out, module, name.as_ptr().addr()))
    };
    (context, [c"dynamic", c"width", c"declared"].map(function))
}

fn attribute(function: u64, attribute: i32) -> i32 {
    written(|out| cuFuncGetAttribute(out, attribute, function)) as i32
}

/// Launches with attributes: numbers, and the first words of values.
fn launch(function: u64, blocks: u32, shared: u32, list: &[(i32, [u32; 3])], param: u64) -> i32 {
    let mut attributes: Vec<CUlaunchAttribute> = list
        .iter()
        .map(|&(id, [x, y, z])| {
            let mut value = [0; 16];
            value[..3].copy_from_slice(&[x, y, z]);
            CUlaunchAttribute { id, pad: [0; 4], value }
        })
        .collect();
    let mut config = CUlaunchConfig {
        gridDimX: blocks,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: shared,
        hStream: 0,
        attrs: attributes.as_mut_ptr().expose_provenance(),
        numAttrs: attributes.len() as u32,
    };
    let mut param = param;
    let mut params = [at(&mut param)];
    cuLaunchKernelEx(at(&mut config), function, at(&mut params), 0)
}

#[test]
fn values_that_have_no_effect_are_kept_and_wrong_ones_refused() {
    let (context, [function, ..]) = functions();
    // By the header: the preferred share in percent, whether clusters may be of a size that not
    // every device has, where the blocks of clusters run, the mode of shared memory.
    let ranges = [(9, -1, 100, -1), (14, 0, 1, 0), (15, 0, 3, 0), (SHARED_MODE, 0, 4, 0)];
    for (number, least, most, default) in ranges {
        assert_eq!(attribute(function, number), default, "{number}");
        for value in [most, least] {
            ok(cuFuncSetAttribute(function, number, value));
            assert_eq!(attribute(function, number), value, "{number}");
            ok(cuKernelSetAttribute(number, value, function, 0));
        }
        for value in [least - 1, most + 1, i32::MIN, i32::MAX] {
            is(cuFuncSetAttribute(function, number, value), Status::INVALID_VALUE);
        }
        assert_eq!(attribute(function, number), least, "{number}");
    }
    // The architecture of the text, and that of the device.
    assert_eq!((attribute(function, 5), attribute(function, 6)), (90, 80));
    // Those that can be read alone, and numbers that are none.
    assert_eq!(attribute(function, 16), 0);
    for number in [0, 1, 2, 3, 4, 5, 6, 7, 16, 18, -1, i32::MAX] {
        is(cuFuncSetAttribute(function, number, 1), Status::INVALID_VALUE);
    }
    is(cuFuncSetAttribute(12345, SHARED_MODE, 1), Status::INVALID_HANDLE);
    ok(cuCtxDestroy_v2(context));
}

#[test]
fn modes_of_shared_memory_limit_launches() {
    let (context, [function, ..]) = functions();
    let of_device = |number| written(|out| cuDeviceGetAttribute(out, number, 0)) as u32;
    // What a block has, and what it may have if it asks: both with the kernel's own 1024 bytes.
    let (portable, most) = (of_device(8) - 1024, of_device(97) - 1024);
    assert_eq!(of_device(150), of_device(97));
    let run = |shared: u32, list: &[(i32, [u32; 3])]| launch(function, 1, shared, list, 0);
    ok(run(portable, &[]));
    is(run(portable + 1, &[]), Status::INVALID_VALUE);
    for mode in [2, 3, 4] {
        ok(cuFuncSetAttribute(function, SHARED_MODE, mode));
        ok(run(most, &[]));
        is(run(most + 1, &[]), Status::INVALID_VALUE);
        // The launch's own mode comes first; the default one leaves it to the function.
        is(run(most, &[(18, [PORTABLE as u32, 0, 0])]), Status::INVALID_VALUE);
        ok(run(most, &[(18, [0; 3])]));
    }
    ok(cuFuncSetAttribute(function, SHARED_MODE, PORTABLE));
    ok(cuFuncSetAttribute(function, MAX_DYNAMIC, most as i32));
    is(run(portable + 1, &[]), Status::INVALID_VALUE);
    ok(run(most, &[(18, [OVERSIZED as u32, 0, 0])]));
    is(run(0, &[(18, [5, 0, 0])]), Status::INVALID_VALUE);
    ok(cuFuncSetAttribute(function, SHARED_MODE, 0));
    ok(run(most, &[]));
    ok(cuCtxDestroy_v2(context));
}

#[test]
fn clusters_that_are_set_of_a_kernel_are_those_of_its_launches() {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "attributes::clusters_of_a_device_that_has_them", "--ignored"])
        .env("SIMTLAB_COMPUTE_CAPABILITY", "9.0")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "run by the other test, with a device of compute capability 9.0"]
fn clusters_of_a_device_that_has_them() {
    let (context, [_, function, declared]) = functions();
    let word = alloc(4);
    let width = || written(|out| cuMemcpyDtoH_v2(out, word, 4));
    ok(launch(function, 8, 0, &[], word));
    assert_eq!(width(), 1);
    ok(cuFuncSetAttribute(function, CLUSTER[0], 4));
    assert_eq!(attribute(function, CLUSTER[0]), 4);
    // All three, or none.
    is(launch(function, 8, 0, &[], word), Status::INVALID_CLUSTER_SIZE);
    ok(cuFuncSetAttribute(function, CLUSTER[1], 1));
    ok(cuFuncSetAttribute(function, CLUSTER[2], 1));
    ok(launch(function, 8, 0, &[], word));
    assert_eq!(width(), 4);
    ok(launch(function, 8, 0, &[(4, [4, 1, 1])], word));
    is(launch(function, 8, 0, &[(4, [2, 1, 1])], word), Status::INVALID_CLUSTER_SIZE);
    is(launch(function, 6, 0, &[], word), Status::INVALID_CLUSTER_SIZE);
    ok(cuFuncSetAttribute(function, CLUSTER[2], i32::MAX));
    is(launch(function, 8, 0, &[], word), Status::INVALID_CLUSTER_SIZE);
    is(cuFuncSetAttribute(function, CLUSTER[2], -1), Status::INVALID_VALUE);
    for number in CLUSTER {
        ok(cuFuncSetAttribute(function, number, 0));
        is(cuFuncSetAttribute(declared, number, 2), Status::NOT_PERMITTED);
    }
    ok(launch(function, 8, 0, &[], word));
    assert_eq!(width(), 1);
    assert_eq!(CLUSTER.map(|number| attribute(declared, number)), [2, 1, 1]);
    assert_eq!((attribute(declared, 10), attribute(function, 10)), (1, 0));
    ok(cuCtxDestroy_v2(context));
}

#[test]
fn nodes_keep_the_mode_of_shared_memory() {
    let (context, [function, ..]) = functions();
    let graph = written(|out| cuGraphCreate(out, 0));
    let node = || {
        let mut params = [0_u64; 9];
        params[0] = function;
        let grid = [1_u32, 1, 1, 1, 1, 1, 0, 0];
        for (word, pair) in params[1..].iter_mut().zip(grid.chunks(2)) {
            *word = u64::from(pair[0]) | u64::from(pair[1]) << 32;
        }
        written(|out| cuGraphAddKernelNode_v2(out, graph, 0, 0, at(&mut params)))
    };
    let [first, second] = [node(), node()];
    let mut value = [OVERSIZED as u32; 16];
    ok(cuGraphKernelNodeSetAttribute(first, 18, at(&mut value)));
    ok(cuGraphKernelNodeCopyAttributes(second, first));
    let mut kept = [0_u32; 16];
    ok(cuGraphKernelNodeGetAttribute(second, 18, at(&mut kept)));
    assert_eq!(std::hint::black_box(&kept)[0], OVERSIZED as u32);
    value[0] = 5;
    is(cuGraphKernelNodeSetAttribute(first, 18, at(&mut value)), Status::INVALID_VALUE);
    ok(cuGraphDestroy(graph));
    ok(cuCtxDestroy_v2(context));
}
