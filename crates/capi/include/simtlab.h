/* The C interface of Simtlab: PTX kernels on the virtual machine.
 *
 * Every function may be called from any thread. Contexts and modules are numbers, never pointers: a number that is not one
 * of a live object is answered with SIMTLAB_INVALID_HANDLE. Addresses of host memory are checked before they are used,
 * where the operating system can do that (Linux). A launch is over when simtlab_launch returns.
 *
 * This file is generated from crates/capi; a test keeps it so.
 */

#ifndef SIMTLAB_H
#define SIMTLAB_H

#include <stddef.h>
#include <stdint.h>

/**
 * How a call ended.
 */
typedef enum simtlab_status {
  /**
   * All went well.
   */
  SIMTLAB_OK = 0,
  /**
   * A pointer that must not be null is, or a size is impossible.
   */
  SIMTLAB_INVALID_ARGUMENT = 1,
  /**
   * The number is not one of a live context or module.
   */
  SIMTLAB_INVALID_HANDLE = 2,
  /**
   * There is no kernel or variable of this name.
   */
  SIMTLAB_NOT_FOUND = 3,
  /**
   * Not enough guest memory.
   */
  SIMTLAB_OUT_OF_MEMORY = 4,
  /**
   * Guest memory that is not allocated, or not where it is said to be.
   */
  SIMTLAB_BAD_ADDRESS = 5,
  /**
   * Host memory that cannot be read or written.
   */
  SIMTLAB_BAD_HOST_ADDRESS = 6,
  /**
   * PTX with errors, or with what is not supported.
   */
  SIMTLAB_BAD_PROGRAM = 7,
  /**
   * A launch with sizes or parameters that the kernel or the machine cannot take.
   */
  SIMTLAB_BAD_LAUNCH = 8,
  /**
   * The kernel faulted. simtlab_error says where.
   */
  SIMTLAB_FAULT = 9,
  /**
   * The kernel hangs. simtlab_error says where.
   */
  SIMTLAB_HANG = 10,
  /**
   * A defect of the library.
   */
  SIMTLAB_INTERNAL = 11,
} simtlab_status;

/**
 * Where control may go after an instruction.
 */
typedef enum simtlab_flow_kind {
  /**
   * To the next instruction.
   */
  SIMTLAB_FLOW_NEXT = 0,
  /**
   * To `target`.
   */
  SIMTLAB_FLOW_JUMP = 1,
  /**
   * To `target`, or on to the next instruction.
   */
  SIMTLAB_FLOW_BRANCH = 2,
  /**
   * To any of `count` places, from index `target` of the table of places on.
   */
  SIMTLAB_FLOW_SWITCH = 3,
  /**
   * Nowhere: a return or an exit.
   */
  SIMTLAB_FLOW_END = 4,
} simtlab_flow_kind;

/**
 * How many threads a launch has.
 */
typedef struct simtlab_shape {
  /**
   * Blocks in x, y, z.
   */
  uint32_t grid[3];
  /**
   * Threads of a block in x, y, z.
   */
  uint32_t block[3];
  /**
   * Bytes of dynamic shared memory.
   */
  uint64_t shared;
} simtlab_shape;

/**
 * What a launch did.
 */
typedef struct simtlab_stats {
  /**
   * Blocks run.
   */
  uint64_t blocks;
  /**
   * Threads run.
   */
  uint64_t threads;
  /**
   * Instructions issued to warps.
   */
  uint64_t issues;
  /**
   * Instructions executed by lanes.
   */
  uint64_t lane_instructions;
  /**
   * Lane slots of all issues: issues times 32.
   */
  uint64_t lane_slots;
  /**
   * Branches issued.
   */
  uint64_t branches;
  /**
   * Branches whose lanes went to different places.
   */
  uint64_t divergent_branches;
  /**
   * Memory instructions issued.
   */
  uint64_t memory_instructions;
  /**
   * Block barriers completed.
   */
  uint64_t barriers;
  /**
   * Nanoseconds it took.
   */
  uint64_t nanoseconds;
  /**
   * 1 if the fast engine ran it, 0 if the exact one did.
   */
  uint32_t fast;
} simtlab_stats;

/**
 * An instruction of a flow graph. Places are indices of instructions.
 */
typedef struct simtlab_flow {
  /**
   * One of simtlab_flow_kind.
   */
  uint32_t kind;
  /**
   * Places of a switch.
   */
  uint32_t count;
  /**
   * Where it goes.
   */
  uint64_t target;
} simtlab_flow;

/**
 * Lanes that go to a place.
 */
