/* libnvrtc.so.VERSION: NVIDIA's compiler for source code at run time, with PTX where it gives machine code.
 *
 * The virtual device runs PTX. A program that compiles for a real architecture (sm_80) loads what nvrtcGetCUBIN
 * returns; that is the PTX of the same compilation here, which the driver takes as an image like any other. Every
 * other public function is forwarded as it is to NVIDIA's library of the same version, which real.h looks for.
 * Without it, functions return NVRTC_ERROR_INTERNAL_ERROR, and one line on the standard error stream says what is
 * missing.
 */
#define LIBRARY "libnvrtc.so." VERSION
#define VARIABLE "SIMTLAB_NVRTC"
#define OWN "simtlab_nvrtc"
#define PROBE "nvrtcCreateProgram"
#define PURPOSE "compiles for the virtual device"
#define PACKAGE "nvidia-cuda-nvrtc"
#include "real.h"

#define INTERNAL_ERROR 11

typedef void *program;

/* By this function a library of ours is known. */
int simtlab_nvrtc(void) { return 1; }

#define FORWARD(name, parameters, arguments)          \
    int name parameters                               \
    {                                                 \
        int (*function) parameters = real(#name);     \
        return function ? function arguments : INTERNAL_ERROR; \
    }

FORWARD(nvrtcVersion, (int *major, int *minor), (major, minor))
FORWARD(nvrtcGetNumSupportedArchs, (int *count), (count))
FORWARD(nvrtcGetSupportedArchs, (int *architectures), (architectures))
FORWARD(nvrtcCreateProgram,
        (program *made, const char *source, const char *name, int count, const char *const *headers,
         const char *const *names),
        (made, source, name, count, headers, names))
FORWARD(nvrtcDestroyProgram, (program *p), (p))
FORWARD(nvrtcCompileProgram, (program p, int count, const char *const *options), (p, count, options))
FORWARD(nvrtcGetPTXSize, (program p, size_t *size), (p, size))
FORWARD(nvrtcGetPTX, (program p, char *text), (p, text))
FORWARD(nvrtcGetLTOIRSize, (program p, size_t *size), (p, size))
FORWARD(nvrtcGetLTOIR, (program p, char *code), (p, code))
FORWARD(nvrtcGetOptiXIRSize, (program p, size_t *size), (p, size))
FORWARD(nvrtcGetOptiXIR, (program p, char *code), (p, code))
FORWARD(nvrtcGetTileIRSize, (program p, size_t *size), (p, size))
FORWARD(nvrtcGetTileIR, (program p, char *code), (p, code))
FORWARD(nvrtcGetNVVMSize, (program p, size_t *size), (p, size))
FORWARD(nvrtcGetNVVM, (program p, char *code), (p, code))
FORWARD(nvrtcGetProgramLogSize, (program p, size_t *size), (p, size))
FORWARD(nvrtcGetProgramLog, (program p, char *text), (p, text))
FORWARD(nvrtcAddNameExpression, (program p, const char *expression), (p, expression))
FORWARD(nvrtcGetLoweredName, (program p, const char *expression, const char **name), (p, expression, name))
FORWARD(nvrtcGetPCHHeapSize, (size_t *size), (size))
FORWARD(nvrtcSetPCHHeapSize, (size_t size), (size))
FORWARD(nvrtcGetPCHCreateStatus, (program p), (p))
FORWARD(nvrtcGetPCHHeapSizeRequired, (program p, size_t *size), (p, size))
FORWARD(nvrtcSetFlowCallback, (program p, int (*callback)(void *, void *), void *payload), (p, callback, payload))
FORWARD(nvrtcInstallBundledHeaders, (const char *folder, unsigned flags, const char **log), (folder, flags, log))
FORWARD(nvrtcRemoveBundledHeaders, (const char *folder, const char **log), (folder, log))
FORWARD(nvrtcGetBundledHeadersInfo, (void *info, const char **log), (info, log))

/* Whether the last compilation gave machine code. */
static int has_code(program p)
{
    int (*size_of_code)(program, size_t *) = real("nvrtcGetCUBINSize");
    size_t size = 0;
    return size_of_code && !size_of_code(p, &size) && size > 0;
}

int nvrtcGetCUBINSize(program p, size_t *size)
{
    int (*function)(program, size_t *) = real(size && has_code(p) ? "nvrtcGetPTXSize" : "nvrtcGetCUBINSize");
    return function ? function(p, size) : INTERNAL_ERROR;
}

int nvrtcGetCUBIN(program p, char *code)
{
    int (*function)(program, char *) = real(code && has_code(p) ? "nvrtcGetPTX" : "nvrtcGetCUBIN");
    return function ? function(p, code) : INTERNAL_ERROR;
}

const char *nvrtcGetErrorString(int status)
{
    const char *(*function)(int) = real("nvrtcGetErrorString");
    if (function)
        return function(status);
    return status == INTERNAL_ERROR ? "NVRTC_ERROR_INTERNAL_ERROR" : "NVRTC_ERROR unknown";
}
