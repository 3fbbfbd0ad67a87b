"""A plugin of pytest: notes for each test how many kernels it has launched, by the journal of its own process."""

import os

import pytest

# Before the driver is initialised, which opens it. Workers of pytest-xdist are processes of their own.
_SHARED = os.environ.get("SIMTLAB_JOURNAL", "journal")
_JOURNAL = f"{_SHARED}-{os.getpid()}"
os.environ["SIMTLAB_JOURNAL"] = _JOURNAL
_seen = 0


def _launches():
    """Launches since the last look."""
    global _seen
    try:
        with open(_JOURNAL, "rb") as file:
            file.seek(_seen)
            new = file.read()
    except OSError:
        return 0
    _seen += len(new)
    return new.count(b'"event":"launch"')


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    _launches()
    try:
        return (yield)
    finally:
        item.user_properties.append(("launches", _launches()))


def pytest_sessionfinish():
    """Gives the journal to whoever has asked for one."""
    if os.path.exists(_JOURNAL):
        with open(_JOURNAL, "rb") as own, open(_SHARED, "ab") as shared:
            shared.write(own.read())
