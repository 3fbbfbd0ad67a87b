"""The import hook and the pytest plug-in, in processes of their own, with frameworks that are only names."""

import os
import pathlib
import subprocess
import sys

import pytest

import simtlab
import simtlab_clients

PACKAGES = pathlib.Path(simtlab_clients.__file__).resolve().parents[1]


def python(code, path, **variables):
    """Runs Python with the hook's modules and a folder on its path; its standard output and error."""
    start = path / "start"
    start.mkdir(exist_ok=True)
    (start / "sitecustomize.py").write_text((PACKAGES / "simtlab_clients/sitecustomize.py").read_text())
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SIMTLAB")}
    environment |= {"PYTHONPATH": os.pathsep.join([str(start), str(path), str(PACKAGES)]), **variables}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, cwd=path)
    return done.stdout, done.stderr


def framework(path, name, version):
    (path / name).mkdir()
    (path / name / "version.py").write_text(version)
    (path / name / "__init__.py").write_text("from . import version\nloaded = True\n")


def test_torch_without_cuda_says_what_to_install(tmp_path):
    framework(tmp_path, "torch", "cuda = None\n")
    out, error = python("import torch; print(torch.loaded, type(torch.__loader__).__name__)", tmp_path)
    assert out == "True SourceFileLoader\n"
    assert "built without CUDA" in error and "pip install torch" in error
    assert python("import torch", tmp_path, SIMTLAB_CLIENTS="0") == ("", "")


def test_torch_with_cuda_needs_the_libraries(tmp_path):
    framework(tmp_path, "torch", "cuda = '13.2'\n")
    _, error = python("import torch", tmp_path)
    assert "simtlab exec" in error and "simtlab.enable()" in error


def test_libraries_of_packages_are_replaced_before_they_are_looked_for(tmp_path):
    (tmp_path / "cuda/pathfinder").mkdir(parents=True)
    (tmp_path / "cuda/pathfinder/__init__.py").write_text("import os\nfound = os.environ['SIMTLAB_NVIDIA_LIBRARIES'].split(os.pathsep)\n")
    package = tmp_path / "nvidia/cu13/lib"
    package.mkdir(parents=True)
    ours = tmp_path / "ours"
    ours.mkdir()
    for name in ("libcuda.so.1", "libnvrtc.so.12"):
        (ours / name).write_text("")
    code = "import cuda.pathfinder; print(cuda.pathfinder.found)"
    out, error = python(code, tmp_path, SIMTLAB_RUN_LIBRARIES=str(ours), SIMTLAB_NVIDIA_LIBRARIES="/before")
    assert (out, error) == (f"['{package}', '/before']\n", "")
    # A library is loaded if the packages have one of its name: this one is none.
    (package / "libnvrtc.so.12").write_text("")
    assert "file too short" in python(code, tmp_path, SIMTLAB_RUN_LIBRARIES=str(ours))[1]
    # Without the libraries of this project nothing is replaced.
    assert "KeyError" in python(code, tmp_path)[1]


def test_other_imports_stay_as_they_are(tmp_path):
    framework(tmp_path, "other", "")
    (tmp_path / "torch").mkdir()
    out, error = python("import other, torch, sys; print(other.loaded, torch.__path__ is not None, 'json' in sys.modules)", tmp_path)
    assert (out, error) == ("True True False\n", "")


