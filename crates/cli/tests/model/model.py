"""A second model of convergence mechanisms, written from their descriptions, that shares nothing with Simtlab.

It makes random kernels, computes how many instructions groups issue under serial execution, `ipdom`, `tf-stack` with the
compiler's priorities, `min-pc` and `convergence-barriers`, and holds `simtlab compare --json` against that.

    python3 model.py SIMTLAB FOLDER SEED COUNT

Descriptions: Fung et al., MICRO 2007 (stack with immediate post-dominators); Diamos et al., MICRO 2011, and the order of
docs/mechanisms.md (thread frontiers); Collange 2011 (lowest place first); Huerta et al., 2024 (convergence barriers), on graphs
without cycles.
"""

import json
import pathlib
import random
import subprocess
import sys

FUEL = 60
MASK = 0xFFFFFFFF


class Kernel:
    """Blocks 0 .. n-1 and an exit. Each block changes `x`, and goes on by a bit of it; a counter ends every walk."""

    def __init__(self, rng, cyclic):
        self.n = rng.randrange(3, 12)
        self.exit = self.n
        self.cyclic = cyclic
        self.work = [rng.randrange(1, 5) for _ in range(self.n)]
        self.bit = [rng.randrange(4, 28) for _ in range(self.n)]
        self.ends = []
        for b in range(self.n):
            low = 0 if cyclic and rng.random() < 0.4 else b + 1
            pick = lambda: rng.randrange(max(low, 1), self.n + 1) if low < self.n else self.exit
            kind = rng.random()
            if b + 1 > self.n - 1 or kind < 0.15:
                self.ends.append(("jump", pick() if low <= self.n else self.exit))
            elif kind < 0.3:
                self.ends.append(("fall", b + 1))
            else:
                self.ends.append(("branch", pick()))
        self.lower()

    def lower(self):
        """Instructions: what a lane does, one after another; `at` is the first of each basic block."""
        self.code = [("op",)] * 6  # the prologue: parameter, address, lane, seed
        self.blocks = []  # basic blocks: [first, end, successors], fall-through first
        starts = {}
        fix = []

        def close(first, successors):
            self.blocks.append([first, len(self.code), successors])

        first = 0
        for b in range(self.n):
            if b > 0:
                first = len(self.code)
            starts[b] = first
            for _ in range(self.work[b]):
                self.code.append(("mul",))
                self.code.append(("add", b))
            if self.cyclic:
                self.code += [("count",), ("op",)]
                self.code.append(("out", None))
                close(first, ["next", self.exit])
                first = len(self.code)
            kind, to = self.ends[b]
            if kind == "fall":
                close(first, [b + 1])
                continue
            if kind == "jump":
                self.code.append(("jump", to))
                close(first, [to])
            else:
                self.code += [("op",), ("op",), ("op",)]
                self.code.append(("branch", self.bit[b], to))
                close(first, [b + 1, to] if to != b + 1 else [b + 1])
        starts[self.exit] = len(self.code)
        first = len(self.code)
        self.code += [("op",), ("end",)]
        close(first, [])
        index = {block[0]: i for i, block in enumerate(self.blocks)}
        for i, block in enumerate(self.blocks):
            names = [i + 1 if s == "next" else index[starts[s]] for s in block[2]]
            block[2] = list(dict.fromkeys(names))
        self.starts = starts

    def ptx(self):
        out = [
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out) {",
            ".reg .b32 %x, %t, %n, %i; .reg .pred %p, %q; .reg .b64 %out, %at;",
            "mov.u32 %i, %tid.x; ld.param.u64 %out, [out]; mul.wide.u32 %at, %i, 4; add.u64 %out, %out, %at;",
            "mad.lo.u32 %x, %i, 747796405, 2891336453; mov.u32 %n, 0;",
        ]
        for b in range(self.n):
            out.append(f"B{b}:")
            for _ in range(self.work[b]):
                out.append(f"mul.lo.u32 %x, %x, 1664525; add.u32 %x, %x, {1013904223 + b};")
            if self.cyclic:
                out.append(f"add.u32 %n, %n, 1; setp.gt.u32 %q, %n, {FUEL}; @%q bra EXIT;")
            kind, to = self.ends[b]
            name = "EXIT" if to == self.exit else f"B{to}"
            if kind == "jump":
                out.append(f"bra {name};")
            elif kind == "branch":
                out.append(f"shr.u32 %t, %x, {self.bit[b]}; and.b32 %t, %t, 1; setp.ne.u32 %p, %t, 0; @%p bra {name};")
        out.append("EXIT: st.global.u32 [%out], %x; ret;\n}")
        return "\n".join(out) + "\n"

    def step(self, lane, pc):
        """What the instruction at a place does to a lane: its next place, or none at the end."""
        what = self.code[pc]
        if what[0] == "mul":
            lane["x"] = lane["x"] * 1664525 & MASK
        elif what[0] == "add":
            lane["x"] = lane["x"] + 1013904223 + what[1] & MASK
        elif what[0] == "count":
            lane["n"] += 1
        elif what[0] == "out":
            return self.starts[self.exit] if lane["n"] > FUEL else pc + 1
        elif what[0] == "jump":
            return self.starts[what[1]]
        elif what[0] == "branch":
            return self.starts[what[2]] if lane["x"] >> what[1] & 1 else pc + 1
        elif what[0] == "end":
            return None
        return pc + 1

    def lanes(self, width):
        return [{"x": tid * 747796405 + 2891336453 & MASK, "n": 0} for tid in range(width)]


