"""CUDA tensors as CPU tensors on the same memory, and back.

Device memory of the virtual device is memory of this process, at another address: an allocation at a guest address `g` lies in one
piece at some host address `h`, and stays there until it is freed. The driver library tells `h` for `g` (`simtlab_expose`), so that a
CPU tensor can be made on the storage of a CUDA tensor, with the same sizes, strides and offset, without a copy. Tensors that share a
storage share it here, too. Such a view is for one call of an operator: nothing keeps the memory alive.
"""

import ctypes
import os
from typing import Any, Dict, Optional, Tuple

import torch

from .. import driver

CPU = torch.device("cpu")

_construct = torch._C._construct_storage_from_data_pointer
_Key = Tuple[int, int]

#: Layouts of tensors that have a storage.
_STRIDED = torch.strided


class ExposeError(RuntimeError):
    """The driver library has no such memory."""


#: What an address is asked for: as for `simtlab_expose` of the driver library.
LOOKS, WRITES, READS = 0, 1, 2


def host_address(address: int, size: int, access: int) -> int:
    """The address in this process of `size` bytes of device memory."""
    out = ctypes.c_uint64()
    status = driver.library().simtlab_expose(ctypes.addressof(out), address, size, access)
    if status:
        raise ExposeError(
            f"the {size} bytes of a tensor at {address:#x} are not accessible on the virtual device (CUDA error {status}): "
            "a kernel before has failed, or the memory is freed"
        )
    return out.value


def follows_undefined() -> bool:
    """Whether launches are checked for memory that nobody has written."""
    checks = os.environ.get("SIMTLAB_CHECK", "").split(",")
    return "init" in checks or "all" in checks


class Views:
    """The views of one call: a tensor that is given twice is one tensor, storages that are shared are shared."""

    __slots__ = ("_tensors", "_storages", "_owners", "device")

    def __init__(self) -> None:
        self._tensors: Dict[int, Tuple[torch.Tensor, torch.Tensor]] = {}
        self._storages: Dict[_Key, Any] = {}
        self._owners: Dict[int, torch.Tensor] = {}
        #: The device of the first CUDA tensor.
        self.device: Optional[torch.device] = None

    def of(self, tensor: torch.Tensor, writes: bool) -> torch.Tensor:
        """A CPU tensor on a CUDA tensor's memory. With `writes`, the operator may write to it."""
        known = self._tensors.get(id(tensor))
        if known is not None:
            if writes:
                self._expose(tensor, True)
            return known[1]
        if self.device is None:
            self.device = tensor.device
        if tensor.layout is not _STRIDED:
            made = self._sparse(tensor, writes)
        else:
            made = self._strided(tensor, writes)
        # The tensor is kept, so that its id is not another's.
        self._tensors[id(tensor)] = (tensor, made)
        return made

    def note_read(self, tensor: torch.Tensor, operator: str) -> None:
        """Tells checks that an operator reads all of a CUDA tensor."""
        if tensor.layout is not _STRIDED or not tensor.numel() or not (tensor.is_contiguous() or _is_dense(tensor)):
            return
        library = driver.library()
        library.simtlab_within(operator.encode())
        try:
            host_address(tensor.data_ptr(), tensor.numel() * tensor.element_size(), READS)
        finally:
            library.simtlab_within(None)

    def _strided(self, tensor: torch.Tensor, writes: bool) -> torch.Tensor:
        storage = self._expose(tensor, writes)
        made = torch.empty(0, dtype=tensor.dtype, device=CPU)
        made.set_(storage, tensor.storage_offset(), tensor.size(), tensor.stride())
        self._owners.setdefault(made.untyped_storage().data_ptr(), tensor)
        if tensor.is_conj():
            torch._C._set_conj(made, True)
        if tensor.is_neg():
            torch._C._set_neg(made, True)
        return made

    def _sparse(self, tensor: torch.Tensor, writes: bool) -> torch.Tensor:
        if tensor.layout is torch.sparse_coo:
            indices, values = self.of(tensor._indices(), False), self.of(tensor._values(), False)
            made = torch.sparse_coo_tensor(indices, values, tensor.shape, check_invariants=False, is_coalesced=tensor.is_coalesced())
            # Parts of one that is written may get other sizes, so they are not on the CUDA tensor's memory.
            return made.clone() if writes else made
        if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
            parts = (tensor.crow_indices(), tensor.col_indices(), tensor.values())
        elif tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
            parts = (tensor.ccol_indices(), tensor.row_indices(), tensor.values())
        else:
            raise NotImplementedError(f"simtlab: tensors of layout {tensor.layout} on CUDA are not computed on the host")
        rows, columns, values = (self.of(part, writes) for part in parts)
        return torch.sparse_compressed_tensor(rows, columns, values, tensor.shape, layout=tensor.layout, check_invariants=False)

    def _expose(self, tensor: torch.Tensor, writes: bool) -> Any:
        storage = tensor.untyped_storage()
        # To ask a storage for its address makes one that is a lazy copy a copy.
        lazy = not writes and tensor.numel() > 0 and torch._C._is_cow_tensor(tensor)
        start = torch._C._data_address(tensor) - tensor.storage_offset() * tensor.element_size() if lazy else storage.data_ptr()
        address, size = start, storage.nbytes()
        key = (address, size)
        made = self._storages.get(key)
        if made is None or writes:
            at = host_address(address, size, WRITES if writes else LOOKS) if size and address else 0
            if made is None:
                made = self._storages[key] = _construct(at, CPU, size if at else 0)
        return made

    def owner(self, result: torch.Tensor) -> Optional[torch.Tensor]:
        """The CUDA tensor on whose storage a result lies, if there is one."""
        if not self._owners or result.layout is not _STRIDED or result.numel() == 0:
            return None
        return self._owners.get(result.untyped_storage().data_ptr())


