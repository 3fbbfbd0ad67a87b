"""Launches beside other threads, and signals."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import simtlab
from conftest import FOREVER, INDEX


def test_other_threads_go_on():
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.005)

    ticker = threading.Thread(target=tick)
    ticker.start()
    start = time.monotonic()
    try:
        with pytest.raises(simtlab.Hang):
            simtlab.run(FOREVER, "forever", 1, 1, [np.zeros(1, np.uint32)], limit=3_000_000, engine="exact")
    finally:
        end = time.monotonic()
        done.set()
        ticker.join()
    during = [t for t in ticks if start < t < end]
    assert len(during) > (end - start) / 0.1, (len(during), end - start)


@pytest.mark.parametrize("on_device", [False, True])
def test_launches_in_threads(on_device):
    module, wrong = simtlab.Module(INDEX), []

    def work(n):
        for _ in range(20):
            out = np.zeros(n, np.uint32)
            if on_device:
                there = simtlab.array(out)
                module.launch("index", 4, 64, [n, there])
                out = there.numpy()
            else:
                simtlab.run(INDEX, "index", 4, 64, [n, out])
            if not np.array_equal(out, np.arange(n)):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 31, 100, 256)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def interrupted(program):
    """What a program prints that gets Ctrl-C a second after it has said that it is ready."""
    head = f"""
        import signal, sys, numpy as np, simtlab
        # A test run in the background may have begun with SIGINT ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        from conftest import APART, FOREVER
        print("ready", flush=True)
    """
    program = textwrap.dedent(head) + textwrap.dedent(program)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        return process.communicate(timeout=60)[0]
    finally:
        process.kill()


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.parametrize("engine", ["fast", "exact"])
@pytest.mark.parametrize("call", ["simtlab.run", "simtlab.compare", "module"])
def test_ctrl_c(call, engine):
    if call == "simtlab.compare" and engine == "fast":
        pytest.skip("comparisons are the exact engine's")
    out = interrupted(f"""
        array = np.full(1, 7, np.uint32)
        options = dict(limit=1 << 60)
        if {call!r} != "simtlab.compare":
            options["engine"] = {engine!r}
        try:
            if {call!r} == "module":
                simtlab.Module(FOREVER).launch("forever", 1, 1, [array], **options)
            else:
                {call if call != "module" else "print"}(FOREVER, "forever", 1, 1, [array], **options)
        except KeyboardInterrupt:
            print("interrupted", array[0])
    """)
    assert out == "interrupted 7\n"


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.parametrize("jobs", [2, 4])
@pytest.mark.parametrize("threads", [1, 3])
def test_ctrl_c_on_several_threads(jobs, threads):
    """Blocks on several threads of the engine, and launches in several threads of the program, of which the main one is interrupted."""
    out = interrupted(f"""
        import os, threading
        arrays = [np.full(64, 7, np.uint32) for _ in range({threads})]
        def forever(array):
            simtlab.run(APART, "apart", 64, 32, [array], engine="fast", jobs={jobs}, limit=1 << 60)
        for array in arrays[1:]:
            threading.Thread(target=forever, args=(array,), daemon=True).start()
        try:
            forever(arrays[0])
        except KeyboardInterrupt:
            print("interrupted", *set(arrays[0]), flush=True)
        # The others run still, and the process can end.
        os._exit(0)
    """)
    assert out == "interrupted 7\n"
