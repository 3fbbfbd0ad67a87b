"""Two steps, all bodies at once, one attracting body after the other, with the roundings of the source."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import fma32, save, uniform

F = np.float32
COUNT, DT, SOFTENING = 150, F(0.01), F(0.05)


def step(positions, velocities):
    acceleration = np.zeros((COUNT, 3), F)
    for body in positions:
        d = body[:3] - positions[:, :3]
        dx, dy, dz = d.T
        square = fma32(dx, dx, fma32(dy, dy, fma32(dz, dz, SOFTENING)))
        inverse = F(1) / np.sqrt(square)
        factor = body[3] * inverse * inverse * inverse
        acceleration = fma32(d, factor[:, None], acceleration)
    velocities = np.column_stack([fma32(acceleration, DT, velocities[:, :3]), velocities[:, 3]])
    return np.column_stack([fma32(velocities[:, :3], DT, positions[:, :3]), positions[:, 3]]), velocities


positions = uniform(1, (COUNT, 4), -1, 1)
positions[:, 3] = np.abs(positions[:, 3])
velocities = uniform(2, (COUNT, 4), -0.5, 0.5)
velocities[:, 3] = 0
after, faster = step(*step(positions, velocities))

# Forces come in pairs: momentum is conserved but for rounding.
mass = positions[:, 3:].astype(float)
assert np.allclose((mass * velocities[:, :3]).sum(0), (mass * faster[:, :3]).sum(0), atol=1e-4)
save(__file__, positions=positions, velocities=velocities, expected_positions=after, expected_velocities=faster)
