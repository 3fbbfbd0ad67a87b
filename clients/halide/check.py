"""Halide's CUDA target beside NumPy."""

import halide as hl
import numpy as np

from checks import check, run

TARGET = hl.Target("host-cuda-cuda_capability_80")


def schedule(f):
    x, y = hl.Var("x"), hl.Var("y")
    xo, yo, xi, yi = (hl.Var(n) for n in ("xo", "yo", "xi", "yi"))
    f.gpu_tile(x, y, xo, yo, xi, yi, 16, 8)
    return f


@check
def pointwise():
    x, y = hl.Var("x"), hl.Var("y")
    f = hl.Func("f")
    f[x, y] = hl.f32(x * 3 + y) * 0.5
    got = np.array(schedule(f).realize([64, 32], TARGET))
    yy, xx = np.mgrid[0:32, 0:64]
    assert np.array_equal(got, (xx * 3 + yy).astype(np.float32) * 0.5)


@check
def blur():
    rng = np.random.default_rng(3)
    image = rng.random((34, 66), np.float32)
    x, y = hl.Var("x"), hl.Var("y")
    source = hl.Buffer(image)
    f = hl.Func("blur")
    f[x, y] = (source[x, y] + source[x + 1, y] + source[x + 2, y]) / 3.0
    got = np.array(schedule(f).realize([64, 32], TARGET))
    wanted = (image[:32, :64] + image[:32, 1:65] + image[:32, 2:66]) / 3.0
    assert np.allclose(got, wanted, rtol=1e-5)


@check
def reduction():
    x, y = hl.Var("x"), hl.Var("y")
    r = hl.RDom([(0, 100)])
    f = hl.Func("sums")
    f[x, y] = 0
    f[x, y] += x * r + y
    xo, yo, xi, yi = (hl.Var(n) for n in ("xo", "yo", "xi", "yi"))
    schedule(f)
    f.update().gpu_tile(x, y, xo, yo, xi, yi, 16, 8)
    got = np.array(f.realize([32, 16], TARGET))
    yy, xx = np.mgrid[0:16, 0:32]
    assert np.array_equal(got, xx * 4950 + 100 * yy)


run()
