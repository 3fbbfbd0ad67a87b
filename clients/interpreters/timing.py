"""Processor time of launches, as lines that `table.py` reads."""

import json
import time


def spent(launch, synchronize):
    begun = time.process_time()
    launch()
    synchronize()
    return time.process_time() - begun


def show(kernel, size, launch, synchronize):
    """Prints the time of the first launch, with compilation, and the median of five more (of fewer, if they are slow); says how many ran."""
    first = spent(launch, synchronize)
    more = []
    while len(more) < 5 and (not more or sum(more) < 20):
        more.append(spent(launch, synchronize))
    print(json.dumps({"kernel": kernel, "size": size, "first": first, "then": sorted(more)[len(more) // 2]}), flush=True)
    return 1 + len(more)
