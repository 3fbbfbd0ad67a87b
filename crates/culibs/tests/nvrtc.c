/* A program that takes machine code from NVRTC. Its exit code is the line of the first check that fails.
 * Without an argument it wants the stand-in behind our library, with one the answers where there is none. */
#include <stddef.h>
#include <string.h>

int nvrtcVersion(int *, int *);
int nvrtcCreateProgram(void **, const char *, const char *, int, const char *const *, const char *const *);
int nvrtcCompileProgram(void *, int, const char *const *);
int nvrtcGetCUBINSize(void *, size_t *);
int nvrtcGetCUBIN(void *, char *);
int nvrtcGetPTXSize(void *, size_t *);
int nvrtcGetPTX(void *, char *);
int nvrtcGetLTOIRSize(void *, size_t *);
const char *nvrtcGetErrorString(int);

#define CHECK(condition) do { if (!(condition)) return __LINE__; } while (0)

static int without(void)
{
    int major = 1, minor = 2;
    size_t size = 7;
    CHECK(nvrtcVersion(&major, &minor) == 11);
    CHECK(nvrtcGetCUBINSize(NULL, &size) == 11 && size == 7);
    CHECK(!strcmp(nvrtcGetErrorString(11), "NVRTC_ERROR_INTERNAL_ERROR"));
    return 0;
}

int main(int count, char **arguments)
{
    const char *const device[] = { "-a", "-arch=sm_80" }, *const virtual[] = { "-a", "-arch=compute_80" };
    char text[16] = "";
    int major = 0, minor = 0;
    size_t size = 0;
    void *program = NULL;
    (void)arguments;
    if (count > 1)
        return without();
    CHECK(!nvrtcVersion(&major, &minor) && major == 77 && minor == 3);
    CHECK(!nvrtcCreateProgram(&program, "source", NULL, 2, device, device));

    CHECK(!nvrtcCompileProgram(program, 2, device));
    CHECK(!nvrtcGetCUBINSize(program, &size) && size == 5);
    CHECK(!nvrtcGetCUBIN(program, text) && !strcmp(text, "text"));
    CHECK(!nvrtcGetPTXSize(program, &size) && size == 5);
    CHECK(!nvrtcGetPTX(program, text) && !strcmp(text, "text"));

    CHECK(!nvrtcCompileProgram(program, 2, virtual));
    CHECK(!nvrtcGetCUBINSize(program, &size) && size == 0);
    CHECK(!nvrtcGetCUBIN(program, text) && !strcmp(text, "machine!"));

    /* Wrong programs are NVIDIA's to refuse; what its version lacks is an internal error. */
    CHECK(nvrtcGetCUBINSize(NULL, &size) == 4 && nvrtcGetCUBIN(NULL, text) == 4);
    CHECK(!strcmp(nvrtcGetErrorString(4), "four"));
    CHECK(nvrtcGetLTOIRSize(program, &size) == 11);
    return 0;
}
