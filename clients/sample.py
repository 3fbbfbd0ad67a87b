"""A plug-in of pytest that runs a share of the tests, chosen by the hash of their names: SAMPLE=0.2 runs a fifth, the same on every machine.
SAMPLE_LIMIT=60 ends a test after so many seconds."""

import hashlib
import os
import signal

import pytest

SHARE = float(os.environ.get("SAMPLE", "1"))
LIMIT = int(os.environ.get("SAMPLE_LIMIT", "0"))


def chosen(name):
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") < SHARE * 2**64


def pytest_collection_modifyitems(config, items):
    kept = [item for item in items if chosen(item.nodeid.rpartition("/")[2])]
    names = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in names])
    items[:] = kept


class TestTimeout(BaseException):
    pass


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    def late(*_):
        raise TestTimeout(f"the test has run for {LIMIT} s")

    if not LIMIT:
        return (yield)
    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LIMIT)
    try:
        return (yield)
    except TestTimeout as error:
        pytest.fail(str(error))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
