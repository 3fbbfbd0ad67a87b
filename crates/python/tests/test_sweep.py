"""Sweeps: rows, going on, and what is refused. Ray and Dask are tried where they are installed."""

import importlib.util
import pathlib
import shutil
import subprocess

import pytest
import simtlab

KERNELS = pathlib.Path(__file__).resolve().parents[3] / "kernels"
TEXT = f"""
schema = 1
[[kernels]]
paths = ["{KERNELS}/divergence/nested"]
[sweep]
mechanisms = ["serial", "ipdom", "exec-mask"]
warp_sizes = [8, 32]
"""


@pytest.fixture
def suite(tmp_path):
    path = tmp_path / "suite.toml"
    path.write_text(TEXT)
    return path


def test_rows(suite, tmp_path):
    done = simtlab.sweep(suite, tmp_path / "rows")
    rows = {(row["mechanism"], row["warp_size"]): row for row in done.rows()}
    assert len(rows) == 6
    assert rows["ipdom", 32]["inst_executed"] == 452
    assert rows["ipdom", 32]["verdict"] == "ok" and rows["ipdom", 32]["profile"] is None
    assert round(rows["exec-mask", 32]["useful_lane_efficiency"], 1) == 11.6


def test_a_directory_with_rows_is_gone_on_with_only_if_that_is_meant(suite, tmp_path):
    simtlab.sweep(suite, tmp_path / "rows")
    with pytest.raises(simtlab.LaunchError, match="--resume"):
        simtlab.sweep(suite, tmp_path / "rows")
    assert sum(1 for _ in simtlab.sweep(suite, tmp_path / "rows", resume=True).rows()) == 6


def test_what_is_wrong_is_said(suite, tmp_path):
    with pytest.raises(simtlab.LaunchError, match="threads, ray or dask"):
        simtlab.sweep(suite, tmp_path / "rows", executor="slurm")
    suite.write_text(TEXT.replace("ipdom", "ipdon"))
    with pytest.raises(simtlab.LaunchError, match="ipdom"):
        simtlab.sweep(suite, tmp_path / "other")


@pytest.mark.parametrize("executor", ["ray", "dask"])
def test_executors_give_the_same_rows(suite, tmp_path, executor):
    if importlib.util.find_spec({"ray": "ray", "dask": "distributed"}[executor]) is None:
        pytest.skip(f"{executor} is not installed")
    names = [name for name in next(simtlab.sweep(suite, tmp_path / "here").rows()) if name != "time_seconds"]
    read = lambda folder, **how: [[row[name] for name in names] for row in simtlab.sweep(suite, folder, **how).rows()]
    assert read(tmp_path / "there", executor=executor, jobs=2) == read(tmp_path / "here", resume=True)


def parquet_program():
    """`simtlab-parquet` of the path, or as cargo has built it here."""
    target = pathlib.Path(__file__).resolve().parents[3] / "target"
    built = [target / profile / "simtlab-parquet" for profile in ("release", "debug")]
    return shutil.which("simtlab-parquet") or next((str(path) for path in built if path.exists()), None)


@pytest.fixture
def tables(suite, tmp_path):
    """The table of a sweep as CSV and, where the program is there that writes it, as Parquet."""
    done = simtlab.sweep(suite, tmp_path / "rows")
    rows = {(row["mechanism"], row["warp_size"]): row for row in done.rows()}
    files = {"csv": done.csv}
    if parquet_program():
        files["parquet"] = str(tmp_path / "rows.parquet")
        subprocess.run([parquet_program(), str(tmp_path / "rows"), files["parquet"]], check=True)
    return rows, files


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("package", ["pandas", "polars", "duckdb"])
def test_tables_open_in_other_packages(tables, package, format):
    rows, files = tables
    module = pytest.importorskip(package)
    if format not in files:
        pytest.skip("simtlab-parquet is not built")
    file = files[format]
    if package == "pandas":
        frame = getattr(module, f"read_{format}")(file)
        columns, values = list(frame.columns), frame.set_index(["mechanism", "warp_size"])["inst_executed"].to_dict()
        means = frame.groupby("mechanism")["useful_lane_efficiency"].mean().to_dict()
    elif package == "polars":
        frame = getattr(module, f"read_{format}")(file)
        columns = frame.columns
        values = {(m, w): n for m, w, n in frame.select("mechanism", "warp_size", "inst_executed").iter_rows()}
        means = dict(frame.group_by("mechanism").agg(module.col("useful_lane_efficiency").mean()).iter_rows())
    else:
        relation = module.sql(f"select * from '{file}'")
        columns = relation.columns
        values = {(m, w): n for m, w, n in module.sql(f"select mechanism, warp_size, inst_executed from '{file}'").fetchall()}
        means = dict(module.sql(f"select mechanism, avg(useful_lane_efficiency) from '{file}' group by 1").fetchall())
    assert columns == list(next(iter(rows.values())))
    assert values == {key: row["inst_executed"] for key, row in rows.items()}
    for mechanism, mean in means.items():
        own = [row["useful_lane_efficiency"] for (name, _), row in rows.items() if name == mechanism]
        assert abs(mean - sum(own) / len(own)) < 1e-9
