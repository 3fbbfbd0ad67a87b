/* NVIDIA's library of the name of the one that includes this file, as a program would load it:
 *   the file that the variable VARIABLE names, else one that is loaded, else the first of this name where the
 *   program and its libraries look for libraries (rpath, LD_LIBRARY_PATH, default folders), else that of a folder of
 *   SIMTLAB_NVIDIA_LIBRARIES, in which the packages of a Python environment are, else that of a toolkit (CUDA_HOME,
 *   CUDA_PATH, /usr/local/cuda).
 * The file defines LIBRARY; OWN, a function by which a library of ours is known; PROBE, one of NVIDIA's; PURPOSE and
 * PACKAGE, what it does and what has it, for the line that says that it is missing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Loads a library of NVIDIA's; the other kind is let go. */
static void *open_real(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle && (dlsym(handle, OWN) || !dlsym(handle, PROBE))) {
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

/* The library in a list of folders with colons between them. */
static void *open_listed(const char *folders)
{
    char *copy = folders ? strdup(folders) : NULL, *rest = copy, *folder;
    void *found = NULL;
    while (!found && rest && (folder = strsep(&rest, ":")))
        found = open_in(folder, "");
    free(copy);
    return found;
}

static void *search(void)
{
    static const char *const homes[] = { "CUDA_HOME", "CUDA_PATH" };
    static struct names names;
    const char *file = getenv(VARIABLE);
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
    if (!found)
        found = open_listed(getenv("SIMTLAB_NVIDIA_LIBRARIES"));
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
        fprintf(stderr, "simtlab: NVIDIA's %s, which " PURPOSE ", is not found: put its folder on LD_LIBRARY_PATH, "
                        "or name the file with " VARIABLE " (pip install " PACKAGE " has it)\n", LIBRARY);
}

/* A function of NVIDIA's library. */
static void *real(const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    return library ? dlsym(library, name) : NULL;
}
