"""Suites of kernels as tables, on this host or on a cluster."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, Union

from . import _simtlab
from ._errors import LaunchError

_Path = Union[str, "os.PathLike[str]"]
_Task = Tuple[int, List[int]]

# Cells of a task: enough that the serial reference, which each task runs once, costs little.
_CHUNK = 32


@dataclass(frozen=True)
class Sweep:
    """The rows of a finished sweep.

    folder  the directory (docs/sweeps.md)
    csv     the table, sorted by key
    """

    folder: str
    csv: str

    def rows(self) -> Iterator[Dict[str, Any]]:
        """The rows, one at a time, with numbers as numbers and None where a row has nothing."""
        with open(os.path.join(self.folder, "columns.json"), encoding="utf-8") as file:
            types = {column["name"]: column["type"] for column in json.load(file)["columns"]}
        read: Dict[str, Callable[[str], Any]] = {"int64": int, "float64": float, "bool": lambda text: text == "true", "text": str}
        with open(self.csv, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                yield {name: read[types[name]](value) if value != "" else None for name, value in row.items()}


def sweep(
    suite: _Path,
    out: Optional[_Path] = None,
    *,
    executor: str = "threads",
    jobs: Optional[int] = None,
    resume: bool = False,
    retries: int = 3,
    client: Any = None,
) -> Sweep:
    """Runs a suite file, and returns its rows.

    `executor` is `threads` (this process), `ray` or `dask`. On a cluster every node has to see the suite and what it names under the same
    path. A task that fails, or whose worker dies, is tried again so often; rows that come twice are kept once. `client` is a
    `distributed.Client`; without one, and for Ray if it was not initialised, a cluster of `jobs` processes is started on this host.
    With `resume` the rows that `out` has are not run again.
    """
    path = os.path.abspath(os.fspath(suite))
    plan = json.loads(_simtlab.sweep_plan(path))
    folder = os.path.abspath(os.fspath(out) if out is not None else plan["name"] + ".sweep")
    if executor == "threads":
        _simtlab.sweep_run(path, folder, jobs or 0, resume)
    elif executor in ("ray", "dask"):
        store = _simtlab.SweepStore(path, folder, resume)
        run = _on_ray if executor == "ray" else _on_dask
        run(path, _tasks(path, plan, store), store, jobs, retries, client)
        if store.append([]) != plan["rows"]:
            raise LaunchError("some rows did not come: resume=True runs them")
    else:
        raise LaunchError(f"there is no executor {executor!r}: use threads, ray or dask")
    return Sweep(folder, _simtlab.sweep_tables(folder))


def _tasks(path: str, plan: Dict[str, Any], store: Any) -> List[_Task]:
    tasks = []
    for group in range(len(plan["groups"])):
        left = [cell for cell, key in enumerate(_simtlab.sweep_keys(path, group)) if not store.has(key)]
        tasks += [(group, left[at : at + _CHUNK]) for at in range(0, len(left), _CHUNK)]
    return tasks


def _rows(path: str, task: _Task) -> List[str]:
    """What a worker runs."""
    group, cells = task
    return _simtlab.sweep_rows(path, group, cells)


def _on_ray(path: str, tasks: List[_Task], store: Any, jobs: Optional[int], retries: int, _client: Any) -> None:
    import ray

    started = not ray.is_initialized()
    if started:
        ray.init(num_cpus=jobs, include_dashboard=False, log_to_driver=False)
    try:
        remote = ray.remote(_rows).options(num_cpus=1, max_retries=retries, retry_exceptions=True)
        left = list(reversed(tasks))
        running: Dict[Any, _Task] = {}
        # As many tasks wait as keep the cluster busy; a million at once would fill the driver.
        most = 4 * max(1, int(ray.cluster_resources().get("CPU", 1)))
        while left or running:
            while left and len(running) < most:
                task = left.pop()
                running[remote.remote(path, task)] = task
            done, _ = ray.wait(list(running), num_returns=1)
            for reference in done:
                del running[reference]
                store.append(ray.get(reference))
    finally:
        if started:
            ray.shutdown()


def _on_dask(path: str, tasks: List[_Task], store: Any, jobs: Optional[int], retries: int, client: Any) -> None:
    from distributed import Client, as_completed

    started = client is None
    if started:
        client = Client(n_workers=jobs, threads_per_worker=1, dashboard_address=None)
    try:
        futures = [client.submit(_rows, path, task, retries=retries, pure=False) for task in tasks]
        for future in as_completed(futures):
            store.append(future.result())
    finally:
        if started:
            client.close()
