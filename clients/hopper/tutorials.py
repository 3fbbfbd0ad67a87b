"""Kernels of Triton's tutorials for Hopper, compiled by Triton, against NumPy: tutorials.py CHECKOUT [--only TEXT] [--table FILE].

CHECKOUT has `python/tutorials` of triton-lang/triton. Tutorials of Gluon bring tests, which run as they are, with sizes given here; those
of Triton bring functions that launch the kernels, which are called here with one configuration each. With `SIMTLAB_CHECK` the launches
must be silent too.
"""

import argparse
import contextlib
import importlib
import io
import os
import re
import sys
import time
import traceback

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "stand_in"), here]
os.environ["PYTEST_VERSION"] = "none"

import numpy as np  # noqa: E402
import torch  # noqa: E402
import triton  # noqa: E402
from triton._C.libtriton import nvidia  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402

from renames import renamed  # noqa: E402
from simtlab_clients.journal import Journal  # noqa: E402

# The tutorials compare their speed with this library when they are run as programs.
nvidia.cublas.CublasLt = lambda _: None
# Tutorials of later releases ask this way.
if not hasattr(GPUTarget, "is_cuda_backend"):
    GPUTarget.is_cuda_backend = lambda self: self.backend == "cuda"

CHECKOUT = sys.argv[1]
folder = renamed(os.path.join(CHECKOUT, "python", "tutorials"))
sys.path[:0] = [folder, os.path.join(folder, "gluon")]
ROWS = []


def load(name, until=None):
    """A module of the tutorials; of those that compute when they are imported only what stands before a line."""
    if until is None:
        return importlib.import_module(name)
    if name not in sys.modules:
        path = os.path.join(folder, f"{name}.py")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        module = type(sys)(name)
        module.__file__, sys.modules[name] = path, module
        exec(compile(text[:text.index(until)], path, "exec"), module.__dict__)
    return sys.modules[name]


#: Layouts of Gluon that have an element in several threads store it from each.
REPLICATED = "race-of-equal-writes"


def row(tutorial, kernel, run, defect=None):
    """A kernel; `defect` is what checks find in the source as it is published."""
    ROWS.append((tutorial, kernel, run, defect))


def gluon(tutorial, test, defect=None, **sizes):
    """A test of a tutorial of Gluon with sizes of its parameters."""
    given = ", ".join(f"{value}" for value in sizes.values())
    row(f"gluon/{tutorial}", f"{test.removeprefix('test_')}({given})", lambda: getattr(load(tutorial), test)(**sizes), defect)


gluon("03-async-copy", "test_memcpy_1d_cpasync", xnumel=200, XBLOCK=128)
gluon("03-async-copy", "test_elementwise_add_pipelined", xnumel=70, ynumel=200, XBLOCK=32, YBLOCK=64, num_buffers=3)
gluon("04-tma", "test_memcpy_1d_tma", XBLOCK=64, xnumel=500)
gluon("04-tma", "test_tma_message_passing", MESSAGE_SIZE=16)
for buffers in (1, 2, 3):
    gluon("04-tma", "test_elementwise_add_pipelined", xnumel=70, ynumel=200, XBLOCK=32, YBLOCK=64, num_buffers=buffers)
for in_registers in (False, True):
    gluon("05-wgmma", "test_small_mma", M=64, N=32, K=32, LHS_IN_REG=in_registers, INSTR_SHAPE_N=16, num_warps=4)
gluon("05-wgmma", "test_small_mma", M=64, N=256, K=128, LHS_IN_REG=False, INSTR_SHAPE_N=64, num_warps=8)
for transposed in (False, True):
    gluon("05-wgmma", "test_blocked_matmul", M=100, N=72, K=136, BLOCK_M=64, BLOCK_N=64, BLOCK_K=64, TRANSPOSE_B=transposed, num_warps=4)
gluon("05-wgmma", "test_blocked_matmul_pipelined", M=100, N=72, K=264, BLOCK_M=64, BLOCK_N=64, BLOCK_K=64, num_warps=4)
gluon("05-wgmma", "test_blocked_matmul_pipelined", M=128, N=128, K=264, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, num_warps=8)


def persistent(test, buffers, warps, **sizes):
    """The persistent products of a tutorial have a scheduler among their parameters."""

    def run():
        module = load("07-persistence")
        more = {"SchedulerImpl": module.schedulers[0]} if "pipelined_matmul" not in test else {}
        getattr(module, test)(**sizes, num_buffers=buffers, num_warps=warps, **more)

    given = ", ".join(f"{value}" for value in (*sizes.values(), buffers, warps))
    # The last copies of the peeled loads have no predicate: those of the last tile are not waited for.
    defect = "early-exit" if test == "test_persistent_matmul_pipelined" else None
    row("gluon/07-persistence", f"{test.removeprefix('test_')}({given})", run, defect)


