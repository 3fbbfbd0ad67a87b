/* A check that ends the process, with the place where it failed. */
#include <stdio.h>
#include <unistd.h>

#define CHECK(condition)                                                             \
    do {                                                                             \
        if (!(condition)) {                                                          \
            printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);           \
            fflush(stdout);                                                          \
            _exit(1);                                                                \
        }                                                                            \
    } while (0)
