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

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SIMTLAB_H */
