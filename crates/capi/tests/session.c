/* An interpreter of this file's own, whose divergence a mechanism of the library manages. */
#include "simtlab.h"
#include "check.h"
#include <string.h>

/* The program: v = (lane & 1) ? 3 v + 1 : v / 2, while (n[lane]--). Its instructions by place. */
enum { TEST, HALVE, ODD_OVER, TRIPLE, COUNT, END, LENGTH };
enum { WIDTH = 8 };

static const simtlab_flow CODE[LENGTH] = {
    {SIMTLAB_FLOW_BRANCH, 0, TRIPLE}, {SIMTLAB_FLOW_NEXT, 0, 0},       {SIMTLAB_FLOW_JUMP, 0, COUNT},
    {SIMTLAB_FLOW_NEXT, 0, 0},        {SIMTLAB_FLOW_BRANCH, 0, TEST}, {SIMTLAB_FLOW_END, 0, 0},
};

struct lanes {
    uint32_t value[WIDTH], left[WIDTH];
};

static uint64_t interpret(const char *mechanism, const char *order, struct lanes *of, simtlab_session_stats *stats) {
    uint64_t session, at, active;
    uint32_t running;
    CHECK(simtlab_session_create(mechanism, order, &session) == SIMTLAB_OK);
    CHECK(simtlab_session_graph(session, CODE, LENGTH, NULL, 0) == SIMTLAB_OK);
    CHECK(simtlab_session_begin(session, TEST, (1u << WIDTH) - 1, WIDTH) == SIMTLAB_OK);
    for (;;) {
        CHECK(simtlab_session_now(session, &at, &active, &running) == SIMTLAB_OK);
        if (!running) break;
        uint64_t taken = 0;
        for (int lane = 0; lane < WIDTH; lane++) {
            uint64_t bit = 1ull << lane;
            if (!(active & bit)) continue;
            uint32_t *v = &of->value[lane];
            if (at == TEST && *v & 1) taken |= bit;
            if (at == HALVE) *v /= 2;
            if (at == TRIPLE) *v = 3 * *v + 1;
            if (at == COUNT && of->left[lane]-- > 1) taken |= bit;
        }
        simtlab_status told;
        if (at == TEST || at == COUNT) told = simtlab_session_branch(session, active, taken, at == TEST ? TRIPLE : TEST);
        else if (at == ODD_OVER) told = simtlab_session_jump(session, COUNT);
        else if (at == END) told = simtlab_session_exit(session, active);
        else told = simtlab_session_step(session);
        CHECK(told == SIMTLAB_OK);
    }
    CHECK(simtlab_session_statistics(session, stats) == SIMTLAB_OK);
    CHECK(simtlab_session_step(session) == SIMTLAB_INVALID_ARGUMENT);
    CHECK(strcmp(simtlab_error(), "no lane runs") == 0);
    CHECK(simtlab_session_destroy(session) == SIMTLAB_OK);
    return stats->issues;
}

static struct lanes start(void) {
    struct lanes lanes;
    for (uint32_t lane = 0; lane < WIDTH; lane++) {
        lanes.value[lane] = 7 + 5 * lane;
        lanes.left[lane] = 1 + lane % 4;
    }
    return lanes;
}

