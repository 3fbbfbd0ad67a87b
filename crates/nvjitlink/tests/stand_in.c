/* A stand-in for NVIDIA's libnvJitLink: it takes LTO-IR whose bytes after the magic number are PTX, and gives that. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct state {
    char *text;
    size_t size;
    int ptx;
};

int nvJitLinkCreate(struct state **made, uint32_t count, const char **options)
{
    *made = calloc(1, sizeof **made);
    for (uint32_t i = 0; i < count; i++)
        (*made)->ptx |= !strcmp(options[i], "-ptx");
    return 0;
}

int nvJitLinkDestroy(struct state **link)
{
    free((*link)->text);
    free(*link);
    *link = NULL;
    return 0;
}

int nvJitLinkAddData(struct state *link, int kind, const void *data, size_t size, const char *name)
{
    if (kind != 3 || strcmp(name, "lto") || size < 4 || memcmp(data, "\xed\x43\x4e\x7f", 4))
        return 12;
    link->text = calloc(1, size - 3);
    memcpy(link->text, (const char *)data + 4, size - 4);
    link->size = size - 3;
    return 0;
}

/* A text that begins with `!` cannot be compiled. */
int nvJitLinkComplete(struct state *link) { return !link->ptx || !link->text || *link->text == '!' ? 5 : 0; }

int nvJitLinkGetLinkedPtxSize(struct state *link, size_t *size)
{
    *size = link->size;
    return 0;
}

int nvJitLinkGetLinkedPtx(struct state *link, char *text)
{
    memcpy(text, link->text, link->size);
    return 0;
}

int nvJitLinkGetErrorLogSize(struct state *link, size_t *size)
{
    *size = link->text && *link->text == '!' ? sizeof "no code\n" : 0;
    return 0;
}

int nvJitLinkGetErrorLog(struct state *link, char *text)
{
    (void)link;
    memcpy(text, "no code\n", sizeof "no code\n");
    return 0;
}

int nvJitLinkGetInfoLogSize(struct state *link, size_t *size)
{
    (void)link;
    *size = sizeof "compiled\n";
    return 0;
}

int nvJitLinkGetInfoLog(struct state *link, char *text)
{
    (void)link;
    memcpy(text, "compiled\n", sizeof "compiled\n");
    return 0;
}
