"""A second model of mechanisms, written from their papers and docs/mechanisms.md, against `compare` on random graphs.

The model interprets a program of places 0, 1, ..: each lane has a state that one instruction of each block hashes, and conditional branches look at
it. It knows nothing of the package but the PTX text that is made of the same program. All counters of all rows have to be equal.
"""

import random

import pytest
import simtlab

BLOCK, WIDTHS = 64, (4, 8, 32)
COUNTERS = ("inst_executed", "thread_inst_executed", "block_issues", "branches", "divergent_branches")
END, MASK = "end", 0xFFFFFFFF


class Program:
    """Blocks with a body of `work` instructions, a constant, and one or two successors (the taken one first); the last block ends.

    As instructions: ("hash", constant, bit) for the five of a hash and test, ("plain",), ("branch", place), ("jump", place), ("end",)."""

    def __init__(self, blocks):
        self.blocks, self.code, text = blocks, [], []
        starts, fixups = [], []
        for index, (work, constant, successors) in enumerate(blocks):
            starts.append(len(self.code))
            text.append(f"L{index}:")
            for _ in range(work):
                self.code.append(("plain",))
                text.append("add.u32 %w, %w, 1;")
            if not successors:
                self.code += [("plain",)] * 2 + [("end",)]
                text += ["add.u32 %s, %s, %w;", "st.global.u32 [%d], %s;", "ret;"]
                continue
            if len(successors) == 2:
                self.code += [("hash", constant), ("plain",), ("plain",), ("plain",)]
                text += [f"mad.lo.u32 %s, %s, 1664525, {constant};", "shr.u32 %t, %s, 24;", "and.b32 %t, %t, 1;", "setp.ne.u32 %p, %t, 0;"]
                fixups.append((len(self.code), "branch", successors[0]))
                self.code.append(None)
                text.append(f"@%p bra L{successors[0]};")
            if successors[-1] != index + 1:
                fixups.append((len(self.code), "jump", successors[-1]))
                self.code.append(None)
                text.append(f"bra L{successors[-1]};")
        for at, kind, block in fixups:
            self.code[at] = (kind, starts[block])
        self.ptx = (
            ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out) {\n  .reg .pred %p; .reg .b32 %s, %t, %w; .reg .b64 %d, %e;\n"
            "  ld.param.u64 %d, [out];\n  mov.u32 %s, %tid.x;\n  mul.wide.u32 %e, %s, 4;\n  add.u64 %d, %d, %e;\n"
            "  mad.lo.u32 %s, %s, 747796405, 2891336453;\n  mov.u32 %w, 0;\n  " + "\n  ".join(text) + "\n}\n"
        )
        # What comes before the first block belongs to it.
        self.code = [("plain",)] * 6 + [(c[0], c[1] + 6) if c[0] in ("branch", "jump") else c for c in self.code]
        self.basic_blocks({start + 6 for start in starts})

    def next_places(self, at):
        kind = self.code[at]
        return {"end": [], "jump": [kind[-1]], "branch": [at + 1, kind[-1]]}.get(kind[0], [at + 1])

    def basic_blocks(self, labels):
        leaders = {0} | labels
        for at, one in enumerate(self.code):
            if one[0] in ("branch", "jump"):
                leaders.add(one[1])
            if one[0] in ("branch", "jump", "end"):
                leaders.add(at + 1)
        self.leaders = sorted(leader for leader in leaders if leader < len(self.code))
        ends = self.leaders[1:] + [len(self.code)]
        self.block_of = {at: index for index, (first, end) in enumerate(zip(self.leaders, ends)) for at in range(first, end)}
        self.successors = [sorted({self.block_of[to] for to in self.next_places(end - 1)}) for end in ends]

    def post_dominators(self):
        """The immediate post-dominator of each block, by sets."""
        n = len(self.leaders)
        post = [set(range(n + 1)) for _ in range(n)] + [{n}]
        changed = True
        while changed:
            changed = False
            for block in reversed(range(n)):
                ways = [post[to] for to in self.successors[block]] or [post[n]]
                new = set.intersection(*ways) | {block}
                changed |= new != post[block]
                post[block] = new
        nearest = []
        for block in range(n):
            strict = post[block] - {block}
            of = [b for b in strict if post[b] == strict]
            nearest.append(self.leaders[of[0]] if of and of[0] != n else END)
        return nearest

    def priorities(self):
        """Compiler's priorities of a graph without cycles: of the blocks that may come next the one with the longest way to the end, then the first."""
        n = len(self.leaders)
        longest = [0] * n
        entering = [0] * n
        order = []
        for block in range(n):
            for to in self.successors[block]:
                entering[to] += 1
        pending, left = [b for b in range(n) if not entering[b]], entering[:]
        while pending:
            block = pending.pop()
            order.append(block)
            for to in self.successors[block]:
                left[to] -= 1
                if not left[to]:
                    pending.append(to)
        for block in reversed(order):
            longest[block] = max((longest[to] + 1 for to in self.successors[block]), default=0)
        ready, rank = [b for b in range(n) if not entering[b]], {}
        while ready:
            block = min(ready, key=lambda b: (-longest[b], b))
            ready.remove(block)
            rank[block] = len(rank)
            for to in self.successors[block]:
                entering[to] -= 1
                if not entering[to]:
                    ready.append(to)
        return rank