int main(void) {
    struct lanes expected = start();
    uint64_t work = 1 * WIDTH;
    for (int lane = 0; lane < WIDTH; lane++)
        for (uint32_t *v = &expected.value[lane]; expected.left[lane]; expected.left[lane]--) {
            work += *v & 1 ? 3 : 4;
            *v = *v & 1 ? 3 * *v + 1 : *v / 2;
        }

    static const char *const names[] = {"serial", "ipdom", "tf-stack", "min-pc", "max-pc", "barrier-only", "stack", "basic"};
    uint64_t issues[8];
    for (int i = 0; i < 8; i++) {
        struct lanes lanes = start();
        simtlab_session_stats stats;
        issues[i] = interpret(names[i], NULL, &lanes, &stats);
        CHECK(memcmp(lanes.value, expected.value, sizeof lanes.value) == 0);
        /* Every mechanism executes the same lane by lane, and no lane twice. The stack runs both sides under a predicate. */
        CHECK(i == 6 || stats.active_lanes == work);
        CHECK(stats.lane_slots == WIDTH * stats.issues);
    }
    CHECK(issues[0] == work && issues[1] < issues[5] && issues[5] <= issues[0] && issues[2] == issues[3]);

    uint64_t session, count, bytes, at, active;
    simtlab_row rows[16];
    char text[1024];
    simtlab_session_stats stats;
    CHECK(simtlab_session_create("ipdom", "taken", &session) == SIMTLAB_OK);
    CHECK(simtlab_session_begin(session, 0, 1, 1) == SIMTLAB_INVALID_ARGUMENT);
    CHECK(strstr(simtlab_error(), "needs the flow graph") != NULL);
    CHECK(simtlab_session_graph(session, CODE, LENGTH, NULL, 0) == SIMTLAB_OK);
    CHECK(simtlab_session_begin(session, TEST, 0xff, 8) == SIMTLAB_OK);
    CHECK(simtlab_session_branch(session, 0xff, 0x0f, TRIPLE) == SIMTLAB_OK);
    CHECK(simtlab_session_now(session, &at, &active, NULL) == SIMTLAB_OK && at == TRIPLE && active == 0x0f);
    CHECK(simtlab_session_rows(session, rows, 16, &count) == SIMTLAB_OK && count >= 2);
    CHECK(rows[count - 1].place == TRIPLE && rows[count - 1].lanes == 0x0f && rows[count - 1].rejoin == COUNT);
    CHECK(rows[count - 2].place == HALVE && rows[count - 2].lanes == 0xf0);
    CHECK(simtlab_session_text(session, text, sizeof text, &bytes) == SIMTLAB_OK && bytes < sizeof text);
    text[bytes] = 0;
    CHECK(strstr(text, "divergent branches         1  (2 paths, 100.0% of branches)") != NULL);
    CHECK(simtlab_session_destroy(session) == SIMTLAB_OK);

    /* What a careless program does. */
    CHECK(simtlab_session_step(session) == SIMTLAB_INVALID_HANDLE);
    CHECK(simtlab_session_create("ipdon", NULL, &session) == SIMTLAB_NOT_FOUND);
    CHECK(strstr(simtlab_error(), "did you mean `ipdom`") != NULL);
    CHECK(simtlab_session_create("ipdom", "first", &session) == SIMTLAB_NOT_FOUND);
    CHECK(simtlab_session_create(NULL, NULL, &session) == SIMTLAB_INVALID_ARGUMENT);
    CHECK(simtlab_session_create("min-pc", NULL, &session) == SIMTLAB_OK);
    CHECK(simtlab_session_graph(session, CODE, (size_t)1 << 60, NULL, 0) == SIMTLAB_INVALID_ARGUMENT);
    CHECK(simtlab_session_graph(session, (const simtlab_flow *)8, 4, NULL, 0) == SIMTLAB_BAD_HOST_ADDRESS);
    CHECK(simtlab_session_graph(session, &(simtlab_flow){9, 0, 0}, 1, NULL, 0) == SIMTLAB_INVALID_ARGUMENT);
    CHECK(simtlab_session_graph(session, &(simtlab_flow){SIMTLAB_FLOW_SWITCH, 9, 0}, 1, NULL, 0) == SIMTLAB_INVALID_ARGUMENT);
    CHECK(simtlab_session_begin(session, 0, 1, 65) == SIMTLAB_INVALID_ARGUMENT);
    CHECK(simtlab_session_begin(session, 0, 3, 2) == SIMTLAB_OK);
    simtlab_target split[2] = {{1, 1}, {5, 2}};
    CHECK(simtlab_session_switch(session, split, 2) == SIMTLAB_OK);
    CHECK(simtlab_session_exit(session, 2) == SIMTLAB_INVALID_ARGUMENT);
    CHECK(simtlab_session_statistics(session, &stats) == SIMTLAB_OK && stats.divergent_branches == 1);
    puts("all checks passed");
    return 0;
}
