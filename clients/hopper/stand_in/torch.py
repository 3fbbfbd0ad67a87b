"""What Triton's tutorials and tests ask of PyTorch, on NumPy: tensors in device memory by the driver API, computations on the host.

A tensor is a view of a storage, with shape and strides in elements. Operators copy their operands to the host, compute there and copy the
result to the device. Random numbers are NumPy's. Only what the programs of `clients/hopper` call is here.
"""

import builtins
import ctypes
import math
import os
import sys
import types

import ml_dtypes
import numpy as np

_cuda = ctypes.CDLL("libcuda.so.1")
_random = np.random.default_rng(0)


def _ok(status):
    if status:
        name = ctypes.c_char_p()
        _cuda.cuGetErrorName(status, ctypes.byref(name))
        raise RuntimeError(f"CUDA error: {(name.value or b'unknown').decode()}")


def _context():
    _ok(_cuda.cuInit(0))
    number, handle = ctypes.c_int(), ctypes.c_void_p()
    _ok(_cuda.cuDeviceGet(ctypes.byref(number), 0))
    _ok(_cuda.cuDevicePrimaryCtxRetain(ctypes.byref(handle), number))
    _ok(_cuda.cuCtxSetCurrent(handle))
    return number


class dtype:
    """A type of elements."""

    def __init__(self, name, host):
        self.name, self.host = name, np.dtype(host)
        self.itemsize = self.host.itemsize
        self.is_floating_point = "float" in name

    def __repr__(self):
        return f"torch.{self.name}"


dtype.__module__ = "torch"
_TYPES = {name: dtype(name, name) for name in (
    "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bool")}
for _name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
    _TYPES[_name] = dtype(_name, getattr(ml_dtypes, _name))
globals().update(_TYPES)
half, float, double, int = (_TYPES[name] for name in ("float16", "float32", "float64", "int32"))
_OF_HOST = {kind.host: kind for kind in _TYPES.values()}


class device:
    """The one device."""

    def __init__(self, kind="cuda", index=0):
        self.type, _, number = str(kind).partition(":")
        self.index = builtins.int(number or index)

    def __repr__(self):
        return f"device(type='{self.type}', index={self.index})"

    def __str__(self):
        return f"{self.type}:{self.index}"


class _Storage:
    """Bytes on the device, freed with the last tensor that has them."""

    def __init__(self, size):
        self.size, self.pointer = size, ctypes.c_uint64()
        if not hasattr(_Storage, "ready"):
            _Storage.ready = _context()
        _ok(_cuda.cuMemAlloc_v2(ctypes.byref(self.pointer), ctypes.c_size_t(max(size, 16))))

    def __del__(self):
        if self.pointer.value:
            _cuda.cuMemFree_v2(self.pointer)

    def read(self):
        out = np.empty(self.size, np.uint8)
        if self.size:
            _ok(_cuda.cuMemcpyDtoH_v2(out.ctypes.data_as(ctypes.c_void_p), self.pointer, ctypes.c_size_t(self.size)))
        return out

    def write(self, data):
        if self.size:
            _ok(_cuda.cuMemcpyHtoD_v2(self.pointer, data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(self.size)))


def _contiguous(shape):
    return tuple(math.prod(shape[i + 1:]) for i in range(len(shape)))


