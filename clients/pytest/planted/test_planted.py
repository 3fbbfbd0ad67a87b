"""A project's tests as they are for a GPU. Those named `test_planted_...` have a defect each; the others have none, and are between them."""

import pytest
import torch
import triton

import kernels

DEVICE = "cuda"
BLOCK = 128


def blocks(n):
    return (triton.cdiv(n, BLOCK),)


def good(n=1000):
    x = torch.rand(n, device=DEVICE)
    out = torch.empty_like(x)
    kernels.scale[blocks(n)](x, out, n, BLOCK)
    torch.testing.assert_close(out, 2 * x)


def test_good_first():
    good()


def test_planted_store_beyond_the_end():
    x = torch.rand(1000, device=DEVICE)
    out = torch.empty_like(x)
    kernels.store_beyond_the_end[blocks(1000)](x, out, 1000, BLOCK)
    torch.testing.assert_close(out, 2 * x)


def test_good_after_a_store():
    good()


def test_planted_load_beyond_the_end():
    x = torch.rand(1000, device=DEVICE)
    out = torch.empty_like(x)
    kernels.load_beyond_the_end[blocks(1000)](x, out, 1000, BLOCK)
    torch.testing.assert_close(out, 2 * x)


def test_planted_sum_without_atomics():
    x = torch.ones(1000, device=DEVICE)
    total = torch.zeros(1, device=DEVICE)
    kernels.sum_without_atomics[blocks(1000)](x, total, 1000, BLOCK)
    assert total.item() > 0


def test_good_after_a_race():
    good(5000)


def test_planted_memory_nobody_has_written():
    x = torch.rand(256, device=DEVICE)
    total = torch.empty(256, device=DEVICE)  # planted: zeros are meant
    kernels.add_into[blocks(256)](x, total, 256, BLOCK)
    assert (total >= 0).all()


def test_planted_wait_for_a_flag():
    flag, out = (torch.zeros(1, dtype=torch.int32, device=DEVICE) for _ in range(2))
    kernels.wait_for_flag[(1,)](flag, out)
    torch.cuda.synchronize()
    assert out.item() == 1


@pytest.mark.parametrize("n", [1, 127, 4096])
def test_good_last(n):
    good(n)
