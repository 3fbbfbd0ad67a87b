// Lists devices by the management library, as monitors do. Exits with 1 where an answer is wrong.
#include <nvml.h>
#include <stdio.h>
#include <string.h>

#define CHECK(condition) \
  if (!(condition)) { printf("line %d: %s\n", __LINE__, #condition); return 1; }

int main(void) {
  unsigned count, index, speed, info = 0;
  nvmlDevice_t device, again;
  CHECK(nvmlDeviceGetCount(&count) == NVML_ERROR_UNINITIALIZED);
  CHECK(nvmlInit() == NVML_SUCCESS && nvmlDeviceGetCount(&count) == NVML_SUCCESS && count == 3);
  for (unsigned i = 0; i < count; ++i) {
    char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE], uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
    nvmlPciInfo_t pci;
    nvmlMemory_t memory;
    nvmlMemory_v2_t newer = {nvmlMemory_v2};
    nvmlUtilization_t utilization;
    CHECK(nvmlDeviceGetHandleByIndex(i, &device) == NVML_SUCCESS);
    CHECK(nvmlDeviceGetName(device, name, sizeof name) == NVML_SUCCESS);
    CHECK(nvmlDeviceGetUUID(device, uuid, sizeof uuid) == NVML_SUCCESS && strlen(uuid) == 40);
    CHECK(nvmlDeviceGetHandleByUUID(uuid, &again) == NVML_SUCCESS && again == device);
    CHECK(nvmlDeviceGetPciInfo(device, &pci) == NVML_SUCCESS && pci.bus == i + 1);
    CHECK(nvmlDeviceGetHandleByPciBusId(pci.busId, &again) == NVML_SUCCESS && again == device);
    CHECK(nvmlDeviceGetHandleByPciBusId(pci.busIdLegacy, &again) == NVML_SUCCESS && again == device);
    CHECK(nvmlDeviceGetIndex(device, &index) == NVML_SUCCESS && index == i);
    CHECK(nvmlDeviceGetMemoryInfo(device, &memory) == NVML_SUCCESS && memory.used + memory.free == memory.total);
    CHECK(nvmlDeviceGetMemoryInfo_v2(device, &newer) == NVML_SUCCESS && newer.total == memory.total);
    CHECK(nvmlDeviceGetUtilizationRates(device, &utilization) == NVML_SUCCESS && utilization.gpu == 0);
    CHECK(nvmlDeviceGetComputeRunningProcesses(device, &info, NULL) == NVML_SUCCESS && info == 0);
    CHECK(nvmlDeviceGetFanSpeed(device, &speed) == NVML_ERROR_NOT_SUPPORTED);
    printf("%s %s %s %llu\n", name, uuid, pci.busId, memory.total);
  }
  CHECK(nvmlDeviceGetHandleByIndex(count, &device) == NVML_ERROR_INVALID_ARGUMENT);
  CHECK(strcmp(nvmlErrorString(NVML_ERROR_NOT_SUPPORTED), "Not Supported") == 0);
  CHECK(nvmlShutdown() == NVML_SUCCESS && nvmlShutdown() == NVML_ERROR_UNINITIALIZED);
  return 0;
}