class Tensor:
    """A strided view of a storage."""

    def __init__(self, storage, kind, shape, strides, offset=0):
        self._storage, self.dtype, self.shape = storage, kind, tuple(shape)
        self._strides, self._offset = tuple(strides), offset
        self.device, self.grad, self.requires_grad = device(), None, False

    def _bytes_view(self, raw):
        strides = [stride * self.dtype.itemsize for stride in self._strides]
        return np.ndarray(self.shape, self.dtype.host, raw, self._offset * self.dtype.itemsize, strides)

    def numpy(self):
        return self._bytes_view(self._storage.read()).copy()

    def _assign(self, value):
        raw = self._storage.read()
        self._bytes_view(raw)[...] = np.asarray(value).astype(self.dtype.host)
        self._storage.write(raw)
        return self

    def _view(self, shape, strides, offset=0):
        return Tensor(self._storage, self.dtype, shape, strides, self._offset + offset)

    def data_ptr(self):
        return self._storage.pointer.value + self._offset * self.dtype.itemsize

    def stride(self, axis=None):
        return self._strides if axis is None else self._strides[axis]

    def size(self, axis=None):
        return self.shape if axis is None else self.shape[axis]

    def element_size(self):
        return self.dtype.itemsize

    def numel(self):
        return math.prod(self.shape)

    nelement = numel

    def is_contiguous(self):
        return self._strides == _contiguous(self.shape)

    def contiguous(self):
        return self if self.is_contiguous() else _from_host(self.numpy())

    def clone(self):
        return _from_host(self.numpy())

    def permute(self, *axes):
        axes = axes[0] if len(axes) == 1 else axes
        return self._view([self.shape[a] for a in axes], [self._strides[a] for a in axes])

    def transpose(self, first, second):
        axes = list(range(len(self.shape)))
        axes[first], axes[second] = axes[second], axes[first]
        return self.permute(axes)

    T = property(lambda self: self.permute(list(range(len(self.shape)))[::-1]))
    mT = property(lambda self: self.transpose(-1, -2))

    def t(self):
        return self.T

    def reshape(self, *shape):
        shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        base = self.contiguous()
        shape = list(shape)
        if -1 in shape:
            shape[shape.index(-1)] = base.numel() // -math.prod(shape)
        return base._view(shape, _contiguous(shape))

    def unsqueeze(self, axis):
        axis = axis % (len(self.shape) + 1)
        return self.reshape(*self.shape[:axis], 1, *self.shape[axis:])

    def repeat(self, *times):
        return _from_host(np.tile(self.numpy(), times))

    def view(self, *shape):
        if isinstance(shape[0], dtype):
            return _from_host(self.numpy().view(shape[0].host))
        return self.reshape(*shape)

    def __getitem__(self, key):
        raw = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), self.shape, self._strides)
        key = key if isinstance(key, tuple) else (key,)
        # A view even of a single element.
        part = raw[key if ... in key else (*key, ...)]
        offset = part.__array_interface__["data"][0] - raw.__array_interface__["data"][0]
        return self._view(part.shape, part.strides, offset)

    def __setitem__(self, key, value):
        whole = self.numpy()
        whole[_host(key) if isinstance(key, Tensor) else key] = _host(value)
        self._assign(whole)

    def __len__(self):
        return self.shape[0]

    def to(self, *what, **more):
        kind = next((w for w in [*what, more.get("dtype")] if isinstance(w, dtype)), self.dtype)
        return self if kind is self.dtype else _from_host(_wide(self.numpy()).astype(kind.host))

    def half(self):
        return self.to(_TYPES["float16"])

    def float(self):
        return self.to(_TYPES["float32"])

    def cpu(self):
        return self

    cuda = cpu

    def item(self):
        return self.numpy().item()

    def tolist(self):
        return self.numpy().tolist()

    def normal_(self, mean=0.0, std=1.0):
        return self._assign(_random.normal(mean, std, self.shape))

    def uniform_(self, low=0.0, high=1.0):
        return self._assign(_random.uniform(low, high, self.shape))

    def fill_(self, value):
        return self._assign(value)

    def zero_(self):
        return self._assign(0)

    def copy_(self, other):
        return self._assign(_wide(other.numpy()))

    def requires_grad_(self, _=True):
        return self

    def detach(self):
        return self

    def sum(self, *axes, **more):
        return _from_host(_wide(self.numpy()).sum(*axes, **more).astype(self.dtype.host))

    def all(self):
        return builtins.bool(self.numpy().all())

    def any(self):
        return builtins.bool(self.numpy().any())

    def __bool__(self):
        return builtins.bool(self.numpy())

    def abs(self):
        return _from_host(np.abs(self.numpy()))

    def max(self):
        return _from_host(np.max(self.numpy()))

    def __repr__(self):
        return f"tensor({self.numpy()}, dtype={self.dtype})"


def _wide(host):
    """The values in a type in which NumPy computes and rounds once."""
    return host.astype(np.float32) if host.dtype.itemsize < 4 and host.dtype.kind not in "iub" else host


def _host(value):
    return _wide(value.numpy()) if isinstance(value, Tensor) else value


def _from_host(host):
    host = np.asarray(host)
    if host.dtype not in _OF_HOST:
        raise TypeError(f"no tensors of {host.dtype}")
    shape = host.shape
    storage = _Storage(host.nbytes)
    storage.write(np.ascontiguousarray(host))
    return Tensor(storage, _OF_HOST[host.dtype], shape, _contiguous(shape))


def _operator(name):
    def apply(self, other):
        out = getattr(np.asarray(_host(self)), name)(_host(other))
        kinds = [t.dtype for t in (self, other) if isinstance(t, Tensor)]
        logical = out.dtype == np.bool_
        return _from_host(out if logical else out.astype(max(kinds, key=lambda k: k.itemsize).host))

    return apply


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "pow", "matmul", "eq", "ne", "lt", "le", "gt", "ge", "and", "or"):
    setattr(Tensor, f"__{_name}__", _operator(f"__{_name}__"))
Tensor.__hash__ = object.__hash__


def _shape(shape):
    return shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape


def _filled(make):
    def create(*shape, dtype=None, device=None, requires_grad=False, generator=None, size=None):
        shape = _shape(shape if size is None else (size,))
        return _from_host(np.asarray(make(shape)).astype((dtype or _TYPES["float32"]).host))

    return create