typedef struct simtlab_target {
  /**
   * The place.
   */
  uint64_t place;
  /**
   * The lanes, bit by bit.
   */
  uint64_t lanes;
} simtlab_target;

/**
 * A row of a mechanism's stack, list or tables.
 */
typedef struct simtlab_row {
  /**
   * Where its lanes stand or go on; the greatest number if at no one place.
   */
  uint64_t place;
  /**
   * Where they meet others; the greatest number if nowhere.
   */
  uint64_t rejoin;
  /**
   * The lanes, bit by bit.
   */
  uint64_t lanes;
} simtlab_row;

/**
 * What a group did under a mechanism.
 */
typedef struct simtlab_session_stats {
  /**
   * Instructions issued.
   */
  uint64_t issues;
  /**
   * Of them, issues without lanes.
   */
  uint64_t idle_issues;
  /**
   * Active lanes, summed over all issues.
   */
  uint64_t active_lanes;
  /**
   * Lanes of the group, summed over all issues.
   */
  uint64_t lane_slots;
  /**
   * Branches issued.
   */
  uint64_t branches;
  /**
   * Branches whose lanes went to more than one place.
   */
  uint64_t divergent_branches;
  /**
   * Places that divergent branches went to, summed.
   */
  uint64_t divergent_paths;
  /**
   * Splits that rejoined.
   */
  uint64_t rejoined;
  /**
   * Issues from those splits to where they rejoined, summed.
   */
  uint64_t rejoin_issues;
  /**
   * Splits that never rejoin: the lanes that are left are of one side.
   */
  uint64_t never_rejoined;
  /**
   * Times that two paths became one.
   */
  uint64_t merges;
  /**
   * Entries that the mechanism put on a stack, list or table.
   */
  uint64_t pushes;
  /**
   * Entries that it took off.
   */
  uint64_t pops;
  /**
   * Most live paths or entries at once.
   */
  uint64_t max_depth;
} simtlab_session_stats;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The message of this thread's last call: empty after a success. It is valid until the thread's
 * next call.
 */
const char *simtlab_error(void);

/**
 * The library's version, such as `0.1.0`.
 */
const char *simtlab_version(void);

/**
 * Makes a context with at most `memory` bytes of guest memory; 0 means 8 GiB. Its number goes to
 * `context`.
 */
enum simtlab_status simtlab_context_create(uint64_t memory, uint64_t *context);

/**
 * Ends a context, with all its memory and modules.
 */
enum simtlab_status simtlab_context_destroy(uint64_t context);

/**
 * Allocates `bytes` of guest memory, all zero. The guest address goes to `address`.
 */
enum simtlab_status simtlab_alloc(uint64_t context, uint64_t bytes, uint64_t *address);

/**
 * Frees what simtlab_alloc gave.
 */
enum simtlab_status simtlab_free(uint64_t context, uint64_t address);

/**
 * Copies `bytes` from the host to guest memory.
 */
enum simtlab_status simtlab_write(uint64_t context,
                                  uint64_t address,
                                  const void *host,
                                  uint64_t bytes);

/**
 * Copies `bytes` of guest memory to the host.
 */
enum simtlab_status simtlab_read(uint64_t context, void *host, uint64_t address, uint64_t bytes);

/**
 * Sets `bytes` of guest memory to `value`.
 */
enum simtlab_status simtlab_fill(uint64_t context, uint64_t address, uint8_t value, uint64_t bytes);

/**
 * Loads a PTX text that ends with a null character. The module's number goes to `module`.
 */
enum simtlab_status simtlab_load(uint64_t context, const char *ptx, uint64_t *module);

/**
 * Unloads a module, with its variables.
 */
enum simtlab_status simtlab_unload(uint64_t context, uint64_t module);

/**
 * Address and size of a global or constant variable of a module. Either pointer may be null.
 */
enum simtlab_status simtlab_variable(uint64_t context,
                                     uint64_t module,
                                     const char *name,
                                     uint64_t *address,
                                     uint64_t *bytes);

/**
 * How many parameters a kernel has, and the size of its parameter block. Either pointer may be
 * null.
 */
enum simtlab_status simtlab_params(uint64_t context,
                                   uint64_t module,
                                   const char *kernel,
                                   uint64_t *count,
                                   uint64_t *bytes);

/**
 * Offset and size of a kernel's parameter in its parameter block. Either pointer may be null.
 */
enum simtlab_status simtlab_param(uint64_t context,
                                  uint64_t module,
                                  const char *kernel,
                                  uint64_t index,
                                  uint64_t *offset,
                                  uint64_t *bytes);

