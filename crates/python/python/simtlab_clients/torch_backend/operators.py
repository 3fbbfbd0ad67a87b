"""A kernel for the CUDA dispatch key of every operator that has one: it computes the operator on the host.

The operators are those that the dispatcher lists for the key, and what each does with its arguments is read from its schema:

- Arguments that are CUDA tensors become CPU tensors on the same memory (`views`), a CUDA device becomes the CPU, a CUDA generator
  becomes a CPU generator seeded from it (`randomness`).
- A result whose alias annotation says that it is written is the argument that it names. Any other result becomes a CUDA tensor, unless
  it lies on an argument's storage: then it is a view of that argument.
- Operators all of whose results are views of arguments that they do not write compute nothing: PyTorch's own kernels are left to them,
  as to those that only make or describe tensors (`KEPT`).
- Arithmetic on half precision and bfloat16 is done in single precision and rounded once, where the result is stored, as CUDA's kernels
  do. Types and strides of results are those of the operator on `meta` tensors, where it has such a kernel.
- Operators without a CPU kernel are in `routes`, or refused by name.
"""

import time
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from . import capture, determinism, ledger, randomness
from .scratch import Scratch
from .views import CPU, Views, dense_strides, follows_undefined, to_cuda, write_sparse

#: Operators that launch no kernel of PyTorch's: they allocate, describe, or copy by the driver. By name, or by name and overload.
KEPT = frozenset(
    """empty empty_strided _efficientzerotensor resize_ set_ is_set_to record_stream is_pinned _pin_memory _local_scalar_dense
    _use_cudnn_ctc_loss _use_miopen_ctc_loss _cudnn_init_dropout_state _has_same_storage_numel _cufft_get_plan_cache_size
    _cufft_get_plan_cache_max_size _cufft_set_plan_cache_max_size _cufft_clear_plan_cache _fused_sdp_choice""".split()
)

#: Operators with kernels for all devices in one that call code of the device inside: they get a kernel for CUDA, too.
ADDED = ("aten::copy_", "aten::convolution", "aten::convolution_backward")

#: Operators whose meaning depends on the type of their arguments, so that half precision must not become single precision: comparisons
#: with scalars that CUDA converts to the type first, steps between neighbours, limits of the type, numbers drawn in it.
EXACT = frozenset(
    """eq ne lt le gt ge eq_ ne_ lt_ le_ gt_ ge_ equal isin searchsorted bucketize nextafter nextafter_ nan_to_num nan_to_num_ frexp
    copy_ fill_ zero_ clone uniform_ normal_ random_ exponential_ geometric_ log_normal_ cauchy_ bernoulli_ bernoulli signbit
    isnan isinf isposinf isneginf sign sgn abs abs_ neg neg_ index_select index gather take cat where masked_fill_ masked_select
    nonzero sort topk argsort max min amax amin argmax argmin maximum minimum roll flip unique _unique2 unique_dim
    unique_consecutive tril triu tril_ triu_ _to_copy view_as_real masked_scatter_ _index_put_impl_ scatter gather complex
    softshrink softshrink_backward""".split()
)

#: Arguments that operators write though their schemas do not say so, unless they are operators of gradients.
_WRITTEN_UNSAID = ("running_mean", "running_var")

#: Types for which CUDA has no kernel of an operator and the CPU has one.
_REFUSED_TYPES = {
    name: (torch.uint8,) for name in ("upsample_bilinear2d", "upsample_bicubic2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa")
}

#: Operators that take tensors of the CPU beside those of CUDA: copies, indices, lengths of sequences, what falls back to one tensor after
#: another. Others take them only without dimensions, as on a device.
_MIXING = ("copy_", "index", "_index_put_impl_", "_ctc_loss", "_ctc_loss_backward", "_pack_padded_sequence", "_segment_reduce")
_MIXING_PREFIXES = ("_foreach_", "_fused_", "_amp_", "_scaled_dot_product_")

_HALVES = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.complex32: torch.complex64}

#: Results of the operators on meta tensors, by operator and arguments.
_META_ENTRIES = 8192

_NO_META = object()

#: Elements of an argument from which on a new result is computed into device memory rather than copied there.
_LARGE = 1 << 16

