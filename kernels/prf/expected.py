"""Inputs and expected results of the kernels beside this file, computed without them: python3 expected.py"""

import math
from collections import deque

from npy import Random, f32, save

M = 0xFFFFFFFF


def saxpy():
    r = Random(1)
    x = [f32(4 * r.unit() - 2) for _ in range(1000)]
    y = [f32(4 * r.unit() - 2) for _ in range(1000)]
    out = [f32(f32(b * 2.5) + c) for b, c in zip(x, y)]
    save("saxpy", "f4", x=x, y=y, expected_y=out)


def if_else():
    r = Random(2)
    values = [r.below(100) - 40 for _ in range(300)]

    def f(v):
        return (v * v if v < 0 else 2 * v if v < 25 else v // 2) + 1

    save("if_else", "i4", values=values, expected_out=[f(v) for v in values])


def nested_20():
    r = Random(3)
    # The number of low ones decides how deep a lane goes.
    values = [(1 << (i * 7 % 22)) - 1 | r.word() << 22 & M for i in range(500)]

    def level(d, value, acc):
        if d == 20:
            return acc
        if value >> d & 1:
            acc = level(d + 1, value, acc + d + 1)
        else:
            acc = acc << 1 ^ d + 1
        return 9 * acc - d & M

    save("nested_20", values=values, expected_results=[level(0, v, 0) & M for v in values])


def collatz():
    # One halving a step; odd numbers are tripled first.
    def steps(n):
        count = 0
        while n != 1:
            n = (3 * n + 1) // 2 if n % 2 else n // 2
            count += 1
        return count

    save("collatz", expected_steps=[steps(i + 1) for i in range(700)])


def early_exit():
    r = Random(4)
    numbers = [r.below(5000) for _ in range(190)] + [9409, 9973, 0, 1, 2, 3, 4, 6, 9, 25]

    def factor(n):
        return next((d for d in range(2, n) if n % d == 0), n)

    save("early_exit", numbers=numbers, expected_factors=[factor(n) for n in numbers])


def bfs_step():
    r = Random(5)
    n = 400
    degrees = [20 if v % 61 == 0 else r.below(4) for v in range(n)]
    rows = [sum(degrees[:v]) for v in range(n + 1)]
    columns = [r.below(n) for _ in range(rows[-1])]
    distances = [-1] * n
    distances[0] = 0
    queue = deque([0])
    while queue:
        v = queue.popleft()
        for w in columns[rows[v] : rows[v + 1]]:
            if distances[w] < 0:
                distances[w] = distances[v] + 1
                queue.append(w)
    # Four launches are four levels.
    assert max(distances) > 5 and -1 in distances
    distances = [d if d <= 4 else -1 for d in distances]
    save("bfs_step", rows=rows, columns=columns)
    save("bfs_step", "i4", distances=[0] + [-1] * (n - 1), expected_distances=distances)


def kmeans_step():
    r = Random(6)
    points = [f32(10 * r.unit()) for _ in range(2 * 333)]
    centres = [f32(10 * r.unit()) for _ in range(2 * 7)]

    def nearest(i):
        def distance(c):
            x, y = (f32(centres[2 * c + j] - points[2 * i + j]) for j in range(2))
            return f32(f32(x * x) + f32(y * y))

        return min(range(7), key=lambda c: (distance(c), c))

    save("kmeans_step", "f4", points=points, centres=centres)
    save("kmeans_step", expected_nearest=[nearest(i) for i in range(333)])


def pathfinder_step():
    r = Random(7)
    n = 220
    grid = [[r.below(100) for _ in range(n)] for _ in range(4)]
    cost = grid[0]
    for row in grid[1:]:
        cost = [min(cost[max(0, i - 1) : i + 2]) + row[i] for i in range(n)]
    save("pathfinder_step", "i4", row0=grid[0], row1=grid[1], row2=grid[2], row3=grid[3], expected=cost)


def monte_carlo_pi():
    def stream(seed):
        while True:
            seed ^= seed << 13 & M
            seed ^= seed >> 17
            seed ^= seed << 5 & M
            yield f32(f32(seed >> 8) * 2.0**-24)

    def inside(i):
        s = stream(((i + 1) * 0x9E7799B1 & M) + 1 & M)
        points = ((next(s), next(s)) for _ in range(40))
        return sum(f32(f32(x * x) + f32(y * y)) < 1 for x, y in points)

    counts = [inside(i) for i in range(500)]
    assert abs(4 * sum(counts) / (500 * 40) - math.pi) < 0.05
    save("monte_carlo_pi", expected_inside=counts)


def vertex_transform():
    r = Random(8)
    vertices = [f32(6 * r.unit() - 3) for _ in range(3 * 150)]
    angle, depth = f32(0.7), f32(1.5)
    s, c = f32(math.sin(angle)), f32(math.cos(angle))
    out = []
    for i in range(0, len(vertices), 3):
        x, y, z = vertices[i : i + 3]
        turned = f32(f32(x * c) + f32(z * s))
        away = f32(f32(f32(z * c) - f32(x * s)) + depth)
        out += [f32(turned / away), f32(y / away), away] if away > 0 else [0.0, 0.0, away]
    assert any(w <= 0 for w in out[2::3])
    save("vertex_transform", "f4", vertices=vertices, expected_out=out)


def switch_4():
    r = Random(9)
    values = [r.below(64) for _ in range(270)]

    def case(v):
        match v & 7:
            case 0:
                return v + 5
            case 1:
                return -v
            case 2:
                return v ^ 7
            case 3:
                total = 0
                for i in range(1, v + 1, 2):
                    total += i
                    if total > 100:
                        break
                return total
            case _:
                return 2 * v

    save("switch_4", "i4", values=values, expected_out=[case(v) for v in values])


def mandelbrot():
    counts = []
    for i in range(40 * 25):
        y = f32(f32(f32(i // 40) * 0.125) + -1.5)
        x = f32(f32(f32(i % 40) * 0.125) + -2.75)
        zx = zy = 0.0
        count = 0
        while count < 50:
            a, b, ab = f32(zx * zx), f32(zy * zy), f32(zx * zy)
            if not f32(a + b) < 4:
                break
            zx, zy = f32(f32(a - b) + x), f32(f32(ab + ab) + y)
            count += 1
        counts.append(count)
    save("mandelbrot", expected_counts=counts)


if __name__ == "__main__":
    for kernel in [
        saxpy,
        if_else,
        nested_20,
        collatz,
        early_exit,
        bfs_step,
        kmeans_step,
        pathfinder_step,
        monte_carlo_pi,
        vertex_transform,
        switch_4,
        mandelbrot,
    ]:
        kernel()