def post_dominators(blocks):
    """The immediate post-dominator of each block, by sets; the last block ends."""
    n = len(blocks)
    sets = [set(range(n)) for _ in range(n)]
    sets[n - 1] = {n - 1}
    changed = True
    while changed:
        changed = False
        for b in reversed(range(n - 1)):
            new = set.intersection(*(sets[s] for s in blocks[b][2])) | {b}
            changed |= new != sets[b]
            sets[b] = new
    # The nearest: of the others the one that all others post-dominate.
    return [max((d for d in sets[b] if d != b), key=lambda d: len(sets[d]), default=None) for b in range(n)]


def dominators(blocks):
    """The dominators of each block, by sets; of what cannot be reached, all."""
    n = len(blocks)
    sets = [set(range(n)) for _ in range(n)]
    sets[0] = {0}
    changed = True
    while changed:
        changed = False
        for b in range(1, n):
            before = [sets[a] for a in range(n) if b in blocks[a][2]]
            new = (set.intersection(*before) if before else set(range(n))) | {b}
            changed |= new != sets[b]
            sets[b] = new
    return sets


def components(nodes, edges):
    """Strongly connected components of a part of a graph, by reachability."""
    reach = {}
    for start in nodes:
        seen, todo = set(), [start]
        while todo:
            for to in edges.get(todo.pop(), ()):
                if to in nodes and to not in seen:
                    seen.add(to)
                    todo.append(to)
        reach[start] = seen
    out, done = [], set()
    for a in nodes:
        if a not in done:
            group = {a} | {b for b in reach[a] if a in reach[b]}
            done |= group
            out.append((group, a in reach[a]))
    return out


def priorities(blocks):
    """The compiler's order: a topological order of the loop nest, with the longest way out first; what only goes back counts as
    the longest; ties by index."""
    entry_order, seen = [], set()

    def walk(b):
        stack = [(b, iter(blocks[b][2]))]
        seen.add(b)
        entry_order.append(b)
        while stack:
            for to in stack[-1][1]:
                if to not in seen:
                    seen.add(to)
                    entry_order.append(to)
                    stack.append((to, iter(blocks[to][2])))
                    break
            else:
                stack.pop()

    walk(0)
    rank = {b: i for i, b in enumerate(entry_order)}
    nodes = set(entry_order)
    reducible = True

    def level(nodes, header):
        nonlocal reducible
        edges = {b: [s for s in blocks[b][2] if s in nodes and s != header] for b in nodes}
        groups = components(nodes, edges)
        item_of, items = {}, []
        for group, cyclic in groups:
            head = min(group, key=rank.get) if cyclic else next(iter(group))
            entries = {s for b in entry_order if b not in group for s in blocks[b][2] if s in group}
            reducible &= not cyclic or entries <= {head}
            items.append((head, group, cyclic))
            item_of.update({b: head for b in group})
        successors = {head: set() for head, _, _ in items}
        for b in nodes:
            for s in edges[b]:
                if item_of[s] != item_of[b]:
                    successors[item_of[b]].add(item_of[s])
        leaves = {
            head: header is None or any(s not in nodes for b in group for s in blocks[b][2]) for head, group, _ in items
        }
        height = {}

        def high(head):
            if head not in height:
                below = successors[head]
                height[head] = max((high(s) + 1 for s in below), default=0 if leaves[head] else 10**6)
            return height[head]

        waiting = {head: 0 for head, _, _ in items}
        for head in successors:
            for s in successors[head]:
                waiting[s] += 1
        by_head = {head: (group, cyclic) for head, group, cyclic in items}
        ready, order = [h for h in waiting if waiting[h] == 0], []
        while ready:
            ready.sort(key=lambda h: (-high(h), h))
            head = ready.pop(0)
            group, cyclic = by_head[head]
            order += level(group, head) if cyclic else [head]
            for s in successors[head]:
                waiting[s] -= 1
                if waiting[s] == 0:
                    ready.append(s)
        return order

    order = level(nodes, None)
    # In a loop with several entries, which of them is the header is a matter of taste.
    return {b: i for i, b in enumerate(order)} if reducible else None