SMALL = {"M": 200, "N": 136, "K": 264, "BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64}
for name in ("test_pipelined_matmul", "test_persistent_matmul"):
    persistent(name, 3, 4, **SMALL)
    persistent(name, 2, 8, **{**SMALL, "M": 128, "N": 256, "BLOCK_M": 128, "BLOCK_N": 256})
for count in (3, 4):
    persistent("test_persistent_matmul_pipelined", count, 4, **SMALL)
for load_buffers in (1, 2):
    gluon(
        "08-warp-specialization", "test_elementwise_add_warp_specialized", xnumel=70, ynumel=200, XBLOCK=32, YBLOCK=64,
        num_load_buffers=load_buffers, num_store_buffers=load_buffers, num_warps=4)
for name in ("simple", "padded", "offset", "multi_batch", "multi_batch_padded"):
    gluon("13-conv-im2col", f"test_tma_im2col_{name}")
for stride, padding in ((1, 0), (1, 1), (2, 1)):
    # The next copies are issued before the product that reads the buffers is waited for.
    gluon("13-conv-im2col", "test_conv2d_tma_im2col", "overwritten-in-flight", N=1, H=8, W=8, Ci=64, Co=64, R=3, S=3, stride=stride, padding=padding)
gluon("14-multicta", "test_multicta_softmax_f32", M=4, N=256)
gluon("14-multicta", "test_multicta_softmax_f32", M=2, N=2**15)
# The block ends without a wait for its copy to global memory.
gluon("14-multicta", "test_tma_multicast_copy", "early-exit")


def only(kernel, **config):
    """Gives an autotuned kernel one configuration, so that nothing is measured."""
    first = kernel.configs[0]
    meta = {key: value for key, value in config.items() if key not in ("num_warps", "num_stages")}
    kernel.configs = [triton.Config(meta, num_stages=config["num_stages"], num_warps=config["num_warps"], pre_hook=first.pre_hook)]


def product(kernel, launch, kind="float16", transposed=True, sizes=(200, 264, 200), **config):
    """A product of the tutorial on persistent kernels."""

    def run():
        module = load("09-persistent-matmul")
        only(getattr(module, kernel), **config)
        torch.manual_seed(0)
        m, n, k = sizes
        a = torch.randn((m, k), dtype=getattr(torch, kind))
        b = torch.randn((n, k), dtype=getattr(torch, kind))
        c = launch(module, a, b if transposed else b.T)
        expected = a.numpy().astype(np.float64) @ b.numpy().astype(np.float64).T
        bound = 0.07 if "float8" in kind else 2e-3
        np.testing.assert_allclose(c.numpy().astype(np.float64), expected, rtol=bound, atol=5e-2)

    row("09-persistent-matmul", f"{kernel}({kind}, {config['num_warps']} warps, {config['num_stages']} stages)", run)


BLOCKS = {"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8, "num_stages": 3, "num_warps": 4}
EPILOGUE = {**BLOCKS, "EPILOGUE_SUBTILE": True}
product("matmul_kernel", lambda t, a, b: t.matmul(a, b), transposed=False, **BLOCKS)
product("matmul_kernel_persistent", lambda t, a, b: t.matmul_persistent(a, b), transposed=False, **BLOCKS)
FP8 = {"kind": "float8_e4m3fn", "sizes": (160, 144, 272)}
product("matmul_kernel_tma", lambda t, a, b: t.matmul_tma(a, b, False), **BLOCKS)
product("matmul_kernel_tma", lambda t, a, b: t.matmul_tma(a, b, False), **FP8, **{**BLOCKS, "num_warps": 8})
product("matmul_kernel_tma_persistent", lambda t, a, b: t.matmul_tma_persistent(a, b, False), **EPILOGUE)
product("matmul_kernel_tma_persistent", lambda t, a, b: t.matmul_tma_persistent(a, b, False), **FP8, **{**EPILOGUE, "num_warps": 8})
product("matmul_kernel_descriptor_persistent", lambda t, a, b: t.matmul_descriptor_persistent(a, b, False), **EPILOGUE)
product("matmul_kernel_descriptor_persistent", lambda t, a, b: t.matmul_descriptor_persistent(a, b, False), **FP8, **EPILOGUE)
product(
    "matmul_kernel_descriptor_persistent", lambda t, a, b: t.matmul_descriptor_persistent(a, b, True),
    **{**EPILOGUE, "EPILOGUE_SUBTILE": False})


def grouped(kernel, kind="float16"):
    """Products of several sizes in one launch."""

    def run():
        module = load("08-grouped-gemm", until="group_m = ")
        config = {"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64, "num_stages": 3, "num_warps": 4}
        tma = "tma" in kernel
        only(getattr(module, kernel), **config, **({} if tma else {"NUM_SM": 3}))
        torch.manual_seed(0)
        sizes = ((256, 128, 192), (128, 256, 64), (128, 128, 256))
        left = [torch.rand((m, k), dtype=getattr(torch, kind)) for m, _, k in sizes]
        right = [torch.rand((n, k) if tma else (k, n), dtype=getattr(torch, kind)) for _, n, k in sizes]
        out = (module.group_gemm_tma_fn if tma else module.group_gemm_fn)(left, right)
        for a, b, c in zip(left, right, out):
            a, b = a.numpy().astype(np.float64), b.numpy().astype(np.float64)
            bound = 0.07 if "float8" in kind else 2e-3
            np.testing.assert_allclose(c.numpy().astype(np.float64), a @ (b.T if tma else b), rtol=bound)

    row("08-grouped-gemm", f"{kernel}({kind})", run)


grouped("grouped_matmul_kernel")
grouped("grouped_matmul_tma_kernel")
grouped("grouped_matmul_tma_kernel", "float8_e4m3fn")


def attention(q, k, v, scale, causal, out_gradient=None):
    """Attention in double precision, and the gradients of its inputs."""
    q, k, v = (x.numpy().astype(np.float64) for x in (q, k, v))
    score = np.einsum("zhid,zhjd->zhij", q, k) * scale
    if causal:
        score = np.where(np.tril(np.ones(score.shape[-2:], bool)), score, -np.inf)
    power = np.exp(score - score.max(axis=-1, keepdims=True))
    p = power / power.sum(axis=-1, keepdims=True)
    out = p @ v
    if out_gradient is None:
        return out
    by = out_gradient.numpy().astype(np.float64)
    by_p = np.einsum("zhid,zhjd->zhij", by, v)
    by_score = p * (by_p - (by_p * p).sum(axis=-1, keepdims=True)) * scale
    return out, (by_score @ k, np.einsum("zhij,zhid->zhjd", by_score, q), np.einsum("zhij,zhid->zhjd", p, by))


def fused(causal, head=64, kind="float16", specialized=False, backward=False, stages=2):
    """Fused attention, with gradients."""

    def run():
        module = load("06-fused-attention")
        only(module._attn_fwd, BLOCK_M=128, BLOCK_N=64, num_stages=stages, num_warps=4)
        torch.manual_seed(20)
        # The tutorial's map of values of 8 bits has the columns of one head alone.
        shape, scale = (1, 2 if kind == "float16" else 1, 256, head), 0.5
        q, k, v, by = (torch.empty(shape, dtype=torch.float16).normal_(0.0, 0.5) for _ in range(4))
        if kind != "float16":
            q, k = q.to(getattr(torch, kind)), k.to(getattr(torch, kind))
            v = v.permute(0, 1, 3, 2).contiguous().to(getattr(torch, kind)).permute(0, 1, 3, 2)
        context = type("Context", (), {"save_for_backward": lambda self, *saved: setattr(self, "saved_tensors", saved)})()
        out = module._attention.forward(context, q, k, v, causal, scale, specialized)
        expected, gradients = attention(q, k, v, scale, causal, by)
        bound = 1e-2 if kind == "float16" else 0.1
        np.testing.assert_allclose(out.numpy().astype(np.float64), expected, atol=bound)
        if backward:
            for found, wanted in zip(module._attention.backward(context, by), gradients):
                np.testing.assert_allclose(found.numpy().astype(np.float64), wanted, atol=1e-2)

    words = [kind, f"head {head}"] + ["causal"] * causal + ["warp-specialized"] * specialized
    row("06-fused-attention", f"_attn_{'bwd' if backward else 'fwd'}({', '.join(words)})", run)


for causal in (False, True):
    fused(causal)
    fused(causal, backward=True)
fused(False, head=128, stages=3)
fused(False, specialized=True, head=128)
fused(False, kind="float8_e5m2")


def outcome(run, defect, journal):
    """What is wrong with a kernel, the seconds of its launches, and how many there are."""
    journal.take()
    wrong = ""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            run()
    except BaseException as error:
        wrong = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        if os.environ.get("TRACEBACK"):
            traceback.print_exc()
    events = journal.take()
    kinds = {found["kind"] for found in events.findings} | {stop.code for stop in events.stops}
    kinds -= {REPLICATED}
    if "SIMTLAB_CHECK" in os.environ and defect and defect not in kinds:
        wrong = "; ".join(filter(None, [wrong, f"no {defect}"]))
    wrong = "; ".join(filter(None, [wrong, ", ".join(sorted(kinds - {defect})), *events.refused]))
    return wrong, sum(launch.seconds for launch in events.launches), len(events.launches)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("checkout")
    parser.add_argument("--only", default="")
    parser.add_argument("--table")
    options = parser.parse_args()
    journal, rows = Journal(), []
    for tutorial, kernel, run, defect in ROWS:
        if not re.search(options.only, f"{tutorial} {kernel}"):
            continue
        begun = time.time()
        wrong, seconds, launches = outcome(run, defect, journal)
        rows.append((tutorial, kernel, launches, seconds, wrong))
        print(f"{'failed' if wrong else 'passed'} {tutorial:28} {kernel:70} {launches:3} {seconds:7.2f} s of {time.time() - begun:5.1f} {wrong}", flush=True)
    failed = [each for each in rows if each[-1]]
    if options.table:
        with open(options.table, "w", encoding="utf-8") as file:
            for tutorial, kernel, launches, seconds, wrong in rows:
                file.write(f"| `{kernel}` | {tutorial} | {launches} | {'no' if wrong else 'yes'} | {seconds:.1f} |\n")
    print(f"{len(rows) - len(failed)} passed, {len(failed)} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
