/* A stand-in for NVIDIA's NVRTC: programs compiled with an option that holds `sm_` have machine code. */
#include <string.h>

static int has_code;
static char program;

int nvrtcVersion(int *major, int *minor) { *major = 77, *minor = 3; return 0; }
int nvrtcCreateProgram(void **made, const char *source, const char *name, int count, const char *const *headers,
                       const char *const *names)
{
    (void)name, (void)headers, (void)names;
    *made = &program;
    return strcmp(source, "source") || count != 2;
}
int nvrtcCompileProgram(void *p, int count, const char *const *options)
{
    has_code = count == 2 && strstr(options[1], "sm_") != NULL;
    return p != &program;
}
int nvrtcGetPTXSize(void *p, size_t *size) { *size = sizeof "text"; return p != &program; }
int nvrtcGetPTX(void *p, char *text) { strcpy(text, "text"); return p != &program; }
int nvrtcGetCUBINSize(void *p, size_t *size) { *size = has_code ? 9 : 0; return p == &program ? 0 : 4; }
int nvrtcGetCUBIN(void *p, char *code) { strcpy(code, "machine!"); return p == &program ? 0 : 4; }
const char *nvrtcGetErrorString(int status) { return status == 4 ? "four" : "other"; }
