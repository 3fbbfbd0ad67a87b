/* libnvrtc.so.VERSION: NVIDIA's compiler for source code at run time, with PTX where it gives machine code.
 *
 * The virtual device runs PTX. A program that compiles for a real architecture (sm_80) loads what nvrtcGetCUBIN
 * returns; that is the PTX of the same compilation here, which the driver takes as an image like any other. Every
 * other public function is forwarded as it is to NVIDIA's library of the same version:
 *   SIMTLAB_NVRTC=FILE, else one that is loaded, else the first of this name where the program and its libraries
 *   look for libraries (rpath, LD_LIBRARY_PATH, default folders), else that of a toolkit (CUDA_HOME, CUDA_PATH,
 *   /usr/local/cuda).
 * Without it, functions return NVRTC_ERROR_INTERNAL_ERROR, and one line on the standard error stream says what is
 * missing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libnvrtc.so." VERSION
#define INTERNAL_ERROR 11

typedef void *program;

/* By this function a library of ours is known. */
int simtlab_nvrtc(void) { return 1; }

/* Loads a library of NVIDIA's; the other kind is let go. */
static void *open_real(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle && (dlsym(handle, "simtlab_nvrtc") || !dlsym(handle, "nvrtcCreateProgram"))) {
        dlclose(handle);
        return NULL;
    }
    return handle;
}

static void *open_in(const char *folder, const char *below)
{
    char path[4096];
    if (!folder || !*folder)
        return NULL;
    int length = snprintf(path, sizeof path, "%s%s/%s", folder, below, LIBRARY);
    return length > 0 && (size_t)length < sizeof path ? open_real(path) : NULL;
}

/* Names of loaded objects; the program's is empty. They are collected first: nothing may be loaded meanwhile. */
struct names {
    char *name[1024];
    size_t count;
};

static int collect(struct dl_phdr_info *info, size_t size, void *data)
{
    struct names *names = data;
    (void)size;
    if (names->count < sizeof names->name / sizeof *names->name) {
        char *copy = strdup(info->dlpi_name ? info->dlpi_name : "");
        if (copy)
            names->name[names->count++] = copy;
    }
    return 0;
}

/* A loaded library of this name. */
static void *loaded(const char *name)
{
    const char *file = strrchr(name, '/');
    return file && !strcmp(file + 1, LIBRARY) ? open_real(name) : NULL;
}

/* The library in the folders where a loaded object looks for what it needs. */
static void *beside(const char *name)
{
    Dl_serinfo size, *paths;
    void *found = NULL, *object = dlopen(*name ? name : NULL, RTLD_NOW | RTLD_NOLOAD);
    if (!object)
        return NULL;
    if (!dlinfo(object, RTLD_DI_SERINFOSIZE, &size) && (paths = malloc(size.dls_size))) {
        paths->dls_size = size.dls_size;
        paths->dls_cnt = size.dls_cnt;
        if (!dlinfo(object, RTLD_DI_SERINFOSIZE, paths) && !dlinfo(object, RTLD_DI_SERINFO, paths))
            for (unsigned i = 0; i < paths->dls_cnt && !found; i++)
                found = open_in(paths->dls_serpath[i].dls_name, "");
        free(paths);
    }
    dlclose(object);
    return found;
}

static void *search(void)
{
    static const char *const homes[] = { "CUDA_HOME", "CUDA_PATH" };
    static struct names names;
    const char *file = getenv("SIMTLAB_NVRTC");
    void *found = NULL;
    if (file && *file)
        return open_real(file);
    dl_iterate_phdr(collect, &names);
    for (size_t i = 0; i < names.count && !found; i++)
        found = loaded(names.name[i]);
    for (size_t i = 0; i < names.count && !found; i++)
        found = beside(names.name[i]);
    for (size_t i = 0; i < names.count; i++)
        free(names.name[i]);
    for (size_t i = 0; i < sizeof homes / sizeof *homes && !found; i++)
        if (!(found = open_in(getenv(homes[i]), "/lib64")))
            found = open_in(getenv(homes[i]), "/lib");
    return found ? found : open_in("/usr/local/cuda", "/lib64");
}

static void *library;

static void find(void)
{
    library = search();
    if (!library)
        fprintf(stderr, "simtlab: NVIDIA's %s, which compiles for the virtual device, is not found: put its folder on "
                        "LD_LIBRARY_PATH, or name the file with SIMTLAB_NVRTC "
                        "(pip install nvidia-cuda-nvrtc has it)\n", LIBRARY);
}

/* A function of NVIDIA's library. */
static void *real(const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    return library ? dlsym(library, name) : NULL;
}

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