_CHECKS_READS = follows_undefined()


class Operator:
    """The kernel of one operator."""

    def __init__(self, name: str, op: Any):
        self.name, self.op = name, op
        base = name.split("::", 1)[1].split(".", 1)[0]
        schema = op._schema
        arguments = schema.arguments
        self.names = [argument.name for argument in arguments]
        unsaid = () if "backward" in base else _WRITTEN_UNSAID
        self.writes = [a.name in unsaid or (a.alias_info is not None and a.alias_info.is_write) for a in arguments]
        self.written_names = frozenset(n for n, w in zip(self.names, self.writes) if w)
        #: Arguments that are tensors: the dispatcher gives numbers that were made tensors as numbers.
        self.tensors = frozenset(a.name for a in arguments if str(a.type) in ("Tensor", "Optional[Tensor]"))
        self.is_out = any(argument.is_out for argument in arguments)
        sets = {}
        for argument in arguments:
            if argument.alias_info is not None and argument.alias_info.is_write:
                for name_of_set in argument.alias_info.before_set:
                    sets[name_of_set] = argument.name
        #: For each result, the name of the argument that it is, if it is one.
        self.returned: List[Optional[str]] = [
            next((sets[s] for s in r.alias_info.before_set if s in sets), None) if r.alias_info is not None else None
            for r in schema.returns
        ]
        self.fresh = any(name is None for name in self.returned)
        self.mixes = base.removesuffix("_out") in _MIXING or base.startswith(_MIXING_PREFIXES)
        self.exact = base.removesuffix("_out") in EXACT
        self.alert = determinism.name_of(name)
        self.refused_types = _REFUSED_TYPES.get(base, ())
        self.is_random = torch.Tag.nondeterministic_seeded in op.tags
        #: The results of elementwise operators have the same strides on all devices, and types that promotion gives.
        self.is_pointwise = torch.Tag.pointwise in op.tags
        self.takes_generator = any(argument.name == "generator" for argument in arguments)
        self.dtype_names = frozenset(a.name for a in arguments if a.name in ("dtype", "out_dtype"))
        self.has_meta = True
        self.meta: Dict[Any, Any] = {}
        self.work = ledger.entry(name.removesuffix(".default"))
        self.compute: Callable[..., Any] = op
        #: The overload that writes the only result to an argument, and that argument's name.
        self.into: Optional[Tuple[Any, str]] = None
        if self.returned == [None] and not self.is_random:
            self.into = _into(op)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if capture.active and capture.capturing():
            return capture.record(self, args, kwargs)
        return self.run(args, kwargs, None)

    def run(self, args: Tuple[Any, ...], kwargs: Dict[str, Any], into: Optional[List[Any]], seed: Optional[int] = None) -> Any:
        """Computes the operator now. `into` are CUDA tensors for its new results, if they are there already."""
        begun = time.perf_counter_ns()
        with torch._C.DisableTorchFunction():
            result = self._run(args, kwargs, into, seed)
        work = self.work
        work[0] += 1
        work[1] += time.perf_counter_ns() - begun
        return result

    def _run(self, args: Tuple[Any, ...], kwargs: Dict[str, Any], into: Optional[List[Any]], seed: Optional[int]) -> Any:
        if self.alert is not None:
            determinism.alert(self.alert)
        if self.is_out:
            self.size_outs(args, kwargs)
        call = _Call(self, args, kwargs)
        if self.refused_types and any(t.dtype in self.refused_types for t in _tensors(args)):
            raise NotImplementedError(f"{self.name} is not implemented for {_tensors(args)[0].dtype} on CUDA")
        if self.is_random:
            result = call.compute_random(seed)
        else:
            result = call.compute(direct=into is None)
        call.write_back()
        result = call.results(result, into)
        call.scratch.release()
        return result

    def size_outs(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        """Gives empty tensors, to which results are to be written, the sizes of large results: these are then computed in place."""
        given = [kwargs[a.name] for a in self.op._schema.arguments if a.is_out and a.name in kwargs]
        if not all(isinstance(t, torch.Tensor) and t.is_cuda and t.layout is torch.strided and not t.numel() for t in given):
            return
        if not _has_large(args, kwargs):
            return
        expected = self.expected(args, kwargs)
        if expected is not None and len(expected) == len(given) and all(isinstance(t, torch.Tensor) for t in expected):
            for tensor, wanted in zip(given, expected):
                _resize(tensor, wanted)

    def expected(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Optional[List[Any]]:
        """What the results look like, from the operator on meta tensors; None if it has no such kernel, or the values decide."""
        if not self.has_meta:
            return None
        try:
            key = (_key(args), _key(kwargs))
            known = self.meta.get(key)
        except TypeError:
            key, known = None, None
        if known is None:
            try:
                known = _flat(self.op(*_meta(args), **_meta(kwargs)))
            except NotImplementedError:
                self.has_meta = False
                return None
            except Exception:  # What is wrong the operator itself tells.
                known = _NO_META
            if key is not None:
                if len(self.meta) >= _META_ENTRIES:
                    self.meta.clear()
                self.meta[key] = known
        return known if isinstance(known, list) else None


class _Call:
    """One call of an operator."""

    def __init__(self, operator: Operator, args: Tuple[Any, ...], kwargs: Dict[str, Any]):
        self.operator, self.args, self.kwargs = operator, args, kwargs
        self.views = Views()
        #: Whether a tensor of the CPU with dimensions is among the arguments.
        self.mixed = False
        self.device: Optional[torch.device] = None
        self.generator: Any = None
        self.upcast: Dict[int, Tuple[torch.Tensor, torch.Tensor]] = {}
        #: CUDA tensors that the operator may write, with what it has written: of the same type, or of single precision.
        self.written: List[Tuple[torch.Tensor, torch.Tensor]] = []
        self.scratch = Scratch()
        #: The result, if it was computed into device memory.
        self.direct: Optional[torch.Tensor] = None
        self.rounds = not operator.exact and (_has_half(args) or _has_half(kwargs.values()))
        self.cpu_args = [self.convert(a, operator.writes[i], operator.names[i]) for i, a in enumerate(args)]
        self.cpu_kwargs = {k: self.convert(a, k in operator.written_names, k) for k, a in kwargs.items()}
        if self.mixed and self.views.device is not None and not operator.mixes:
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, {self.views.device} and cpu! (simtlab: {operator.name})"
            )

    def convert(self, value: Any, writes: bool, name: str) -> Any:
        if isinstance(value, torch.Tensor):
            return self.tensor(value, writes)
        if value is None:
            return value
        if isinstance(value, (bool, int, float, complex)):
            return self.number(value) if name in self.operator.tensors else value
        if isinstance(value, (list, tuple)):
            return type(value)([self.convert(v, writes, name) for v in value])
        if isinstance(value, torch.device):
            if value.type == "cuda":
                self.device = value
                return CPU
            return value
        if isinstance(value, torch.dtype) and self.rounds:
            return _HALVES.get(value, value)
        if isinstance(value, torch.Generator):
            self.generator = value
            return None
        return value

    def number(self, value: Any) -> torch.Tensor:
        """A number where the operator takes a tensor: of the tensors' type, if numbers of its kind do not change that."""
        types = [t.dtype for t in _tensors((*self.args, *self.kwargs.values()))]
        kind = torch.result_type(torch.empty(1, dtype=types[0], device=CPU), value) if types else torch.result_type(value, value)
        return torch.scalar_tensor(value, dtype=_HALVES.get(kind, kind) if self.rounds else kind, device=CPU)

    def tensor(self, value: torch.Tensor, writes: bool) -> torch.Tensor:
        if value.is_cuda:
            view = self.views.of(value, writes)
            if _CHECKS_READS and not writes:
                self.views.note_read(value, self.operator.name)
        else:
            view = value
            self.mixed = self.mixed or value.dim() > 0
        wider = _HALVES.get(value.dtype) if self.rounds else None
        if wider is not None:
            known = self.upcast.get(id(view))
            if known is None:
                known = self.upcast[id(view)] = (view, self.widened(view, wider) if value.is_cuda else view.to(wider))
            view = known[1]
        if writes and (wider is not None or self.operator.is_out or value.layout is not torch.strided):
            self.written.append((value, view))
        return view

    def widened(self, view: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """The values of half precision in single precision."""
        if view.layout is not torch.strided:
            return view.to(dtype)
        return self.scratch.empty(view.size(), dense_strides(view), dtype).copy_(view)

    def compute(self, direct: bool = False) -> Any:
        op = self.operator.compute
        if direct and op is self.operator.op and self.compute_direct():
            return self.direct
        try:
            return op(*self.cpu_args, **self.cpu_kwargs)
        except NotImplementedError as error:
            return self.again(error)
        except RuntimeError as error:
            text = str(error)
            if "not resizable" in text and self.operator.written_names:
                return self.compute_resized(op)
            if "not implemented for" in text:
                return self.again(error)
            raise

    def compute_direct(self) -> bool:
        """Computes a large result into device memory; False if nothing was computed."""
        operator, device = self.operator, self.device or self.views.device
        if operator.into is None or device is None:
            return False
        if not _has_large(self.args, self.kwargs):
            return False
        expected = operator.expected(self.args, self.kwargs)
        if expected is None or len(expected) != 1 or not isinstance(expected[0], torch.Tensor):
            return False
        wanted = expected[0]
        if wanted.layout is not torch.strided or not wanted.numel() or wanted.is_conj() or wanted.is_neg():
            return False
        made = torch.empty_strided(wanted.size(), dense_strides(wanted), dtype=wanted.dtype, device=device)
        overload, name = operator.into
        target = Views().of(made, True)
        wide = _HALVES.get(wanted.dtype) if self.rounds else None
        out = target if wide is None else self.scratch.empty(made.size(), made.stride(), wide)
        try:
            overload(*self.cpu_args, **self.cpu_kwargs, **{name: out})
        except (NotImplementedError, RuntimeError):
            # What is wrong the operator itself tells.
            return False
        if wide is not None:
            target.copy_(out)
        self.direct = made
        return True

    def again(self, error: Exception) -> Any:
        """After a kernel that does not know half precision: once more in single precision."""
        if not self.rounds and (_has_half(self.args) or _has_half(self.kwargs.values())):
            self.rounds = True
            self.views, self.upcast, self.written = Views(), {}, []
            operator = self.operator
            self.cpu_args = [self.convert(a, operator.writes[i], operator.names[i]) for i, a in enumerate(self.args)]
            self.cpu_kwargs = {k: self.convert(a, k in operator.written_names, k) for k, a in self.kwargs.items()}
            return self.operator.compute(*self.cpu_args, **self.cpu_kwargs)
        raise NotImplementedError(
            f"simtlab: {self.operator.name} on CUDA tensors is computed by PyTorch's CPU kernels, which do not have it for these "
            f"arguments: {str(error).splitlines()[0]}"
        ) from error

    def compute_resized(self, op: Any) -> Any:
        """An operator that resizes what it writes to: it gets tensors of its own, of which the CUDA tensors become copies."""
        operator = self.operator
        pairs: List[Tuple[torch.Tensor, torch.Tensor]] = []

        def own(cpu: Any, given: Any, writes: bool) -> Any:
            if isinstance(given, (list, tuple)):
                return type(given)([own(c, g, writes) for c, g in zip(cpu, given)])
            if not writes or not isinstance(given, torch.Tensor) or not given.is_cuda:
                return cpu
            # The first attempt has changed the sizes of `cpu`.
            made = torch.empty_strided(given.size(), given.stride(), dtype=cpu.dtype, device=CPU)
            if not operator.is_out:
                made.copy_(Views().of(given, False))
            pairs.append((made, given))
            return made

        args = [own(c, g, operator.writes[i]) for i, (c, g) in enumerate(zip(self.cpu_args, self.args))]
        kwargs = {k: own(c, self.kwargs[k], k in operator.written_names) for k, c in self.cpu_kwargs.items()}
        result = op(*args, **kwargs)
        self.written = []
        for made, given in pairs:
            _resize(given, made)
            if made.numel():
                Views().of(given, True).copy_(made)
        return result

    def compute_random(self, seed: Optional[int]) -> Any:
        if seed is None:
            generator = self.generator
            if generator is None:
                generator = randomness.default_generator(self.device or self.views.device)
            if generator.device.type != "cuda":
                raise RuntimeError(f"Expected a 'cuda' device type for generator but found '{generator.device.type}'")
            seed = randomness.draw_seed(generator)
        if self.operator.takes_generator:
            self.cpu_kwargs = {**self.cpu_kwargs}
            names = self.operator.names
            place = names.index("generator")
            if place < len(self.cpu_args):
                self.cpu_args[place] = randomness.seeded(seed)
            else:
                self.cpu_kwargs["generator"] = randomness.seeded(seed)
            return self.compute()
        with randomness.DefaultSeeded(seed):
            return self.compute()

    def write_back(self) -> None:
        """Gives what is written its size, and rounds what was computed in single precision."""
        for given, made in self.written:
            if given.layout is not torch.strided and given.is_cuda:
                write_sparse(given, made)
                continue
            resized = _resize(given, made)
            if made.numel() and (resized or given.dtype != made.dtype):
                target = Views().of(given, True) if given.is_cuda else given
                target.copy_(made)

    def argument(self, name: str) -> Any:
        if name in self.kwargs:
            return self.kwargs[name]
        return self.args[self.operator.names.index(name)]

    def results(self, result: Any, into: Optional[List[Any]]) -> Any:
        operator = self.operator
        count = len(operator.returned)
        if count == 0:
            return None
        if self.direct is not None:
            return self.direct
        given = [result] if count == 1 else list(result)
        expected: Optional[List[Any]] = None
        if operator.fresh and not operator.is_pointwise:
            expected = operator.expected(self.args, self.kwargs)
        place = 0
        made: List[Any] = []
        for value, name in zip(given, operator.returned):
            if name is not None:
                made.append(self.argument(name))
                place += 1
                continue
            values = list(value) if isinstance(value, (list, tuple)) else [value]
            wanted = expected[place : place + len(values)] if expected is not None else [None] * len(values)
            place += len(values)
            tensors = [self.fresh(v, w, into) for v, w in zip(values, [*wanted, *[None] * len(values)])]
            made.append(tensors if isinstance(value, (list, tuple)) else tensors[0])
        return made[0] if count == 1 else tuple(made)

    def fresh(self, value: Any, wanted: Any, into: Optional[List[Any]]) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if self.device is None and self.views.device is None:
            return value
        owner = self.views.owner(value)
        if owner is not None and value.dtype == owner.dtype and not self.operator.is_out:
            return owner if _same(owner, value) else owner.as_strided(value.size(), value.stride(), value.storage_offset())
        dtype, strides = value.dtype, None
        if isinstance(wanted, torch.Tensor) and wanted.layout is torch.strided and value.layout is torch.strided:
            dtype = wanted.dtype
            if wanted.stride() != value.stride() and wanted.size() == value.size():
                strides = dense_strides(wanted)
        elif self.rounds and value.dtype in (torch.float32, torch.complex64):
            dtype = self.common_half(value.dtype)
        if into is not None:
            target = into.pop(0)
            if target.size() != value.size():
                raise RuntimeError(f"simtlab: {self.operator.name} gives a result of another size in a replay than in its capture")
            Views().of(target, True).copy_(value)
            return target
        device = self.device or self.views.device
        assert device is not None
        return to_cuda(value, device, dtype, strides)

    def common_half(self, computed: torch.dtype) -> torch.dtype:
        """The type of a result by promotion: that of tensors with dimensions, or, if none is a float, of those without."""
        dtype = next((self.argument(n) for n in self.operator.dtype_names if n in self.kwargs), None)
        if isinstance(dtype, torch.dtype):
            return dtype
        floats = [t for t in _tensors((*self.args, *self.kwargs.values())) if t.is_floating_point() or t.is_complex()]
        types = {t.dtype for t in floats if t.dim()} or {t.dtype for t in floats}
        return types.pop() if len(types) == 1 else computed


def _into(op: Any) -> Optional[Tuple[Any, str]]:
    """The overload of an operator that has its arguments and one to which it writes the result, and the name of that one."""
    packet = op.overloadpacket
    wanted = [(a.name, str(a.type)) for a in op._schema.arguments]
    for overload in packet.overloads():
        other = getattr(packet, overload)
        outs = [a.name for a in other._schema.arguments if a.is_out]
        if len(outs) == 1 and [(a.name, str(a.type)) for a in other._schema.arguments if not a.is_out] == wanted:
            return other, outs[0]
    return None


def _resize(given: torch.Tensor, made: torch.Tensor) -> bool:
    """Gives a tensor the sizes and strides of another, if the sizes differ; says whether they did."""
    if given.size() == made.size():
        return False
    given.resize_(made.size())
    if made.numel() and given.stride() != made.stride():
        storage, reach = given.untyped_storage(), given.storage_offset() + 1
        reach += sum((size - 1) * stride for size, stride in zip(made.size(), made.stride()))
        # Elements of a result can lie apart: the solutions of `linalg.lstsq` do.
        if storage.nbytes() < reach * given.element_size():
            storage.resize_(reach * given.element_size())
        given.as_strided_(made.size(), made.stride())
    return True


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.size() == b.size() and a.stride() == b.stride() and a.storage_offset() == b.storage_offset()


def _tensors(values: Any) -> List[torch.Tensor]:
    found: List[torch.Tensor] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found.extend(_tensors(value))
    return found


def _has_large(args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> bool:
    return any(t.is_cuda and t.numel() >= _LARGE for t in _tensors((*args, *kwargs.values())))


def _has_half(values: Any) -> bool:
    for value in values:
        if isinstance(value, torch.Tensor):
            if value.dtype in _HALVES:
                return True
        elif isinstance(value, torch.dtype):
            if value in _HALVES:
                return True
        elif isinstance(value, (list, tuple)) and value and not isinstance(value[0], (int, float)) and _has_half(value):
            return True
    return False


def _key(value: Any) -> Any:
    """A key by what decides about sizes, strides and types of results."""
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided:
            raise TypeError
        return (tuple(value.size()), value.stride(), value.dtype, value.is_cuda)
    if isinstance(value, (list, tuple)):
        return tuple([_key(v) for v in value])
    if isinstance(value, dict):
        return tuple([(k, _key(v)) for k, v in value.items()])
    return (type(value), value)


def _meta(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided:
            raise NotImplementedError
        if not value.is_cuda:
            return value
        return torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="meta")
    if isinstance(value, (list, tuple)):
        return type(value)([_meta(v) for v in value])
    if isinstance(value, dict):
        return {k: _meta(v) for k, v in value.items() if not isinstance(v, torch.Generator)}
    if isinstance(value, torch.device):
        return torch.device("meta")
    if isinstance(value, torch.Generator):
        return None
    return value


def _flat(result: Any) -> List[Any]:
    if isinstance(result, (list, tuple)):
        found: List[Any] = []
        for value in result:
            found.extend(_flat(value))
        return found
    return [result]


def is_view(op: Any) -> bool:
    """Whether all results are views of arguments that are not written."""
    returns = op._schema.returns
    return bool(returns) and all(r.alias_info is not None and not r.alias_info.is_write for r in returns)


def describes(op: Any) -> bool:
    """Whether an operator on sparse tensors only makes or describes one: it has no result that is a tensor, or takes none."""
    schema = op._schema
    tensor = ("Tensor", "Optional[Tensor]", "List[Tensor]")
    base = op._schema.name.split("::", 1)[1]
    return (
        not any(str(r.type) in tensor for r in schema.returns)
        or base.startswith(("_sparse_coo_tensor", "_sparse_compressed_tensor", "sparse_resize", "_coalesced_", "empty"))
        or base in ("resize_as_sparse_", "clone", "_dimI", "_dimV")
    )


def find(name: str) -> Any:
    """The overload of a registered name, such as `aten::add.Tensor`; None if there is none."""
    namespace, rest = name.split("::", 1)
    base, _, overload = rest.partition(".")
    try:
        return getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")
    except (AttributeError, RuntimeError):
        return None


def refuse(name: str) -> Callable[..., Any]:
    """A kernel that says that there is none."""

    def refused(*_: Any, **__: Any) -> Any:
        raise NotImplementedError(
            f"simtlab: {name} has a CUDA kernel and no CPU kernel, and is not computed on the host (docs/torch.md lists what is)"
        )

    return refused
