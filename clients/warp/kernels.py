"""Kernels of NVIDIA Warp beside NumPy."""

import numpy as np
import warp as wp

from checks import check, run

wp.init()
DEVICE = "cuda:0"
RNG = np.random.default_rng(7)


@wp.kernel
def scale(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@check
def elementwise():
    x, y = (RNG.random(10_000, np.float32) for _ in range(2))
    on_x, on_y = (wp.array(v, dtype=float, device=DEVICE) for v in (x, y))
    wp.launch(scale, dim=len(x), inputs=[on_x, on_y, 2.5], device=DEVICE)
    np.testing.assert_allclose(on_y.numpy(), np.float32(2.5) * x + y, rtol=1e-6)


@wp.kernel
def bins(x: wp.array(dtype=int), counts: wp.array(dtype=int), largest: wp.array(dtype=int)):
    v = x[wp.tid()]
    wp.atomic_add(counts, v % 16, 1)
    wp.atomic_max(largest, 0, v)


@check
def atomics():
    x = RNG.integers(0, 1000, 5000).astype(np.int32)
    counts, largest = wp.zeros(16, dtype=int, device=DEVICE), wp.zeros(1, dtype=int, device=DEVICE)
    wp.launch(bins, dim=len(x), inputs=[wp.array(x, dtype=int, device=DEVICE), counts, largest], device=DEVICE)
    assert (counts.numpy() == np.bincount(x % 16, minlength=16)).all() and largest.numpy()[0] == x.max()


@wp.struct
class Body:
    position: wp.vec3
    rotation: wp.quat
    mass: float


@wp.kernel
def move(bodies: wp.array(dtype=Body), step: wp.vec3, out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    body = bodies[i]
    out[i] = wp.quat_rotate(body.rotation, body.position) * body.mass + step


@check
def structures_vectors_and_quaternions():
    n = 64
    dtype = Body.numpy_dtype()
    rows = np.zeros(n, dtype)
    rows["position"], rows["mass"] = RNG.random((n, 3)), RNG.random(n)
    q = RNG.standard_normal((n, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    rows["rotation"] = q
    out = wp.zeros(n, dtype=wp.vec3, device=DEVICE)
    bodies = wp.array(rows, dtype=Body, device=DEVICE)
    wp.launch(move, dim=n, inputs=[bodies, wp.vec3(1.0, 2.0, 3.0), out], device=DEVICE)
    p, v, w = rows["position"], q[:, :3], q[:, 3:]
    turned = p + 2 * np.cross(v, np.cross(v, p) + w * p)
    np.testing.assert_allclose(out.numpy(), turned * rows["mass"][:, None] + [1, 2, 3], rtol=1e-4, atol=1e-5)


@check
def scans_sorts_and_sums():
    x = RNG.integers(0, 100, 3000).astype(np.int32)
    on, out = wp.array(x, dtype=int, device=DEVICE), wp.zeros(len(x), dtype=int, device=DEVICE)
    wp.utils.array_scan(on, out, inclusive=True)
    assert (out.numpy() == np.cumsum(x)).all()
    keys, values = (wp.zeros(2 * len(x), dtype=int, device=DEVICE) for _ in range(2))
    wp.copy(keys, on, count=len(x))
    wp.copy(values, wp.array(np.arange(len(x), dtype=np.int32), device=DEVICE), count=len(x))
    wp.utils.radix_sort_pairs(keys, values, len(x))
    order = np.argsort(x, kind="stable")
    assert (values.numpy()[: len(x)] == order).all() and (keys.numpy()[: len(x)] == x[order]).all()
    floats = RNG.random(4097).astype(np.float32)
    total = wp.utils.array_sum(wp.array(floats, dtype=float, device=DEVICE))
    assert abs(total - floats.sum(dtype=np.float64)) < 1e-2


@wp.kernel
def energy(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.sin(x[i]) * x[i])


@check
def gradients():
    x = RNG.random(200, np.float32)
    on = wp.array(x, dtype=float, device=DEVICE, requires_grad=True)
    loss = wp.zeros(1, dtype=float, device=DEVICE, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(energy, dim=len(x), inputs=[on, loss], device=DEVICE)
    tape.backward(loss)
    np.testing.assert_allclose(on.grad.numpy(), np.cos(x) * x + np.sin(x), rtol=1e-4)


@wp.kernel
def nearest(mesh: wp.uint64, points: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    query = wp.mesh_query_point_no_sign(mesh, points[i], 100.0)
    out[i] = wp.length(points[i] - wp.mesh_eval_position(mesh, query.face, query.u, query.v))


@check
def distances_to_a_mesh():
    # The square from (0, 0, 0) to (1, 1, 0).
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], np.float32)
    mesh = wp.Mesh(
        wp.array(corners, dtype=wp.vec3, device=DEVICE), wp.array([0, 1, 2, 0, 2, 3], dtype=int, device=DEVICE)
    )
    points = (RNG.random((100, 3)) * 3 - 1).astype(np.float32)
    out = wp.zeros(len(points), dtype=float, device=DEVICE)
    wp.launch(nearest, dim=len(points), inputs=[mesh.id, wp.array(points, dtype=wp.vec3, device=DEVICE), out], device=DEVICE)
    wanted = np.linalg.norm(points - np.clip(points, [0, 0, 0], [1, 1, 0]), axis=1)
    np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-4, atol=1e-5)


@wp.kernel
def neighbours(grid: wp.uint64, points: wp.array(dtype=wp.vec3), radius: float, counts: wp.array(dtype=int)):
    i = wp.tid()
    count = int(0)
    for other in wp.hash_grid_query(grid, points[i], radius):
        if wp.length(points[i] - points[other]) <= radius:
            count += 1
    counts[i] = count


@check
def neighbours_in_a_grid():
    points = RNG.random((300, 3)).astype(np.float32)
    on = wp.array(points, dtype=wp.vec3, device=DEVICE)
    grid = wp.HashGrid(16, 16, 16, device=DEVICE)
    grid.build(on, 0.2)
    counts = wp.zeros(len(points), dtype=int, device=DEVICE)
    wp.launch(neighbours, dim=len(points), inputs=[grid.id, on, 0.2, counts], device=DEVICE)
    apart = np.linalg.norm(points[:, None].astype(np.float64) - points[None], axis=2)
    assert (counts.numpy() == (apart <= 0.2).sum(axis=1)).all()


@wp.kernel
def tile_rows(x: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    row = wp.tile_load(x[i], shape=64)
    wp.tile_store(out, wp.tile_sum(row), offset=i)


@check
def tiles():
    x = RNG.random((20, 64), np.float32)
    out = wp.zeros(20, dtype=float, device=DEVICE)
    wp.launch_tiled(tile_rows, dim=[20], inputs=[wp.array(x, dtype=float, device=DEVICE), out], block_dim=64, device=DEVICE)
    np.testing.assert_allclose(out.numpy(), x.sum(axis=1), rtol=1e-5)


@check
def captured_graphs():
    x, y = (wp.full(256, value, dtype=float, device=DEVICE) for value in (1.0, 0.0))
    wp.load_module(device=DEVICE)
    with wp.ScopedCapture(device=DEVICE) as capture:
        for _ in range(3):
            wp.launch(scale, dim=256, inputs=[x, y, 2.0], device=DEVICE)
    for _ in range(4):
        wp.capture_launch(capture.graph)
    assert (y.numpy() == 24).all()


run()