class Machine:
    """A warp: states of lanes, and counters."""

    def __init__(self, program, threads):
        self.program, self.counts = program, dict.fromkeys(COUNTERS, 0)
        self.state = {t: (t * 747796405 + 2891336453) & MASK for t in threads}

    def issue(self, at, lanes):
        """Executes an instruction; returns lanes by next place (none for those that end)."""
        one, counts = self.program.code[at], self.counts
        counts["inst_executed"] += 1
        counts["thread_inst_executed"] += len(lanes)
        counts["block_issues"] += at in self.program.leaders
        if one[0] == "hash":
            for lane in lanes:
                self.state[lane] = (self.state[lane] * 1664525 + one[1]) & MASK
        if one[0] == "end":
            return {}
        counts["branches"] += one[0] in ("branch", "jump")
        if one[0] != "branch":
            return {self.program.next_places(at)[0]: lanes}
        taken = frozenset(lane for lane in lanes if self.state[lane] >> 24 & 1)
        targets = {}
        for to, part in ((at + 1, lanes - taken), (one[1], taken)):
            if part:
                targets[to] = targets.get(to, frozenset()) | part
        counts["divergent_branches"] += len(targets) > 1
        return targets


def serial(machine, lanes):
    for lane in lanes:
        at = 0
        while at is not None:
            at = next(iter(machine.issue(at, frozenset([lane]))), None)


def ranked(rank):
    """Lanes at the place of the lowest rank run; lanes at one place are together."""

    def run(machine, lanes):
        paths = {0: lanes}
        while paths:
            at = min(paths, key=lambda place: rank(machine.program, place))
            for to, part in machine.issue(at, paths.pop(at)).items():
                paths[to] = paths.get(to, frozenset()) | part

    return run


def ipdom(machine, lanes):
    """A stack of (place, where it rejoins, lanes)."""
    post, program = machine.program.post_dominators(), machine.program
    stack = [(0, END, lanes)]
    while stack:
        at, rejoin, of = stack.pop()
        if at == rejoin:
            continue
        targets = machine.issue(at, of)
        if len(targets) < 2:
            stack += [(to, rejoin, part) for to, part in targets.items()]
            continue
        meet = post[program.block_of[at]]
        if meet != END:
            stack.append((meet, rejoin, of))
        stack += [(to, meet, part) for to, part in targets.items()]


def convergence_barriers(machine, lanes):
    """Blocks without cycles that nest: before a branch its lanes are set to wait for each other where they meet, and each path that comes there waits.

    A branch that meets where one around it meets is covered by the barrier of that one. What is inserted is issued for the warp, not for lanes."""
    post, program, counts = machine.program.post_dominators(), machine.program, machine.counts

    def go(at, lanes, until):
        """Runs lanes up to a place; returns the paths that come there."""
        while at != until:
            targets = machine.issue(at, lanes)
            if len(set(program.next_places(at))) < 2:
                if not targets:
                    return []
                at = next(iter(targets))
                continue
            meet = post[program.block_of[at]]
            paths = [path for to, part in targets.items() for path in go(to, part, meet)]
            if meet == until:
                return paths
            counts["inst_executed"] += 1 + len(paths)
            at = meet
        return [lanes]

    go(0, lanes, END)


MODELS = {
    "serial": serial,
    "ipdom": ipdom,
    "multi-path": ipdom,
    "min-pc": ranked(lambda program, at: at),
    "max-pc": ranked(lambda program, at: -at),
    "tf-stack": ranked(lambda program, at: (program.priorities()[program.block_of[at]], at)),
    "tf-stack layout": ranked(lambda program, at: at),
    "convergence-barriers": convergence_barriers,
}


