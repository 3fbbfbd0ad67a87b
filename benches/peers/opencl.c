// Kernels on the first OpenCL device.

#define CL_TARGET_OPENCL_VERSION 120
#include "peers.h"

#include <CL/cl.h>
#include <stdio.h>

static cl_context context;
static cl_command_queue queue;
static cl_kernel kernel;
static cl_mem memory[BUFFERS];

static void check(const char *what, cl_int code)
{
    if (code != CL_SUCCESS)
        fail(what, code);
}

static void begin(const struct work *work, const char *source)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int code;
    check("clGetPlatformIDs", clGetPlatformIDs(1, &platform, NULL));
    check("clGetDeviceIDs", clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    check("clCreateContext", code);
    queue = clCreateCommandQueue(context, device, 0, &code);
    check("clCreateCommandQueue", code);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
    check("clCreateProgramWithSource", code);
    check("clBuildProgram", clBuildProgram(program, 1, &device, "-cl-std=CL1.2", NULL, NULL));
    kernel = clCreateKernel(program, work->name, &code);
    check("clCreateKernel", code);
    for (int i = 0; i < work->words; i++)
        check("clSetKernelArg", clSetKernelArg(kernel, (cl_uint)i, 4, &work->word[i]));
    for (int i = 0; i < work->buffers; i++) {
        memory[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, work->buffer[i].bytes, NULL, &code);
        check("clCreateBuffer", code);
        check("clSetKernelArg", clSetKernelArg(kernel, (cl_uint)(work->words + i), sizeof *memory, &memory[i]));
    }
}

static void fill(const struct work *work, void **buffers)
{
    for (int i = 0; i < work->buffers; i++)
        check("clEnqueueWriteBuffer", clEnqueueWriteBuffer(queue, memory[i], CL_TRUE, 0, work->buffer[i].bytes, buffers[i], 0, NULL, NULL));
    check("clFinish", clFinish(queue));
}

static void run(const struct work *work)
{
    const size_t group[2] = {work->group[0], work->group[1]};
    const size_t all[2] = {group[0] * work->groups[0], group[1] * work->groups[1]};
    check("clEnqueueNDRangeKernel", clEnqueueNDRangeKernel(queue, kernel, 2, NULL, all, group, 0, NULL, NULL));
    check("clFinish", clFinish(queue));
}

static void fetch(const struct work *work, void **buffers)
{
    for (int i = 0; i < work->buffers; i++)
        check("clEnqueueReadBuffer", clEnqueueReadBuffer(queue, memory[i], CL_TRUE, 0, work->buffer[i].bytes, buffers[i], 0, NULL, NULL));
}

const struct engine opencl_engine = {begin, fill, run, fetch};
