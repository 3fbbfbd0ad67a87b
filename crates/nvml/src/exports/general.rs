//! What the device answers.

use cuda_abi::host::Ptr;

use crate::abi::{nvmlProcessInfo_v1_t, nvmlProcessInfo_v2_t};
use crate::library::{initialise, outside as run, shut_down};
use crate::query::{constant, put_u32};
use crate::status::Status;
use crate::{process, query, system, utilization};

macro_rules! initialising {
    ($($name:ident($($arg:ident: $ty:ty)?) => $body:expr;)+) => {
        $(
            #[unsafe(no_mangle)]
            pub extern "C" fn $name($($arg: $ty)?) -> i32 {
                run(|| $body)
            }
        )+

        /// Lists functions for which the library need not be initialised.
        pub(super) fn outside() -> Vec<(&'static str, usize)> {
            vec![$((stringify!($name), $name as *const () as usize)),+]
        }
    };
}

initialising! {
    nvmlInit() => initialise(0);
    nvmlInit_v2() => initialise(0);
    nvmlInitWithFlags(flags: u32) => initialise(flags);
    nvmlShutdown() => shut_down();
}

/// Returns a description, a C string that stays.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(status: i32) -> *const std::ffi::c_char {
    Status(status).text().as_ptr()
}

cuda_abi::exports! {
    enter;
    // The system.
    nvmlSystemGetDriverVersion(out: Ptr, room: u32) => system::driver_version(out, room);
    nvmlSystemGetNVMLVersion(out: Ptr, room: u32) => system::nvml_version(out, room);
    nvmlSystemGetCudaDriverVersion | nvmlSystemGetCudaDriverVersion_v2 (out: Ptr)
        => system::cuda_version(out);
    nvmlSystemGetProcessName(pid: u32, out: Ptr, room: u32)
        => system::process_name(pid, out, room);
    nvmlUnitGetCount(out: Ptr) => put_u32(out, 0);
    nvmlGetExcludedDeviceCount(out: Ptr) => put_u32(out, 0);

    // Handles.
    nvmlDeviceGetCount | nvmlDeviceGetCount_v2 (out: Ptr) => query::count(out);
    nvmlDeviceGetHandleByIndex | nvmlDeviceGetHandleByIndex_v2 (index: u32, out: Ptr)
        => query::handle_by_index(index, out);
    nvmlDeviceGetHandleByUUID(uuid: Ptr, out: Ptr) => query::handle_by_uuid(uuid, out);
    nvmlDeviceGetHandleByUUIDV(uuid: Ptr, out: Ptr) => query::handle_by_uuid_struct(uuid, out);
    nvmlDeviceGetHandleBySerial(serial: Ptr, out: Ptr) => query::handle_by_serial(serial, out);
    nvmlDeviceGetHandleByPciBusId | nvmlDeviceGetHandleByPciBusId_v2 (id: Ptr, out: Ptr)
        => query::handle_by_bus_id(id, out);

    // What a device is.
    nvmlDeviceGetIndex | nvmlDeviceGetMinorNumber (device: u64, out: Ptr)
        => query::index(device, out);
    nvmlDeviceGetName(device: u64, out: Ptr, room: u32) => query::name(device, out, room);
    nvmlDeviceGetUUID(device: u64, out: Ptr, room: u32) => query::uuid(device, out, room);
    nvmlDeviceGetCudaComputeCapability(device: u64, major: Ptr, minor: Ptr)
        => query::capability(device, major, minor);
    nvmlDeviceGetArchitecture(device: u64, out: Ptr) => query::architecture(device, out);
    nvmlDeviceGetPciInfo(device: u64, out: Ptr) => query::old_pci_info(device, out, 0);
    nvmlDeviceGetPciInfo_v2(device: u64, out: Ptr) => query::old_pci_info(device, out, 1);
    nvmlDeviceGetPciInfo_v3(device: u64, out: Ptr) => query::pci_info(device, out);
    nvmlDeviceGetPciInfoExt(device: u64, out: Ptr) => query::extended_pci_info(device, out);
    nvmlDeviceGetMemoryBusWidth(device: u64, out: Ptr) => query::bus_width(device, out);
    nvmlDeviceGetBoardId(device: u64, out: Ptr) => query::board(device, out);
    // Zero is: an unknown brand, no board with several devices, no fan, every process may compute,
    // no persistence, no screen, no virtualisation, no part of a device.
    nvmlDeviceGetBrand | nvmlDeviceGetMultiGpuBoard | nvmlDeviceGetNumFans
        | nvmlDeviceGetComputeMode | nvmlDeviceGetPersistenceMode | nvmlDeviceGetDisplayMode
        | nvmlDeviceGetDisplayActive | nvmlDeviceGetVirtualizationMode
        | nvmlDeviceIsMigDeviceHandle | nvmlDeviceGetMaxMigDeviceCount (device: u64, out: Ptr)
        => constant(device, out, 0);
    nvmlDeviceGetMigMode(device: u64, current: Ptr, pending: Ptr)
        => query::off(device, current, pending);
    nvmlDeviceGetMigDeviceHandleByIndex(device: u64, _index: u32, _out: Ptr)
        => query::no_part(device);

    // What a device does.
    nvmlDeviceGetMemoryInfo(device: u64, out: Ptr) => query::memory(device, out);
    nvmlDeviceGetMemoryInfo_v2(device: u64, out: Ptr) => query::memory_with_version(device, out);
    nvmlDeviceGetUtilizationRates(device: u64, out: Ptr) => utilization::rates(device, out);
    nvmlDeviceGetClockInfo | nvmlDeviceGetMaxClockInfo (device: u64, kind: u32, out: Ptr)
        => query::clock(device, kind, out);
    nvmlDeviceGetClock(device: u64, kind: u32, id: u32, out: Ptr)
        => query::clock_by_id(device, kind, id, out);
    nvmlDeviceGetTemperature(device: u64, sensor: u32, _out: Ptr)
        => query::temperature(device, sensor);
    nvmlDeviceGetFieldValues(device: u64, count: i32, values: Ptr)
        => query::fields(device, count, values);

    // Processes.
    nvmlDeviceGetComputeRunningProcesses(device: u64, count: Ptr, out: Ptr)
        => process::computing::<nvmlProcessInfo_v1_t>(device, count, out);
    nvmlDeviceGetComputeRunningProcesses_v2 | nvmlDeviceGetComputeRunningProcesses_v3
        (device: u64, count: Ptr, out: Ptr)
        => process::computing::<nvmlProcessInfo_v2_t>(device, count, out);
    nvmlDeviceGetGraphicsRunningProcesses | nvmlDeviceGetGraphicsRunningProcesses_v2
        | nvmlDeviceGetGraphicsRunningProcesses_v3 | nvmlDeviceGetMPSComputeRunningProcesses
        | nvmlDeviceGetMPSComputeRunningProcesses_v2 | nvmlDeviceGetMPSComputeRunningProcesses_v3
        (device: u64, count: Ptr, _out: Ptr)
        => process::none(device, count);

    // How devices are connected.
    nvmlDeviceOnSameBoard(one: u64, other: u64, out: Ptr) => query::same_board(one, other, out);
    nvmlDeviceGetTopologyCommonAncestor(one: u64, other: u64, out: Ptr)
        => query::common_ancestor(one, other, out);
    nvmlDeviceGetTopologyNearestGpus(device: u64, level: u32, count: Ptr, out: Ptr)
        => query::nearest(device, level, count, out);
    nvmlDeviceGetP2PStatus(one: u64, other: u64, way: u32, out: Ptr)
        => query::p2p_status(one, other, way, out);
}