def expected(program, mechanism, width):
    total = dict.fromkeys(COUNTERS, 0)
    for first in range(0, BLOCK, width):
        threads = frozenset(range(first, first + width))
        machine = Machine(program, threads)
        MODELS[mechanism](machine, threads)
        for name in COUNTERS:
            total[name] += machine.counts[name]
    return total


LAUNCH = """schema = 1
machine = "ptx"
module = "k.ptx"
[buffers]
out = "u32[{block}]:zeros"
[[launch]]
block = {block}
args = ["&out"]
[options]
priorities = "{priorities}"
"""


def check(folder, program, mechanisms):
    """Holds all rows against the model; returns how many there are."""
    made = program.priorities() if "tf-stack" in mechanisms else {}
    program.priorities = lambda: made
    priorities = "layout" if "tf-stack layout" in mechanisms else "compiler"
    (folder / "k.ptx").write_text(program.ptx)
    (folder / "launch.toml").write_text(LAUNCH.format(block=BLOCK, priorities=priorities))
    names = [name.split()[0] for name in mechanisms]
    compared = simtlab.compare(folder / "launch.toml", mechanisms=names, warp_sizes=list(WIDTHS))
    checked = 0
    for mechanism, name in zip(mechanisms, names):
        for width in WIDTHS:
            row = compared.row(name, width)
            model = expected(program, mechanism, width)
            if name == "convergence-barriers":
                # The pass parts blocks at its waits.
                del model["block_issues"]
            got = {counter: row[counter] for counter in model}
            assert row["verdict"] == "ok" and got == model, (mechanism, width, program.blocks)
            checked += 1
    return checked


def block(rng, successors):
    return rng.randrange(3), rng.randrange(1, 1 << 16), successors


def forward(rng):
    """Any graph without cycles, written in an order of its own."""
    n = rng.randrange(4, 12)
    order = [0] + rng.sample(range(1, n - 1), n - 2) + [n - 1]
    number = {node: index for index, node in enumerate(order)}
    blocks = [None] * n
    for node in range(n):
        later = [number[to] for to in range(node + 1, n)]
        ways = rng.sample(later, min(len(later), 2 if rng.random() < 0.75 else 1))
        blocks[number[node]] = block(rng, ways)
    return Program(blocks)


def cyclic(rng):
    """Any graph in which every block leads on, so that lanes end soon; loops of several entries too."""
    n = rng.randrange(3, 10)
    blocks = []
    for node in range(n - 1):
        on, other = rng.randrange(node + 1, n), rng.randrange(n)
        ways = [on, other] if rng.random() < 0.5 else [other, on]
        blocks.append(block(rng, ways if rng.random() < 0.8 and on != other else [on]))
    return Program(blocks + [block(rng, [])])


def nested(rng):
    """Conditionals within each other, with and without another side."""
    blocks = []

    def body(depth):
        for _ in range(rng.randrange(1, 3)):
            head = len(blocks)
            blocks.append(None)
            if depth == 0 or rng.random() < 0.3:
                blocks[head] = block(rng, [head + 1])
                continue
            body(depth - 1)
            over = len(blocks)
            if rng.random() < 0.6:
                blocks.append(None)
                other = len(blocks)
                body(depth - 1)
                blocks[head] = block(rng, [other, head + 1])
                blocks[over] = block(rng, [len(blocks)])
            else:
                blocks[head] = block(rng, [over, head + 1])

    body(3)
    return Program(blocks + [block(rng, [])])


@pytest.mark.parametrize("seed", range(8))
def test_graphs_without_cycles(seed, tmp_path):
    rng = random.Random(seed)
    assert check(tmp_path, forward(rng), ["serial", "ipdom", "multi-path", "min-pc", "max-pc", "tf-stack"]) == 18


@pytest.mark.parametrize("seed", range(8))
def test_graphs_with_cycles(seed, tmp_path):
    rng = random.Random(100 + seed)
    assert check(tmp_path, cyclic(rng), ["serial", "ipdom", "multi-path", "min-pc", "max-pc", "tf-stack layout"]) == 18


@pytest.mark.parametrize("seed", range(8))
def test_nested_conditionals(seed, tmp_path):
    rng = random.Random(200 + seed)
    assert check(tmp_path, nested(rng), ["serial", "ipdom", "min-pc", "tf-stack", "convergence-barriers"]) == 15
