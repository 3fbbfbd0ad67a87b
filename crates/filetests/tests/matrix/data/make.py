"""Writes the file tests of `mma` with their arrays: python3 make.py"""

import pathlib

import numpy as np
import tiles
from products import FAMILIES, arrays, kernel

HERE = pathlib.Path(__file__).parent
ABOUT = dict(
    halves="Products of half precision: fragments of four products at once and of one, sums of half and of single precision.",
    floats="Products of bfloat16, tf32 and floats of eight bits.",
    doubles="Products of double precision: chains of fused multiply-adds.",
    integers="Products of bytes, of integers of four bits and of bits, some of which saturate.",
    sparse="Products with a sparse left factor: every shape and type, every selector.",
)
BLOCKS = dict(halves=3, floats=3, doubles=3, integers=2, sparse=2)
TARGET = dict(halves=("8.0", "sm_80"), floats=("8.7", "sm_89"), doubles=("7.8", "sm_90"), integers=("7.1", "sm_80"),
              sparse=("8.5", "sm_89"))

for number, name in enumerate(FAMILIES):
    blocks = BLOCKS[name]
    taken, given = arrays(name, blocks, number)
    np.save(HERE / f"{name}_in.npy", taken)
    np.save(HERE / f"{name}_out.npy", given)
    ty = "u64" if name == "doubles" else "u32"
    version, target = TARGET[name]
    text = f"""// {ABOUT[name]}
// Made by data/make.py; results are those of data/oracle.py, which knows nothing of this program's code.
//: run: --grid {blocks} --block 32 --arg in=@data/{name}_in.npy --arg out={ty}[{given.size}]
//: expect: out = @data/{name}_out.npy
.version {version}
.target {target}
.address_size 64
"""
    (HERE.parent / f"mma-{name}.ptx").write_text(text + kernel(name)[0])
    print(name, "products", len(list(FAMILIES[name]())), "results", given.size)

tiles.write(HERE)
