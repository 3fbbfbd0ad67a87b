/* The part of libnvJitLink.so.VERSION that Rust has no words for: functions with a version in their name, as
 * nvJitLink.h calls them, and NVIDIA's library of the same name, which compiles LTO-IR to PTX (real.h looks for it).
 */
#define LIBRARY "libnvJitLink.so." VERSION
#define VARIABLE "SIMTLAB_NVJITLINK"
#define OWN "simtlab_nvjitlink_provide"
#define PROBE "nvJitLinkCreate"
#define PURPOSE "compiles LTO-IR for the virtual device"
#define PACKAGE "nvidia-nvjitlink"
#include "real.h"

#include <stdint.h>

/* Takes the function that finds those of NVIDIA's library. */
void simtlab_nvjitlink_provide(void *(*finder)(const char *name));

__attribute__((constructor)) static void provide(void) { simtlab_nvjitlink_provide(real); }

typedef void *link_handle;

/* Every function: its name, parameters, and arguments. */
#define FUNCTIONS(F, version)                                                                              \
    F(Create, version, (link_handle *made, uint32_t count, const char **options), (made, count, options))  \
    F(Destroy, version, (link_handle *link), (link))                                                       \
    F(AddData, version, (link_handle link, int kind, const void *data, size_t size, const char *name),     \
      (link, kind, data, size, name))                                                                      \
    F(AddFile, version, (link_handle link, int kind, const char *path), (link, kind, path))                \
    F(Complete, version, (link_handle link), (link))                                                       \
    F(GetLinkedCubinSize, version, (link_handle link, size_t *size), (link, size))                         \
    F(GetLinkedCubin, version, (link_handle link, void *code), (link, code))                               \
    F(GetLinkedPtxSize, version, (link_handle link, size_t *size), (link, size))                           \
    F(GetLinkedPtx, version, (link_handle link, char *text), (link, text))                                 \
    F(GetLinkedLTOIRSize, version, (link_handle link, size_t *size), (link, size))                         \
    F(GetLinkedLTOIR, version, (link_handle link, void *code), (link, code))                               \
    F(GetErrorLogSize, version, (link_handle link, size_t *size), (link, size))                            \
    F(GetErrorLog, version, (link_handle link, char *text), (link, text))                                  \
    F(GetInfoLogSize, version, (link_handle link, size_t *size), (link, size))                             \
    F(GetInfoLog, version, (link_handle link, char *text), (link, text))

#define DECLARE(name, version, parameters, arguments) int nvJitLink##name parameters;
FUNCTIONS(DECLARE, )

#define NAMED(name, version) __nvJitLink##name##_##version
#define FORWARD(name, version, parameters, arguments) \
    int NAMED(name, version) parameters { return nvJitLink##name arguments; }

/* The versions of CUDA's toolkits so far, and the next ones. */
#if MAJOR == 12
FUNCTIONS(FORWARD, 12_0) FUNCTIONS(FORWARD, 12_1) FUNCTIONS(FORWARD, 12_2) FUNCTIONS(FORWARD, 12_3)
FUNCTIONS(FORWARD, 12_4) FUNCTIONS(FORWARD, 12_5) FUNCTIONS(FORWARD, 12_6) FUNCTIONS(FORWARD, 12_7)
FUNCTIONS(FORWARD, 12_8) FUNCTIONS(FORWARD, 12_9)
#else
FUNCTIONS(FORWARD, 13_0) FUNCTIONS(FORWARD, 13_1) FUNCTIONS(FORWARD, 13_2) FUNCTIONS(FORWARD, 13_3)
FUNCTIONS(FORWARD, 13_4) FUNCTIONS(FORWARD, 13_5) FUNCTIONS(FORWARD, 13_6) FUNCTIONS(FORWARD, 13_7)
FUNCTIONS(FORWARD, 13_8) FUNCTIONS(FORWARD, 13_9)
#endif
