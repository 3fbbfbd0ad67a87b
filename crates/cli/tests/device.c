/* A driver that fails in a way that SIMTLAB_TEST_DRIVER names, and is Simtlab's own else: it is linked with that library, where
 * callers find all functions that are not here. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is(const char *mode) {
    const char *wanted = getenv("SIMTLAB_TEST_DRIVER");
    return wanted != NULL && strcmp(wanted, mode) == 0;
}

static void *real(const char *name) {
    return dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
}

int cuInit(unsigned flags) {
    if (is("no-device"))
        return 100;
    int (*init)(unsigned) = (int (*)(unsigned))real("cuInit");
    return init(flags);
}

int cuDriverGetVersion(int *out) {
    *out = is("old") ? 11080 : 12090;
    return 0;
}

int cuMemAlloc_v2(uint64_t *out, size_t len) {
    if (is("full"))
        return 2;
    int (*alloc)(uint64_t *, size_t) = (int (*)(uint64_t *, size_t))real("cuMemAlloc_v2");
    return alloc(out, len);
}

/* Replaces all of one text by another one of the same length; rules are parted by bars. */
static void replace(char *text, const char *rules) {
    for (const char *rule = rules; rule != NULL && *rule != 0;) {
        const char *end = strchr(rule, '|');
        const char *to = strchr(rule, '=');
        size_t len = (size_t)(to - rule);
        char from[256] = {0};
        memcpy(from, rule, len);
        for (char *at = strstr(text, from); at != NULL; at = strstr(at + len, from))
            memcpy(at, to + 1, len);
        rule = end == NULL ? NULL : end + 1;
    }
}

int cuModuleLoadDataEx(void **out, const void *image, unsigned count, int *options, void **values) {
    if (is("old"))
        return 222;
    if (is("compile")) {
        for (unsigned i = 0; i < count; i++)
            if (options[i] == 5)
                strcpy((char *)values[i], "ptxas error: a planted message");
        return 218;
    }
    const char *refused = getenv("SIMTLAB_TEST_REFUSE");
    const char *place = refused != NULL ? strstr((const char *)image, refused) : NULL;
    if (place != NULL) {
        int line = 1;
        for (const char *at = image; at < place; at++)
            line += *at == '\n';
        for (unsigned i = 0; i < count; i++)
            if (options[i] == 5)
                sprintf((char *)values[i], "ptxas application ptx input, line %d; error   : planted", line);
        return 218;
    }
    char *text = strdup((const char *)image);
    const char *rule = getenv("SIMTLAB_TEST_REPLACE");
    if (rule != NULL)
        replace(text, rule);
    int (*load)(void **, const void *, unsigned, int *, void **) =
        (int (*)(void **, const void *, unsigned, int *, void **))real("cuModuleLoadDataEx");
    int status = load(out, text, count, options, values);
    free(text);
    return status;
}

int cuCtxSynchronize(void) {
    if (is("hang"))
        sleep(1000);
    int (*wait)(void) = (int (*)(void))real("cuCtxSynchronize");
    return wait();
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t len) {
    int (*copy)(void *, uint64_t, size_t) =
        (int (*)(void *, uint64_t, size_t))real("cuMemcpyDtoH_v2");
    int status = copy(to, from, len);
    if (is("wrong") && len > 68)
        ((char *)to)[68] ^= 1;
    if (is("dies"))
        abort();
    return status;
}