class Model:
    def __init__(self, kernel, width):
        self.k, self.width = kernel, width
        self.block_of = {}
        for i, (first, end, _) in enumerate(kernel.blocks):
            self.block_of.update({pc: i for pc in range(first, end)})

    def move(self, lanes, mask, pc):
        """Runs the instruction for lanes; where they go."""
        targets = {}
        for lane in mask:
            to = self.k.step(lanes[lane], pc)
            if to is not None:
                targets.setdefault(to, set()).add(lane)
        return targets

    def serial(self):
        issues = 0
        for lane in self.k.lanes(self.width):
            pc = 0
            while pc is not None:
                pc = self.k.step(lane, pc)
                issues += 1
        return issues

    def ipdom(self):
        lanes, issues = self.k.lanes(self.width), 0
        join = post_dominators(self.k.blocks)
        stack = [[0, None, set(range(self.width))]]
        while stack:
            pc, rejoin, mask = stack[-1]
            if pc == rejoin or not mask:
                stack.pop()
                continue
            issues += 1
            targets = self.move(lanes, mask, pc)
            if len(targets) == 0:
                stack.pop()
            elif len(targets) == 1:
                stack[-1][0] = next(iter(targets))
            else:
                meet = self.k.blocks[join[self.block_of[pc]]][0]
                stack[-1][0] = meet
                for to, side in targets.items():
                    if to != meet:
                        stack.append([to, meet, side])
        return issues

    def ranked(self, rank):
        lanes, issues = self.k.lanes(self.width), 0
        paths = {0: set(range(self.width))}
        while paths:
            pc = min(paths, key=rank)
            mask = paths.pop(pc)
            issues += 1
            for to, side in self.move(lanes, mask, pc).items():
                paths.setdefault(to, set()).update(side)
        return issues

    def tf(self):
        order = priorities(self.k.blocks)
        if order is None:
            return None
        return self.ranked(lambda pc: (order[self.block_of[pc]], pc))

    def min_pc(self):
        return self.ranked(lambda pc: pc)

    def barriers(self):
        """Convergence barriers, on graphs without cycles: one is set in front of each branch, and waited for where its ways meet."""
        blocks, join = self.k.blocks, post_dominators(self.k.blocks)
        branches = [b for b in range(len(blocks)) if len(blocks[b][2]) > 1]
        # A branch that is dominated by another one whose ways meet at the same place is covered by that one's barrier.
        above = dominators(blocks)
        branches = [b for b in branches if not any(a != b and a in above[b] and join[a] == join[b] for a in branches)]
        waits = {}
        for b in branches:
            waits.setdefault(join[b], []).append(b)
        lanes, issues = self.k.lanes(self.width), 0
        members, waiting = {}, {}
        # A place: an instruction, and how many of the waits in front of it are behind the lanes.
        stack = [((0, 0), set(range(self.width)))]
        while stack:
            (pc, done), mask = stack.pop()
            block = self.block_of[pc]
            here = waits.get(block, []) if pc == blocks[block][0] else []
            # The barrier that was set last is waited for first.
            here = list(reversed(here))
            if done < len(here):
                issues += 1
                barrier = here[done]
                mine = mask & members.get(barrier, set())
                if mask - mine:
                    stack.append(((pc, done + 1), mask - mine))
                if mine:
                    waiting.setdefault(barrier, set()).update(mine)
                    if waiting[barrier] == members[barrier]:
                        stack.append(((pc, done + 1), waiting.pop(barrier)))
                        del members[barrier]
                continue
            if pc == blocks[block][1] - 1 and block in branches:
                issues += 1
                members[block] = set(mask)
            issues += 1
            targets = self.move(lanes, mask, pc)
            # Turing runs the larger side first; of equal ones the lower place.
            for to, side in sorted(targets.items(), key=lambda t: (-len(t[1]), t[0]), reverse=True):
                stack.append(((to, 0), side))
        assert not waiting
        return issues


def main(simtlab, folder, seed, count):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rows = wrong = skipped = 0
    for index in range(count):
        rng = random.Random(seed * 1000 + index)
        cyclic = index % 2 == 0
        kernel = Kernel(rng, cyclic)
        path = folder / f"k{index}.ptx"
        path.write_text(kernel.ptx())
        names = ["serial", "ipdom", "tf-stack", "min-pc"] + ([] if cyclic else ["convergence-barriers"])
        command = [simtlab, "compare", str(path), "--grid", "1", "--block", "32", "--arg", "out=u32[32]:zeros", "--json", "-"]
        command += ["--mechanisms", ",".join(names), "--warp-size", "4,32", "--jobs", "1"]
        ran = subprocess.run(command, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr + path.read_text()
        for row in json.loads(ran.stdout)["rows"]:
            width = row["warp_size"]
            model = {"serial": "serial", "ipdom": "ipdom", "tf-stack": "tf", "min-pc": "min_pc"}
            method = model.get(row["mechanism"], "barriers")
            parts = [getattr(Model(Shifted(kernel, first), width), method)() for first in range(0, 32, width)]
            if None in parts:
                skipped += 1
                continue
            expected = sum(parts)
            rows += 1
            if expected != row["inst_executed"]:
                wrong += 1
                print(f"{path} {row['mechanism']} W={width}: model {expected}, simtlab {row['inst_executed']}")
    print(f"{rows - wrong} of {rows} rows equal; {skipped} left out: thread frontiers on irreducible loops")
    return 1 if wrong else 0


class Shifted:
    """The kernel for the group whose first thread is a later one."""

    def __init__(self, kernel, first):
        self.kernel, self.first = kernel, first

    def __getattr__(self, name):
        return getattr(self.kernel, name)

    def lanes(self, width):
        return self.kernel.lanes(self.first + width)[self.first :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
