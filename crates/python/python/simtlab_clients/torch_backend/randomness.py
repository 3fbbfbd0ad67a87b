"""Random numbers of operators on the host, from the state of CUDA's generators.

Each call of an operator has a CPU generator of its own, seeded by the seed and the offset of the CUDA generator, whose offset then
moves on as it does on a device. So seeds, saved and restored states, and forked generators work as there, and two equal runs
draw equal numbers. They are not the numbers that a GPU draws.
"""

import struct
from typing import Any, Optional

import torch

#: By how much a call moves the offset on: a device does so by a multiple of 4 that depends on the launch.
_STEP = 4

_MASK = (1 << 64) - 1


def _mixed(seed: int, offset: int) -> int:
    """A seed from a seed and an offset: the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) after each."""
    value = seed & _MASK
    for word in (offset, 0x9E3779B97F4A7C15):
        value = (value + word + 0x9E3779B97F4A7C15) & _MASK
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
        value ^= value >> 31
    return value


def default_generator(device: Optional[torch.device]) -> Any:
    """CUDA's default generator of a device."""
    index = device.index if device is not None and device.index is not None else torch.cuda.current_device()
    return torch.cuda.default_generators[index]


def draw_seed(generator: Any) -> int:
    """The seed of the next call with a CUDA generator, which moves on."""
    state = generator.get_state()
    seed, offset = struct.unpack("<QQ", bytes(state[:16].tolist()))
    moved = struct.pack("<QQ", seed, (offset + _STEP) & _MASK)
    state[:16] = torch.frombuffer(bytearray(moved), dtype=torch.uint8)
    generator.set_state(state)
    return _mixed(seed, offset)


def seeded(seed: int) -> torch.Generator:
    """A CPU generator with a seed."""
    made = torch.Generator(device="cpu")
    made.manual_seed(seed)
    return made


class DefaultSeeded:
    """While it is entered, the CPU's default generator draws from a seed: for operators that take no generator."""

    def __init__(self, seed: int):
        self._seed = seed

    def __enter__(self) -> None:
        self._state = torch.default_generator.get_state()
        torch.default_generator.manual_seed(self._seed)

    def __exit__(self, *_: Any) -> None:
        torch.default_generator.set_state(self._state)
