"""All rays at once in float32, each operation in the order of the source; rays that have ended keep their length."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import save

F = np.float32
WIDTH, HEIGHT, FAR = 150, 100, F(12)


def distance_to_scene(x, y, z):
    cx, cz = np.floor(x + F(0.5)), np.floor(z + F(0.5))
    odd = (cx.astype(int) + cz.astype(int)) & 1
    dx, dy, dz = x - cx, y - np.where(odd, F(0.25), F(0)), z - cz
    return np.minimum(np.sqrt(dx * dx + dy * dy + dz * dz) - F(0.4), y + F(0.4))


def march(start, direction, t, near, far, rays, steps):
    """Marches `rays`, a mask; adds to `steps` and returns the lengths."""
    t = np.full(rays.shape, t, F)
    running = rays.copy()
    for _ in range(120):
        distance = distance_to_scene(*(s + t * d for s, d in zip(start, direction)))
        running &= ~(distance < near)
        t = np.where(running, t + np.minimum(distance, F(0.3)), t)
        steps += running
        running &= ~(t > far)
    return t


px, py = np.meshgrid(np.arange(WIDTH, dtype=F), np.arange(HEIGHT, dtype=F))
eye = [F(0.1), F(1.2), F(-3)]
u = (px + F(0.5)) / F(HEIGHT) - F(0.75)
v = F(0.2) - (py + F(0.5)) / F(HEIGHT)
length = np.sqrt(u * u + v * v + F(1))
direction = [u / length, v / length, F(1) / length]

steps = np.zeros(px.shape, np.uint16)
t = march(eye, direction, 0, F(0.001), FAR, np.ones(px.shape, bool), steps)
hits = t <= FAR
hit = [e + t * d for e, d in zip(eye, direction)]
free = march(hit, [F(-0.48), F(0.64), F(-0.6)], 0.02, F(0.001), F(4), hits, steps)
image = np.where(hits, 64 + (np.minimum(free, F(4)) * F(40)).astype(np.uint32), 0).astype(np.uint8)
assert t.dtype == F and len(np.unique(image)) > 50
save(__file__, expected_image=image, expected_steps=steps)
