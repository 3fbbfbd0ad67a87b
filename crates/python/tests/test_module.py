"""Modules, and arrays that stay on a device."""

import gc

import numpy as np
import pytest

import simtlab
from conftest import COUNT, HEAD, INDEX


def test_kernels(kernels):
    module = simtlab.Module(kernels / "saxpy/saxpy.ptx")
    assert list(module.kernels) == ["saxpy"]
    parameters = module.kernels["saxpy"].parameters
    assert [(p.type, p.size, p.offset, p.kind) for p in parameters] == [
        ("u32", 4, 0, "integer"), ("f32", 4, 4, "float"), ("u64", 8, 8, "integer"), ("u64", 8, 16, "integer"),
    ]
    assert "saxpy" in repr(module)


def test_arrays_stay(kernels):
    module = simtlab.Module(kernels / "saxpy/saxpy.ptx")
    x, y = simtlab.array(np.arange(100, dtype=np.float32)), simtlab.array(np.zeros(100, np.float32))
    address = y.address
    for _ in range(3):
        module.launch("saxpy", 1, 128, [100, 2.0, x, y])
    assert y.address == address
    assert np.array_equal(y.numpy(), 6 * np.arange(100, dtype=np.float32))
    assert np.array_equal(np.asarray(y), y.numpy())
    assert np.array_equal(np.asarray(y, dtype=np.int64), 6 * np.arange(100))
    host = np.zeros(100, np.float32)
    module.launch("saxpy", 1, 128, [100, 1.0, y, host])
    assert np.array_equal(host, y.numpy())


def test_variables_stay():
    module, out = simtlab.Module(COUNT), simtlab.array(np.zeros(1, np.uint32))
    for launch in range(1, 4):
        module.launch("count", 1, 1, [out])
        assert out[0] == 40 + launch
    other = simtlab.Module(COUNT)
    other.launch("count", 1, 1, [out])
    assert out[0] == 41


def test_modules_share_arrays(kernels):
    index, saxpy = simtlab.Module(INDEX), simtlab.Module(kernels / "saxpy/saxpy.ptx")
    numbers = simtlab.array(np.zeros(4, np.uint32))
    index.launch("index", 1, 4, [4, numbers])
    x = simtlab.array(numbers.numpy().astype(np.float32))
    saxpy.launch("saxpy", 1, 4, [4, 1.0, x, x])
    assert list(x.numpy()) == [0, 2, 4, 6]


def test_addresses_are_numbers():
    follow = HEAD + """
    .visible .entry follow(.param .u64 links) {
        .reg .b64 %a;
        ld.param.u64 %a, [links];
        ld.global.u64 %a, [%a];
        st.global.u32 [%a], 77;
        ret;
    }"""
    target = simtlab.array(np.zeros(1, np.uint32))
    links = simtlab.array(np.array([target.address], np.uint64))
    simtlab.Module(follow).launch("follow", 1, 1, [links])
    assert target[0] == 77
    simtlab.Module(INDEX).launch("index", 1, 1, [1, target.address])
    assert target[0] == 0


def test_array_values():
    a = simtlab.array([[1, 2], [3, 4]], np.float64, name="a")
    assert (a.shape, a.dtype, a.ndim, a.size, a.nbytes, len(a)) == ((2, 2), np.float64, 2, 4, 32, 2)
    a[0, 1] = 9
    assert a[0, 1] == 9 and list(a.numpy().reshape(-1)) == [1, 9, 3, 4]
    a.set(5)
    assert np.all(a.numpy() == 5)
    with pytest.raises(ValueError):
        a.set(np.zeros(3))
    assert simtlab.array(np.arange(6).reshape(2, 3).T[::1]).numpy().tolist() == [[0, 3], [1, 4], [2, 5]]
    assert simtlab.array(np.array([1], ">u4"))[0] == 1
    assert simtlab.array(np.float32(3)).shape == ()
    assert simtlab.array(np.zeros((0, 3))).numpy().shape == (0, 3)
    assert "a" in repr(a)


def test_memory_is_freed():
    device = simtlab.Device()
    before = device.used()
    keep = simtlab.array(np.zeros(1000), device=device)
    arrays = [simtlab.array(np.zeros(1000), device=device) for _ in range(10)]
    module = simtlab.Module(COUNT, device=device)
    module.launch("count", 1, 1, [np.zeros(1, np.uint32)])
    assert device.used() >= before + 11 * 8000
    del arrays, module
    gc.collect()
    assert device.used() == before + 8000
    keep.free()
    keep.free()
    assert device.used() == before and "freed" in repr(keep)
    with pytest.raises(simtlab.DeviceError, match="freed"):
        keep.numpy()


def test_device_arrays_have_a_device(kernels):
    there = simtlab.Device()
    array = simtlab.array(np.zeros(4, np.uint32), device=there)
    with pytest.raises(simtlab.LaunchError, match="another device"):
        simtlab.Module(INDEX).launch("index", 1, 4, [4, array])
    with pytest.raises(simtlab.LaunchError, match="Module.launch"):
        simtlab.run(INDEX, "index", 1, 4, [4, array])
    simtlab.Module(INDEX, device=there).launch("index", 1, 4, [4, array])
    assert list(array.numpy()) == [0, 1, 2, 3]


def test_a_fault_leaves_the_device_usable():
    module, out = simtlab.Module(INDEX), simtlab.array(np.zeros(4, np.uint32), name="small")
    host = np.zeros(4, np.uint32)
    with pytest.raises(simtlab.Fault, match="small"):
        module.launch("index", 1, 32, [32, out])
    with pytest.raises(simtlab.Fault):
        module.launch("index", 1, 32, [32, host])
    assert list(host) == [0] * 4
    module.launch("index", 1, 32, [4, out])
    assert list(out.numpy()) == [0, 1, 2, 3]


def test_some_kernels_of_a_program():
    text = INDEX + ".visible .entry strange() { .reg .b32 %r; nonsense.b32 %r; ret; }\n"
    with pytest.raises(simtlab.CompileError):
        simtlab.Module(text)
    module = simtlab.Module(text, kernels=["index"])
    assert list(module.kernels) == ["index"]
    out = np.zeros(1, np.uint32)
    simtlab.run(text, "index", 1, 1, [1, out])


def test_memory_is_limited():
    with pytest.raises(simtlab.DeviceError):
        simtlab._simtlab.Device().read(0x10, 1 << 60)
