"""Runs a suite by tasks of Ray or Dask, kills two workers on the way, and writes the table.

    cluster.py ray|dask SUITE FOLDER [--jobs N]
"""

import argparse
import os
import pathlib
import signal
import threading
import time

import simtlab


def rows(folder):
    """Rows that are finished so far."""
    try:
        with open(folder / "rows.jsonl", "rb") as file:
            return sum(1 for _ in file)
    except FileNotFoundError:
        return 0


def descendants(pid):
    """Processes under `pid`, with their command lines."""
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                children.setdefault(parent, []).append((int(entry.name), (entry / "cmdline").read_bytes()))
            except (OSError, IndexError, ValueError):
                continue
    found, left = [], [pid]
    while left:
        below = children.get(left.pop(), [])
        found += below
        left += [child for child, _ in below]
    return found


def kill_a_worker(executor):
    """Kills a process that runs tasks; returns whether there was one."""
    processes = descendants(os.getpid())
    if executor == "ray":
        workers = [pid for pid, command in processes if command.startswith(b"ray::_rows")]
    else:
        workers = [pid for pid, command in processes if b"multiprocessing.spawn" in command]
    if not workers:
        return False
    os.kill(workers[0], signal.SIGKILL)
    return True


def kill_two(executor, folder, whole, done):
    """Kills a worker after a third of the rows, and one after two thirds."""
    for part in (1, 2):
        while rows(folder) < whole * part // 3:
            if done.wait(0.2):
                return
        while not kill_a_worker(executor):
            if done.wait(0.2):
                return
        killed.append(rows(folder))


killed = []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("executor", choices=["ray", "dask"])
    parser.add_argument("suite")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--rows", type=int, required=True, help="rows of the whole suite")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    done = threading.Event()
    killer = threading.Thread(target=kill_two, args=(options.executor, options.folder, options.rows, done))
    killer.start()
    start = time.monotonic()
    table = simtlab.sweep(options.suite, options.folder, executor=options.executor, jobs=options.jobs)
    done.set()
    killer.join()
    count = sum(1 for _ in table.rows())
    print(f"{options.executor}: {count} rows in {time.monotonic() - start:.0f} s; workers killed after {killed} rows")
    if len(killed) != 2:
        raise SystemExit(f"{options.executor}: {len(killed)} of 2 workers were killed")


if __name__ == "__main__":
    main()
