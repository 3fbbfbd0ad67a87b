"""kernel_tuner tunes kernels on the virtual device through CuPy: every configuration runs, its result is compared, and the fastest is chosen."""

import importlib.util
from pathlib import Path

import kernel_tuner
import numpy as np

# By its file: with its folder in the path, folders of other clients there are taken for packages (`torch`).
there = importlib.util.spec_from_file_location("checks", Path(__file__).parent.parent / "checks.py")
checks = importlib.util.module_from_spec(there)
there.loader.exec_module(checks)
check, run = checks.check, checks.run

rng = np.random.default_rng(7)

ADD = """
extern "C" __global__ void add(float *c, const float *a, const float *b, int n) {
  int i = blockIdx.x * block_size_x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
"""

# Each thread sums `per_thread` elements, and a block its threads.
SUMS = """
extern "C" __global__ void sums(float *out, const float *a, int n) {
  __shared__ float part[block_size_x];
  float sum = 0;
  for (int k = 0; k < per_thread; k++) {
    int i = (blockIdx.x * per_thread + k) * block_size_x + threadIdx.x;
    if (i < n) sum += a[i];
  }
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int step = block_size_x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(out, part[0]);
}
"""


@check
def vectors():
    n = 5000
    a, b = rng.standard_normal((2, n)).astype(np.float32)
    arguments, sizes = [np.zeros_like(a), a, b, np.int32(n)], [32, 64, 128, 256]
    results, _ = kernel_tuner.tune_kernel("add", ADD, n, arguments, {"block_size_x": sizes}, lang="cupy", answer=[a + b, None, None, None], iterations=3)
    assert sorted(r["block_size_x"] for r in results) == sizes
    assert all(isinstance(r["time"], float) and r["time"] > 0 for r in results), results


@check
def restricted_space():
    n = 6000
    a = rng.standard_normal(n).astype(np.float32)
    parameters = {"block_size_x": [32, 64, 128], "per_thread": [1, 2, 4]}
    results, _ = kernel_tuner.tune_kernel(
        "sums", SUMS, n, [np.zeros(1, np.float32), a, np.int32(n)], parameters, grid_div_x=["block_size_x", "per_thread"], lang="cupy",
        restrictions=["block_size_x * per_thread <= 256"], answer=[np.array([a.sum()]), None, None], atol=1e-2, iterations=1,
    )
    assert len(results) == 8
    assert all(isinstance(r["time"], float) for r in results), results


@check
def wrong_results_are_found():
    n = 1000
    a = rng.standard_normal(n).astype(np.float32)
    arguments = [np.zeros_like(a), a, a, np.int32(n)]
    try:
        kernel_tuner.tune_kernel("add", ADD, n, arguments, {"block_size_x": [64]}, lang="cupy", answer=[a, None, None, None], iterations=1)
    except RuntimeError as error:
        assert "verification failed" in str(error)
    else:
        raise AssertionError("a wrong result passed")


@check
def one_launch():
    n = 777
    a, b = rng.standard_normal((2, n)).astype(np.float32)
    out = kernel_tuner.run_kernel("add", ADD, n, [np.zeros_like(a), a, b, np.int32(n)], {"block_size_x": 96}, lang="cupy")
    np.testing.assert_array_equal(out[0], a + b)


run()
