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

int cuDeviceGetAttribute(int *out, int attribute, int device) {
    int (*get)(int *, int, int) = (int (*)(int *, int, int))real("cuDeviceGetAttribute");
    int status = get(out, attribute, device);
    if (is("hopper") && attribute == 75)
        *out = 9;
    if (is("hopper") && attribute == 76)
        *out = 0;
    return status;
}

int cuMemAlloc_v2(uint64_t *out, size_t len) {
    if (is("full"))
        return 2;
    int (*alloc)(uint64_t *, size_t) = (int (*)(uint64_t *, size_t))real("cuMemAlloc_v2");
    return alloc(out, len);
}

/* The text with one part of it replaced wherever it is. The result and the text are on the heap. */
static char *replaced(char *text, const char *from, size_t from_len, const char *to, size_t to_len) {
    size_t count = 0, len = strlen(text);
    char *key = strndup(from, from_len);
    for (char *at = strstr(text, key); at != NULL; at = strstr(at + from_len, key))
        count++;
    char *out = malloc(len + count * to_len + 1), *end = out;
    const char *rest = text;
    for (char *at = strstr(text, key); at != NULL; at = strstr(rest, key)) {
        memcpy(end, rest, (size_t)(at - rest));
        end += at - rest;
        memcpy(end, to, to_len);
        end += to_len;
        rest = at + from_len;
    }
    strcpy(end, rest);
    free(key);
    free(text);
    return out;
}

/* The text after all rules: two texts with `=>` between them, rules parted by the character 1. */
static char *planted(const char *image, const char *rules) {
    char *text = strdup(image);
    for (const char *rule = rules; rule != NULL && *rule != 0;) {
        size_t len = strcspn(rule, "\1");
        const char *to = strstr(rule, "=>") + 2;
        text = replaced(text, rule, (size_t)(to - 2 - rule), to, (size_t)(rule + len - to));
        rule = rule[len] == 0 ? NULL : rule + len + 1;
    }
    return text;
}

/* Puts a message into the log of errors that the caller has asked for. */
static void log_error(unsigned count, const int *options, void **values, const char *message) {
    for (unsigned i = 0; i < count; i++)
        if (options[i] == 5)
            strcpy((char *)values[i], message);
}

/* Whether the module that was loaded last hangs. */
static int hangs;

int cuModuleLoadDataEx(void **out, const void *image, unsigned count, int *options, void **values) {
    int major = 0, minor = 0;
    const char *version = strstr((const char *)image, ".version ");
    if (version != NULL)
        sscanf(version, ".version %d.%d", &major, &minor);
    if (is("old") && 10 * major + minor > 78)
        return 222;
    if (is("compile")) {
        log_error(count, options, values, "ptxas error: a planted message");
        return 218;
    }
    const char *hanging = getenv("SIMTLAB_TEST_HANG");
    hangs = is("hang") || (hanging != NULL && strstr((const char *)image, hanging) != NULL);
    const char *refused = getenv("SIMTLAB_TEST_REFUSE");
    const char *place = refused != NULL ? strstr((const char *)image, refused) : NULL;
    if (place != NULL) {
        int line = 1;
        for (const char *at = image; at < place; at++)
            line += *at == '\n';
        char message[100];
        sprintf(message, "ptxas application ptx input, line %d; error   : planted", line);
        log_error(count, options, values, message);
        return 218;
    }
    char *text = planted((const char *)image, getenv("SIMTLAB_TEST_REPLACE"));
    int (*load)(void **, const void *, unsigned, int *, void **) =
        (int (*)(void **, const void *, unsigned, int *, void **))real("cuModuleLoadDataEx");
    int status = load(out, text, count, options, values);
    free(text);
    return status;
}

int cuCtxSynchronize(void) {
    if (hangs)
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
