"""NVML's answers beside those of the driver API: devices before `fork`, memory, processes, how much of the time kernels run."""

import os
import time

import pynvml as nvml
from checks import check, run
from cuda.bindings import driver

# One thread counts to 2 million.
PTX = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry count() {
  .reg .pred %p;
  .reg .b32 %i;
  mov.u32 %i, 0;
LOOP:
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, 2000000;
  @%p bra LOOP;
  ret;
}
\0"""


def ok(result):
    status, *values = result
    assert int(status) == 0, status
    return values[0] if len(values) == 1 else tuple(values)


def refused(status, call, *arguments):
    try:
        call(*arguments)
    except nvml.NVMLError as error:
        assert error.value == status, error
    else:
        raise AssertionError(call)


def context():
    ok(driver.cuInit(0))
    ok(driver.cuCtxSetCurrent(ok(driver.cuDevicePrimaryCtxRetain(0))))


@check
def devices_can_be_counted_before_a_fork():
    assert nvml.nvmlDeviceGetCount() == 1
    child = os.fork()
    if child == 0:
        os._exit(int(driver.cuInit(0)[0]))
    assert os.waitpid(child, 0)[1] == 0


@check
def a_device_is_what_the_driver_says():
    context()
    assert nvml.nvmlDeviceGetName(device) == ok(driver.cuDeviceGetName(96, 0)).split(b"\0")[0].decode()
    uuid = nvml.nvmlDeviceGetUUID(device)
    assert uuid.replace("-", "")[3:] == ok(driver.cuDeviceGetUuid(0)).bytes.hex()
    assert nvml.nvmlDeviceGetIndex(nvml.nvmlDeviceGetHandleByUUID(uuid)) == 0
    assert nvml.nvmlSystemGetCudaDriverVersion() == ok(driver.cuDriverGetVersion())
    attribute = driver.CUdevice_attribute
    kilohertz = ok(driver.cuDeviceGetAttribute(attribute.CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 0))
    assert nvml.nvmlDeviceGetClockInfo(device, nvml.NVML_CLOCK_SM) * 1000 == kilohertz
    parts = (attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
    assert nvml.nvmlDeviceGetCudaComputeCapability(device) == tuple(ok(driver.cuDeviceGetAttribute(part, 0)) for part in parts)
    assert nvml.nvmlDeviceGetPciInfo(device).busId[4:] == ok(driver.cuDeviceGetPCIBusId(32, 0)).split(b"\0")[0].decode()


@check
def memory_and_processes_are_those_of_this_process():
    context()
    pointer = ok(driver.cuMemAlloc(3 << 20))
    free, total = ok(driver.cuMemGetInfo())
    info = nvml.nvmlDeviceGetMemoryInfo(device, version=nvml.nvmlMemory_v2)
    assert (info.total, info.free, info.used) == (total, free, total - free)
    (process,) = nvml.nvmlDeviceGetComputeRunningProcesses(device)
    assert (process.pid, process.usedGpuMemory) == (os.getpid(), total - free)
    assert nvml.nvmlDeviceGetGraphicsRunningProcesses(device) == []
    ok(driver.cuMemFree(pointer))
    assert nvml.nvmlDeviceGetMemoryInfo(device).used == info.used - (3 << 20)


@check
def kernels_are_work():
    context()
    time.sleep(0.3)
    nvml.nvmlDeviceGetUtilizationRates(device)
    time.sleep(0.3)
    assert nvml.nvmlDeviceGetUtilizationRates(device).gpu == 0
    kernel = ok(driver.cuModuleGetFunction(ok(driver.cuModuleLoadData(PTX)), b"count"))
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        ok(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0))
    assert nvml.nvmlDeviceGetUtilizationRates(device).gpu > 50


@check
def what_a_virtual_device_has_not():
    refused(nvml.NVML_ERROR_NOT_SUPPORTED, nvml.nvmlDeviceGetTemperature, device, nvml.NVML_TEMPERATURE_GPU)
    refused(nvml.NVML_ERROR_NOT_SUPPORTED, nvml.nvmlDeviceGetPowerUsage, device)
    refused(nvml.NVML_ERROR_NOT_SUPPORTED, nvml.nvmlDeviceGetFanSpeed, device)
    refused(nvml.NVML_ERROR_NOT_SUPPORTED, nvml.nvmlDeviceGetNvLinkState, device, 0)
    refused(nvml.NVML_ERROR_INVALID_ARGUMENT, nvml.nvmlDeviceGetHandleByIndex, 1)
    refused(nvml.NVML_ERROR_NOT_FOUND, nvml.nvmlDeviceGetHandleByUUID, "GPU-0")
    assert nvml.nvmlDeviceGetMigMode(device) == [0, 0]
    assert nvml.nvmlDeviceGetFieldValues(device, [nvml.NVML_FI_DEV_POWER_INSTANT])[0].nvmlReturn == nvml.NVML_ERROR_NOT_SUPPORTED


nvml.nvmlInit()
device = nvml.nvmlDeviceGetHandleByIndex(0)
run()