# Contents that no kernel has written show in results.
empty = _filled(lambda shape: np.full(shape, 77))
zeros, ones = _filled(np.zeros), _filled(np.ones)
rand, randn = _filled(lambda shape: _random.random(shape)), _filled(lambda shape: _random.standard_normal(shape))


def _like(create):
    return lambda other, dtype=None, **more: create(other.shape, dtype=dtype or other.dtype)


empty_like, zeros_like, ones_like, randn_like = map(_like, (empty, zeros, ones, randn))


def full(shape, value, dtype=None, device=None):
    return _from_host(np.full(shape, value).astype((dtype or _TYPES["float32"]).host))


def full_like(other, value, **_):
    return full(other.shape, value, other.dtype)


def tensor(values, dtype=None, device=None):
    host = np.asarray(values)
    default = _TYPES["float32"] if host.dtype == np.float64 else _OF_HOST[host.dtype]
    return _from_host(host.astype((dtype or default).host))


def randint(low, high=None, size=(), dtype=None, device=None, **_):
    low, high, size = (0, low, high) if isinstance(high, tuple) else (low, high, size)
    return _from_host(_random.integers(low, high, size).astype((dtype or _TYPES["int64"]).host))


def arange(*bounds, dtype=None, device=None):
    return _from_host(np.arange(*bounds).astype((dtype or _TYPES["int64"]).host))


def linspace(first, last, steps, dtype=None, device=None):
    return _from_host(np.linspace(first, last, steps).astype((dtype or _TYPES["float32"]).host))


def randperm(n, dtype=None, device=None):
    return _from_host(_random.permutation(n).astype((dtype or _TYPES["int64"]).host))


def manual_seed(seed):
    global _random
    _random = np.random.default_rng(seed)


def matmul(a, b):
    return a @ b


def softmax(x, dim=-1):
    power = np.exp(_host(x) - _host(x).max(axis=dim, keepdims=True))
    return _from_host((power / power.sum(axis=dim, keepdims=True)).astype(x.dtype.host))


def cat(parts, dim=0):
    return _from_host(np.concatenate([part.numpy() for part in parts], dim))


def conv2d(images, weights, stride=1, padding=0):
    """Images are N, C, H, W; weights are O, C, R, S."""
    x = np.pad(_host(images), ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    rows, columns = weights.shape[2:]
    windows = np.lib.stride_tricks.sliding_window_view(x, (rows, columns), axis=(2, 3))[:, :, ::stride, ::stride]
    return _from_host(np.einsum("nchwrs,ocrs->nohw", windows, _host(weights)).astype(images.dtype.host))


def isnan(x):
    return _from_host(np.isnan(x.numpy()))


def equal(a, b):
    return builtins.bool(np.array_equal(a.numpy(), b.numpy()))


def allclose(a, b, rtol=1e-5, atol=1e-8, **_):
    return builtins.bool(np.allclose(_host(a), _host(b), rtol, atol))


#: Relative and absolute bounds where a caller gives none.
_BOUNDS = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}


def _assert_close(a, b, rtol=None, atol=None, **_):
    bounds = _BOUNDS.get(a.dtype.name, (0, 0))
    rtol, atol = (bounds[i] if given is None else given for i, given in enumerate((rtol, atol)))
    np.testing.assert_allclose(_host(a).astype(np.float64), _host(b).astype(np.float64), rtol, atol)


def _module(name, **contents):
    module = types.ModuleType(f"torch.{name}")
    module.__dict__.update(contents)
    sys.modules[f"torch.{name}"] = module
    return module


def _attribute(number):
    value = ctypes.c_int()
    _ok(_cuda.cuDeviceGetAttribute(ctypes.byref(value), number, _context()))
    return value.value


def _capability(_=None):
    # Without the driver where `simtlab exec` was told: a process that has called it cannot be forked.
    given = os.environ.get("SIMTLAB_COMPUTE_CAPABILITY")
    return tuple(map(builtins.int, given.split("."))) if given else (_attribute(75), _attribute(76))


def _properties(_=None):
    return types.SimpleNamespace(multi_processor_count=_attribute(16))


cuda = _module(
    "cuda", is_available=lambda: True, get_device_capability=_capability, get_device_properties=_properties,
    current_device=lambda: 0, set_device=lambda _: None, synchronize=lambda *_: _ok(_cuda.cuCtxSynchronize()),
    current_stream=lambda *_: types.SimpleNamespace(cuda_stream=0), device_count=lambda: 1, manual_seed=manual_seed)
testing = _module("testing", assert_close=_assert_close)
version = _module("version", hip=None, cuda="13.2")
autograd = _module("autograd", Function=type("Function", (), {"apply": None}))
functional = _module("nn.functional", conv2d=conv2d)
nn = _module("nn", functional=functional)
