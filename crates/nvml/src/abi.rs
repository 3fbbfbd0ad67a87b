//! Structures and constants of `nvml.h`, with its names.
#![allow(non_camel_case_types, non_snake_case, reason = "names as the header writes them")]
#![allow(missing_docs, reason = "the public documentation of the fields is NVIDIA's")]

use cuda_abi::structs;

structs! {
    NVML_LAYOUTS;

    /// Where a device is.
    nvmlPciInfo_t {
        busIdLegacy: [u8; 16],
        domain: u32,
        bus: u32,
        device: u32,
        pciDeviceId: u32,
        pciSubSystemId: u32,
        busId: [u8; 32],
    }

    /// The same, with a version.
    nvmlPciInfoExt_v1_t {
        version: u32,
        domain: u32,
        bus: u32,
        device: u32,
        pciDeviceId: u32,
        pciSubSystemId: u32,
        baseClass: u32,
        subClass: u32,
        busId: [u8; 32],
    }

    nvmlUtilization_t {
        gpu: u32,
        memory: u32,
    }

    nvmlMemory_t {
        total: u64,
        free: u64,
        used: u64,
    }

    nvmlMemory_v2_t {
        version: u32,
        total: u64,
        reserved: u64,
        free: u64,
        used: u64,
    }

    nvmlProcessInfo_v1_t {
        pid: u32,
        usedGpuMemory: u64,
    }

    nvmlProcessInfo_v2_t {
        pid: u32,
        usedGpuMemory: u64,
        gpuInstanceId: u32,
        computeInstanceId: u32,
    }

    /// An identifier, as text or as bytes.
    nvmlUUID_v1_t {
        version: u32,
        r#type: u32,
        value: [u8; 41],
    }

    nvmlFieldValue_t {
        fieldId: u32,
        scopeId: u32,
        timestamp: i64,
        latencyUsec: i64,
        valueType: i32,
        nvmlReturn: i32,
        value: u64,
    }
}

/// Declares constants, and a list of all.
macro_rules! constants {
    ($($name:ident = $number:literal;)+) => {
        $(pub const $name: u32 = $number;)+

        /// Names and numbers.
        pub const CONSTANTS: &[(&str, i64)] = &[$((stringify!($name), $number),)+];
    };
}

constants! {
    NVML_CLOCK_GRAPHICS = 0;
    NVML_CLOCK_SM = 1;
    NVML_CLOCK_MEM = 2;
    NVML_CLOCK_VIDEO = 3;
    NVML_CLOCK_ID_CURRENT = 0;
    NVML_CLOCK_ID_CUSTOMER_BOOST_MAX = 3;
    NVML_DEVICE_ARCH_KEPLER = 2;
    NVML_DEVICE_ARCH_MAXWELL = 3;
    NVML_DEVICE_ARCH_PASCAL = 4;
    NVML_DEVICE_ARCH_VOLTA = 5;
    NVML_DEVICE_ARCH_TURING = 6;
    NVML_DEVICE_ARCH_AMPERE = 7;
    NVML_DEVICE_ARCH_ADA = 8;
    NVML_DEVICE_ARCH_HOPPER = 9;
    NVML_DEVICE_ARCH_BLACKWELL = 10;
    NVML_DEVICE_ARCH_UNKNOWN = 0xffff_ffff;
    NVML_INIT_FLAG_NO_GPUS = 1;
    NVML_INIT_FLAG_NO_ATTACH = 2;
    NVML_INIT_FLAG_FORCE_INIT = 4;
    NVML_P2P_CAPS_INDEX_READ = 0;
    NVML_P2P_CAPS_INDEX_WRITE = 1;
    NVML_P2P_CAPS_INDEX_NVLINK = 2;
    NVML_P2P_CAPS_INDEX_ATOMICS = 3;
    NVML_P2P_CAPS_INDEX_PCI = 4;
    NVML_P2P_STATUS_OK = 0;
    NVML_P2P_STATUS_NOT_SUPPORTED = 5;
    NVML_TEMPERATURE_GPU = 0;
    NVML_TOPOLOGY_INTERNAL = 0;
    NVML_TOPOLOGY_SINGLE = 10;
    NVML_TOPOLOGY_MULTIPLE = 20;
    NVML_TOPOLOGY_HOSTBRIDGE = 30;
    NVML_TOPOLOGY_NODE = 40;
    NVML_TOPOLOGY_SYSTEM = 50;
    NVML_UUID_TYPE_ASCII = 1;
    NVML_UUID_TYPE_BINARY = 2;
}

/// Returns the number that a versioned structure begins with (`NVML_STRUCT_VERSION`).
pub(crate) const fn version<T>(number: u32) -> u32 {
    size_of::<T>() as u32 | number << 24
}
