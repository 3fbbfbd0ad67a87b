"""Expected results and block issues of the kernels written in PTX here, from models that know only their flow graphs.

    python expected.py          writes the arrays beside the launch files
    python expected.py --model  prints block issues by mechanism, warp size and kernel

Each thread walks its graph alone; what it stores is a hash of the blocks that it came by. For the counts, block-level models of four
mechanisms run the same graphs: they share no code with the program.
"""

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
M = 0xFFFFFFFF


# Graphs: block -> (number in the hash, true successor, false successor), in layout order; "" ends. A condition is a function of
# block, thread and state.
def graph(text):
    return {name: (int(n), t, f) for name, n, t, f in (line.split() for line in text.strip().splitlines())}


SHORT = graph("""
A0 1 A1 B3
A1 2 C6 A2
A2 3 C6 B3
B3 4 C6 B4
B4 5 B5 F
B5 6 C6 F
C6 7 T C7
C7 8 C8 F
C8 9 T F
T 10 X X
F 11 X X
X 12 - -
""")
LOOP = graph("""
E 1 H H
H 2 B P
B 3 C I
I 4 H H
P 5 H2 H2
H2 6 B2 R
B2 7 H2 H2
R 8 X X
C 9 X X
X 10 - -
""")
COND = graph("""
E 1 A P
A 2 C A2
A2 3 P P
P 4 H2 H2
H2 5 B2 R
B2 6 H2 H2
R 7 X X
C 8 X X
X 9 - -
""")
CALL = graph("""
E 1 F1 F2
F1 2 C F1b
F1b 3 P P
F2 4 C F2b
F2b 5 P P
P 6 H2 H2
H2 7 B2 R
B2 8 H2 H2
R 9 X X
C 10 X X
X 11 - -
""")
MERGE = graph("""
A 1 S0 T
S0 2 F F
T 3 S1 Z
S1 4 F F
F 5 H H
H 6 B D
B 7 H H
D 8 R0 R1
R0 9 M M
R1 10 M M
Z 11 M M
M 12 X X
X 13 - -
""")


def counted(state, key, limit):
    state[key] = state.get(key, 0) + 1
    return state[key] <= limit


CONDITIONS = {
    "short_circuit": lambda b, t, s: t >> "A0 A1 A2 B3 B4 B5 C6 C7 C8".split().index(b) & 1,
    "exception_loop": lambda b, t, s: {"H": lambda: counted(s, "i", t), "H2": lambda: counted(s, "j", 100)}.get(b, lambda: 0)(),
    "exception_cond": lambda b, t, s: {"E": lambda: t % 2, "H2": lambda: counted(s, "j", 100)}.get(b, lambda: 0)(),
    "exception_call": lambda b, t, s: {"E": lambda: t == 0, "H2": lambda: counted(s, "j", 100)}.get(b, lambda: 0)(),
    "split_merge": lambda b, t, s: {"A": lambda: t % 2, "T": lambda: t != 0, "H": lambda: counted(s, "j", 100), "D": lambda: t % 2}[b](),
}
GRAPHS = {"short_circuit": SHORT, "exception_loop": LOOP, "exception_cond": COND, "exception_call": CALL, "split_merge": MERGE}
THREADS = 512


def walk(name, thread):
    """The blocks that a thread visits."""
    blocks, state, at, seen = GRAPHS[name], {}, next(iter(GRAPHS[name])), []
    while at != "-":
        seen.append(at)
        _, t, f = blocks[at]
        at = t if t == f else (t if CONDITIONS[name](at, thread, state) else f)
    return seen


def hash_of(name, thread):
    h = 0
    for block in walk(name, thread):
        h = (h * 31 + GRAPHS[name][block][0]) & M
    return h