/**
 * Runs a kernel to its end. `params` is its parameter block of `param_bytes` bytes: each parameter
 * at its offset. `stats` may be null. What the kernel prints can be had with simtlab_output.
 */
enum simtlab_status simtlab_launch(uint64_t context,
                                   uint64_t module,
                                   const char *kernel,
                                   const struct simtlab_shape *shape,
                                   const void *params,
                                   size_t param_bytes,
                                   struct simtlab_stats *stats);

/**
 * Copies what the context's last launch has printed, at most `room` bytes and without an end, to
 * `text`, which may be null if `room` is
 * 0. How many bytes there are goes to `bytes`.
 */
enum simtlab_status simtlab_output(uint64_t context, char *text, size_t room, uint64_t *bytes);

/**
 * Runs the first kernel of a PTX text to its end, on the host's memory.
 *
 * Each of the `n_args` words of `args` is an argument itself: a number, or an address of host
 * memory, of which the kernel may use all that the process has. Sizes are threads of a block and
 * blocks of the grid in x, y, z; `shared` is the size of dynamic shared memory in bytes. What goes
 * wrong is said on the standard error stream, and memory is then as it was before.
 */
void ptx_run(const char *ptx,
             int n_args,
             void **args,
             int block_x,
             int block_y,
             int block_z,
             int grid_x,
             int grid_y,
             int grid_z,
             int shared);

/**
 * Makes a session of a mechanism, by its name or alias: a group of up to 64 lanes, whose
 * instructions the caller executes. Its number goes to `session`. `order` says which side of a
 * divergent branch runs first (`taken`, `fallthrough`, `minority`, `majority`) where the mechanism
 * asks; null leaves it to the mechanism.
 */
enum simtlab_status simtlab_session_create(const char *mechanism,
                                           const char *order,
                                           uint64_t *session);

/**
 * Ends a session.
 */
enum simtlab_status simtlab_session_destroy(uint64_t session);

/**
 * Sets the program's flow graph: its `count` instructions, and a table of `place_count` places for
 * switches, which may be null without any. The mechanisms that plan with the graph need it before
 * they begin.
 */
enum simtlab_status simtlab_session_graph(uint64_t session,
                                          const struct simtlab_flow *code,
                                          size_t count,
                                          const uint64_t *places,
                                          size_t place_count);

/**
 * Begins with lanes of a group of `width` at a place; statistics begin anew.
 */
enum simtlab_status simtlab_session_begin(uint64_t session,
                                          uint64_t place,
                                          uint64_t lanes_at,
                                          uint32_t width);

/**
 * What runs now: the place and the active mask, which may be empty (an idle issue). `running`
 * becomes 0 if all lanes have ended, else 1. Any pointer may be null.
 */
enum simtlab_status simtlab_session_now(uint64_t session,
                                        uint64_t *place,
                                        uint64_t *active,
                                        uint32_t *running);

/**
 * An ordinary instruction was executed.
 */
enum simtlab_status simtlab_session_step(uint64_t session);

/**
 * A conditional branch was executed: of the `active` lanes, those of `taken` go to `target`, the
 * others on.
 */
enum simtlab_status simtlab_session_branch(uint64_t session,
                                           uint64_t active,
                                           uint64_t taken,
                                           uint64_t target);

/**
 * All active lanes jump.
 */
enum simtlab_status simtlab_session_jump(uint64_t session, uint64_t target);

/**
 * A branch with any number of targets was executed.
 */
enum simtlab_status simtlab_session_switch(uint64_t session,
                                           const struct simtlab_target *targets,
                                           size_t count);

/**
 * Active lanes end; the others go on to the next instruction.
 */
enum simtlab_status simtlab_session_exit(uint64_t session, uint64_t ending);

/**
 * Copies the mechanism's stack, list or tables, what runs next last, at most `room` rows, to
 * `rows`, which may be null if `room` is 0. How many rows there are goes to `count`.
 */
enum simtlab_status simtlab_session_rows(uint64_t session,
                                         struct simtlab_row *rows,
                                         size_t room,
                                         uint64_t *count);

/**
 * What the group did so far.
 */
enum simtlab_status simtlab_session_statistics(uint64_t session,
                                               struct simtlab_session_stats *stats);

/**
 * Copies the statistics as a table of lines, at most `room` bytes and without an end, to `text`,
 * which may be null if `room` is 0. How many bytes there are goes to `bytes`.
 */
enum simtlab_status simtlab_session_text(uint64_t session,
                                         char *text,
                                         size_t room,
                                         uint64_t *bytes);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SIMTLAB_H */