def to_cuda(
    result: torch.Tensor, device: torch.device, dtype: Optional[torch.dtype] = None, strides: Optional[Tuple[int, ...]] = None
) -> torch.Tensor:
    """A CUDA tensor with the sizes and values of a CPU tensor, and with its type and strides unless others are given."""
    dtype = dtype or result.dtype
    if result.layout is not _STRIDED:
        return _sparse_to_cuda(result.to(dtype), device)
    plain = result.resolve_conj().resolve_neg()
    made = torch.empty_strided(plain.size(), strides or dense_strides(plain), dtype=dtype, device=device)
    if plain.numel():
        Views().of(made, True).copy_(plain)
    return made


def write_sparse(given: torch.Tensor, made: torch.Tensor) -> None:
    """Gives a sparse CUDA tensor what an operator has written to `made`, its copy (COO) or a tensor on its memory or of single precision."""
    if given.layout is torch.sparse_coo:
        given.data = to_cuda(made.to(given.dtype), given.device)
    elif made.dtype != given.dtype:
        Views().of(given.values(), True).copy_(made.values())


def dense_strides(tensor: torch.Tensor) -> Tuple[int, ...]:
    """The strides that a new tensor like this one gets: its own if its elements fill its memory, else those of `empty_like`."""
    if tensor.is_contiguous() or _is_dense(tensor):
        return tensor.stride()
    return torch.empty_like(tensor, device="meta").stride()


def _is_dense(tensor: torch.Tensor) -> bool:
    """Whether the elements fill one piece of memory, each place once."""
    expected = 1
    for stride, size in sorted((stride, size) for size, stride in zip(tensor.size(), tensor.stride()) if size != 1):
        if stride != expected:
            return False
        expected *= size
    return True


def _sparse_to_cuda(result: torch.Tensor, device: torch.device) -> torch.Tensor:
    if result.layout is torch.sparse_coo:
        indices, values = to_cuda(result._indices(), device), to_cuda(result._values(), device)
        return torch.sparse_coo_tensor(indices, values, result.shape, check_invariants=False, is_coalesced=result.is_coalesced())
    if result.layout in (torch.sparse_csr, torch.sparse_bsr):
        parts = (result.crow_indices(), result.col_indices(), result.values())
    else:
        parts = (result.ccol_indices(), result.row_indices(), result.values())
    rows, columns, values = (to_cuda(part, device) for part in parts)
    return torch.sparse_compressed_tensor(rows, columns, values, result.shape, layout=result.layout, check_invariants=False)