def postdominators(blocks):
    """Immediate post-dominators by the definition: sets, then the closest."""
    names = list(blocks)
    after = {b: [s for s in set(blocks[b][1:]) if s != "-"] for b in names}
    sets = {b: set(names) for b in names}
    changed = True
    while changed:
        changed = False
        for b in names:
            common = set.intersection(*(sets[s] for s in after[b])) if after[b] else set()
            if sets[b] != common | {b}:
                sets[b], changed = common | {b}, True
    closest = {}
    for b in names:
        strict = sets[b] - {b}
        closest[b] = next((c for c in strict if sets[c] == strict), None)
    return closest


def issues(name, width, mechanism):
    """Block issues of all groups, from the walks of their threads."""
    order = {b: i for i, b in enumerate(GRAPHS[name])}
    meet = postdominators(GRAPHS[name])
    total = 0
    for first in range(0, THREADS, width):
        walks = {t: walk(name, t) + ["-"] for t in range(first, first + width)}
        place = dict.fromkeys(walks, 0)
        here = lambda t: walks[t][place[t]]  # noqa: B023, E731
        if mechanism == "serial":
            total += sum(len(w) - 1 for w in walks.values())
        elif mechanism == "min-pc":
            while live := [t for t in walks if here(t) != "-"]:
                low = min(order[here(t)] for t in live)
                for t in live:
                    if order[here(t)] == low:
                        place[t] += 1
                total += 1
        else:
            # A call runs lanes until all have come to the block at which they are to meet (none: the end).
            todo = [(list(walks), None)]
            while todo:
                lanes, end = todo.pop()
                while True:
                    at = here(lanes[0])
                    if at in ("-", end):
                        break
                    for t in lanes:
                        place[t] += 1
                    total += 1
                    ways = {}
                    for t in lanes:
                        ways.setdefault(here(t), []).append(t)
                    if len(ways) > 1:
                        rejoin = meet[at] if mechanism == "ipdom" else None
                        if rejoin is not None and rejoin != end:
                            todo.append((lanes, end))
                            end = rejoin
                        todo.extend((group, end) for to, group in ways.items() if to != end)
                        break
    return total


def words(count, start=0):
    return np.arange(start, start + count, dtype=np.uint32)


def save(folder, **arrays):
    for name, array in arrays.items():
        np.save(HERE / folder / f"{name}.npy", array)


def main():
    for name in GRAPHS:
        save(name, expected=np.array([hash_of(name, t) for t in range(THREADS)], np.uint32))
    ones = (words(THREADS) % 2).astype(np.uint32)
    save("exception_cond", input=ones)
    save("exception_loop", input=ones)

    for k in (1, 2, 4, 8, 16, 32):
        thread = words(64)
        value = thread * (2 * (thread % k) + 3)
        for j in range(6):
            value = value * np.uint32(1664525) + (np.uint32(1013904223) + (thread % k) * np.uint32(97) + np.uint32(j))
        save("switch_k", **{f"expected_{k}": value.astype(np.uint32)})

    trips = 1 + (words(256).astype(np.uint64) * 2654435761 % 2**32 >> np.uint64(25)).astype(np.uint32)
    value = words(256)
    for step in range(int(trips.max())):
        value = np.where(trips > step, value * np.uint32(1664525) + np.uint32(1013904223), value)
    save("trip_count", trips=trips, expected=value.astype(np.uint32))

    def sides(thread):
        h = 0
        path = "1" + "".join(str(thread >> i & 1) for i in range(5))
        numbers = [int(path, 2) + 1] + [(201 if thread >> i & 1 else 101) + i for i in reversed(range(5))] + [7]
        for n in numbers:
            h = (h * 31 + n) & M
        return h

    save("nested", expected=np.array([sides(t) for t in range(64)], np.uint32))


if __name__ == "__main__":
    if "--model" in sys.argv:
        for name in GRAPHS:
            for width in (512, 32):
                print(name, width, {m: issues(name, width, m) for m in ("serial", "barrier-only", "ipdom", "min-pc")})
    else:
        main()