def test_the_users_sitecustomize_runs_too(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("print('mine')\n")
    assert python("print('program')", tmp_path) == ("mine\nprogram\n", "")


def test_enable_comes_first(monkeypatch):
    monkeypatch.delenv("SIMTLAB_RUN_LIBRARIES", raising=False)
    monkeypatch.setitem(sys.modules, "torch", object())
    with pytest.raises(simtlab.SimtlabError, match="torch is imported already.*simtlab exec"):
        simtlab.enable()
    monkeypatch.delitem(sys.modules, "torch")
    with pytest.raises(simtlab.SimtlabError, match="the driver library is in none of"):
        simtlab.enable(libraries="/nowhere")


def run_pytest(path, *options, python=sys.executable, **variables):
    """Runs pytest with the plug-in, and a command in place of `simtlab` that runs the program and writes events."""
    command = path / "simtlab"
    command.write_text(
        '#!/bin/sh\necho "$@" > words\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec env SIMTLAB_JOURNAL="$PWD/journal" "$@"\n'
    )
    command.chmod(0o755)
    words = [python, "-m", "pytest", "-p", "simtlab_clients.pytest_plugin", "-p", "no:cacheprovider", "-q", *options]
    environment = {**os.environ, "SIMTLAB_COMMAND": str(command), "PYTHONPATH": str(PACKAGES), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **variables}
    return subprocess.run(words, env=environment, capture_output=True, text=True, cwd=path)


TESTS = '''
import json, os, pytest

TOTALS = {"issues": 10, "lane_instructions": 160, "lane_slots": 320, "divergent_branches": 1}

def event(**what):
    with open(os.environ["SIMTLAB_JOURNAL"], "a") as file:
        file.write(json.dumps({"process": os.getpid(), "kernel": "k", **what}) + "\\n")

def launch():
    event(event="launch", grid=[1, 1, 1], block=[32, 1, 1], seconds=0.1, totals=TOTALS)

def fault():
    event(event="stop", kind="fault", code="out-of-bounds", text="a store beyond", instruction={"text": "st", "line": 3, "source": ["k.py", 7]})

def test_nothing(): pass
def test_good(): launch()
def test_faults(): fault()
def test_good_after(): launch()
def test_finds():
    event(event="finding", number=0, finding={"kind": "race-in-block", "message": "two threads", "severity": "error", "cure": "add a barrier"})
def test_finds_again(): event(event="found-again", number=0, count=1)
@pytest.mark.simtlab(expect="fault")
def test_expects(): fault()
@pytest.mark.simtlab(expect="fault")
def test_expects_in_vain(): launch()
@pytest.mark.simtlab(min_efficiency=0.6)
def test_wastes(): launch()
@pytest.mark.simtlab(min_efficiency=0.5, max_issues=10, max_divergent=1)
def test_is_within(): launch()
@pytest.mark.simtlab(max_issues=9)
def test_issues(): launch()
@pytest.mark.xfail
def test_fails_as_expected():
    fault()
    assert False
@pytest.fixture
def broken():
    yield
    fault()
def test_faults_at_its_end(broken): pass
'''


def test_what_kernels_did_fails_their_tests(tmp_path):
    (tmp_path / "test_them.py").write_text(TESTS)
    done = run_pytest(tmp_path, "--simtlab-check=race", "--simtlab-limit", "99", "--simtlab-report", "report.json", "-rA")
    words = (tmp_path / "words").read_text().split()
    assert words[: words.index("--")] == ["exec", "--quiet", "--faults", "launch", "--check=race", "--limit", "99"]
    text = done.stdout
    failed = {line.split("::")[1].split(" ")[0] for line in text.splitlines() if line.startswith(("FAILED", "ERROR"))}
    assert failed == {
        "test_faults", "test_finds", "test_finds_again", "test_expects_in_vain", "test_wastes", "test_issues", "test_faults_at_its_end",
    }, text + done.stderr
    assert done.returncode == 1
    for part in ("fault: a store beyond", "race-in-block: two threads", "help: add a barrier", "50.0 % of lane slots execute", "at most 9"):
        assert part in text, part
    import json

    report = {test["test"].split("::")[1]: test for test in json.loads((tmp_path / "report.json").read_text())["tests"]}
    assert report["test_faults"]["stops"][0]["line"] == 7 and report["test_faults"]["outcome"] == "failed"
    assert report["test_good"]["totals"]["issues"] == 10 and report["test_good"]["outcome"] == "passed"
    assert "test_nothing" not in report


def test_without_the_option_nothing_happens(tmp_path):
    (tmp_path / "test_it.py").write_text("def test(): pass\n")
    assert run_pytest(tmp_path).returncode == 0
    assert not (tmp_path / "words").exists()
    # An interpreter beside which no package has put its `simtlab`.
    bare, project = tmp_path / "bare", tmp_path / "project"
    bare.mkdir()
    project.mkdir()
    python = bare / "python"
    python.symlink_to(os.path.realpath(sys.executable))
    packages = os.pathsep.join([str(PACKAGES), *filter(None, sys.path)])
    done = run_pytest(project, "--simtlab", python=str(python), SIMTLAB_COMMAND="", PATH="/nowhere", PYTHONPATH=packages)
    assert done.returncode == 4 and "needs the command `simtlab`" in done.stderr
