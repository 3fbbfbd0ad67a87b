"""PyTorch's CUDA tensors on the virtual device: what a device promises about operators, memory, random numbers, graphs and errors."""

import warnings

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

from checks import check, run

warnings.simplefilter("ignore")
CUDA = torch.device("cuda")


def raises(kind, part, function):
    try:
        function()
    except kind as error:
        assert part in str(error), error
        return
    raise AssertionError(f"{kind.__name__} is wanted")


def beside_cpu(make, *inputs, rtol=1e-4, atol=1e-5):
    """A module's results and gradients on both devices."""
    torch.manual_seed(7)
    reference = make()
    results = []
    for device in ("cpu", "cuda"):
        module = make().to(device)
        module.load_state_dict({k: v.to(device) for k, v in reference.state_dict().items()})
        given = [x.detach().clone().to(device).requires_grad_() for x in inputs]
        out = module(*given)
        out = out[0] if isinstance(out, tuple) else out
        out.square().sum().backward()
        results.append([out.detach().cpu(), *(g.grad.cpu() for g in given), *(p.grad.cpu() for p in module.parameters())])
    for cpu, cuda in zip(*results):
        torch.testing.assert_close(cuda, cpu, rtol=rtol, atol=atol)


@check
def the_device_is_there():
    assert torch.cuda.is_available() and torch.cuda.device_count() == 1
    assert "Simtlab" in torch.cuda.get_device_name(0)
    free, total = torch.cuda.mem_get_info()
    assert 0 < free <= total


@check
def views_share_memory():
    x = torch.arange(6.0, device=CUDA)
    x[::2] += 10
    x.view(2, 3).t()[0].mul_(2)
    assert x.tolist() == [20, 1, 12, 6, 14, 5]
    out = torch.empty(0, device=CUDA)
    torch.add(x, x, out=out)
    across = torch.ones(2, 3, 4, device=CUDA).transpose(1, 2)
    assert torch.eq(across, across, out=torch.empty(0, device=CUDA, dtype=torch.bool)).stride() == across.stride()
    assert out.tolist() == [2 * v for v in x.tolist()] and torch.add(x, x, out=x) is x


@check
def devices_do_not_mix():
    a, b = torch.ones(3, device=CUDA), torch.ones(3)
    for function in (lambda: a + b, lambda: torch.cat([a, b]), lambda: a @ b, lambda: torch.where(a > 0, a, b), lambda: a.add_(b)):
        raises(RuntimeError, "same device", function)
    assert (a + torch.tensor(2.0)).tolist() == [3, 3, 3] and a[torch.tensor([0, 2])].tolist() == [1, 1]
    assert a.copy_(b + 4).tolist() == [5, 5, 5] and (a * 2).cpu().device.type == "cpu"


@check
def cudnn_stays_off():
    torch.backends.cudnn.enabled = True
    with torch.backends.cudnn.flags(enabled=True):
        assert not torch.backends.cudnn.enabled
        nn.GRU(3, 4).to(CUDA)(torch.ones(2, 2, 3, device=CUDA))[0].sum().backward()


@check
def errors_are_errors():
    raises(IndexError, "out of bounds", lambda: torch.ones(3, device=CUDA)[torch.tensor([5], device=CUDA)])
    raises(RuntimeError, "cannot be multiplied", lambda: torch.ones(3, 2, device=CUDA) @ torch.ones(3, 2, device=CUDA))
    raises(RuntimeError, "single memory location", lambda: torch.ones(1, device=CUDA).expand(3).add_(1))
    raises(RuntimeError, "device type for generator", lambda: torch.rand(2, generator=torch.Generator(), device=CUDA))
    image = torch.zeros(1, 1, 4, 4, device=CUDA, dtype=torch.uint8)
    raises(NotImplementedError, "not implemented for torch.uint8", lambda: F.interpolate(image, (8, 8), mode="bilinear"))
    raises(RuntimeError, "lambda must be in range", lambda: F.softshrink(torch.ones(3, device=CUDA).half(), 65507.0))
    raises(NotImplementedError, "aten::_cslt_compress", lambda: torch.ops.aten._cslt_compress(torch.rand(32, 32, device=CUDA).half()))


@check
def orders_of_threads_are_alerted():
    x = torch.rand(1, 1, 4, 4, 4, device=CUDA, requires_grad=True)
    torch.use_deterministic_algorithms(True)
    try:
        raises(RuntimeError, "avg_pool3d_backward_cuda does not have a deterministic", lambda: F.avg_pool3d(x, 2).sum().backward())
        raises(RuntimeError, "median CUDA with indices output", lambda: x.median(0))
        x.median()
    finally:
        torch.use_deterministic_algorithms(False)
    x.median(0)


@check
def lazy_copies_stay_lazy():
    x = torch.arange(4.0, device=CUDA)
    lazy = torch._lazy_clone(x)
    assert (lazy + x).tolist() == [0, 2, 4, 6] and torch._C._is_cow_tensor(lazy)
    lazy.add_(1)
    assert x.tolist() == [0, 1, 2, 3] and lazy.tolist() == [1, 2, 3, 4] and not torch._C._is_cow_tensor(lazy)


@check
def halves_are_rounded_once():
    x = torch.full((4096,), 0.1, device=CUDA, dtype=torch.float16)
    exact = 4096 * x[0].double().item()
    assert x.sum().item() == torch.tensor(exact).half().item()
    a, b = (torch.rand(32, 512, generator=torch.Generator().manual_seed(s)).bfloat16() for s in (1, 2))
    wanted = (a.double() @ b.double().t()).to(torch.bfloat16)
    got = (a.to(CUDA) @ b.to(CUDA).t()).cpu()
    assert got.dtype == torch.bfloat16 and (got != wanted).float().mean() < 0.01
    norm = nn.BatchNorm1d(3, momentum=None).to(CUDA, torch.bfloat16)
    norm(torch.full((4, 3), 5.0, device=CUDA, dtype=torch.bfloat16))
    assert norm.running_mean.tolist() == [5, 5, 5] and norm.running_mean.dtype == torch.bfloat16
    assert F.softmax(x, 0, dtype=torch.float32).dtype == F.log_softmax(x, 0, dtype=torch.float32).dtype == torch.float32
    assert (x == 0.1).all() and (x * 2.0).dtype == torch.float16


@check
def random_numbers_are_reproducible():
    torch.manual_seed(5)
    a = torch.rand(4, device=CUDA)
    state = torch.cuda.get_rng_state()
    b = torch.randn(4, device=CUDA)
    torch.cuda.set_rng_state(state)
    assert torch.equal(b, torch.randn(4, device=CUDA)) and not torch.equal(a, torch.rand(4, device=CUDA))
    torch.manual_seed(5)
    assert torch.equal(a, torch.rand(4, device=CUDA))
    sample = torch.randn(20000, device=CUDA)
    assert abs(sample.mean().item()) < 0.03 and abs(sample.std().item() - 1) < 0.03


@check
def recurrent_networks():
    x = torch.randn(5, 2, 4)
    beside_cpu(lambda: nn.LSTM(4, 6), x)
    beside_cpu(lambda: nn.GRU(4, 6), x)


@check
def convolutions_and_norms():
    x = torch.randn(4, 4, 9, 9)
    beside_cpu(lambda: nn.Sequential(nn.Conv2d(4, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.ConvTranspose2d(8, 4, 3)), x, rtol=1e-3, atol=1e-3)
    beside_cpu(lambda: nn.Conv2d(4, 4, 3, groups=4), x)
    beside_cpu(lambda: nn.RMSNorm(9), x)
    beside_cpu(lambda: nn.GroupNorm(2, 4), x, rtol=1e-3, atol=1e-3)


@check
def attention():
    class Attention(nn.Module):
        def forward(self, q, k, v):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    beside_cpu(Attention, *(torch.randn(2, 3, 5, 8) for _ in range(3)))
    beside_cpu(Attention, *(torch.randn(2, 3, 5, 8).half() for _ in range(3)), rtol=2e-2, atol=2e-2)


def least_squares(a, b):
    return torch.linalg.lstsq(a, b).solution


@check
def linear_algebra():
    torch.manual_seed(5)
    tall, wide, square = torch.randn(5, 3), torch.randn(3, 5), torch.randn(2, 4, 4)
    right, several = torch.randn(5, 2), torch.randn(2, 4, 3)
    definite = square @ square.mT + torch.eye(4)
    for function, *inputs in (
        (least_squares, tall, right),
        (least_squares, wide, torch.randn(3, 7)),
        (least_squares, torch.randn(2, 6, 4), torch.randn(2, 6, 1)),
        (torch.linalg.solve, square, several),
        (torch.linalg.cholesky, definite),
        (torch.linalg.inv, square),
        (torch.linalg.pinv, tall),
        (torch.linalg.qr, tall),
        (torch.linalg.lu, square),
        (torch.linalg.eigvalsh, definite),
        (torch.linalg.svdvals, wide),
        (torch.linalg.slogdet, square),
        (torch.linalg.matrix_exp, square),
        (lambda a, b: torch.linalg.solve_triangular(a, b, upper=False), torch.linalg.cholesky(definite), several),
    ):
        on_cpu, on_cuda = function(*inputs), function(*(x.cuda() for x in inputs))
        for cpu, cuda in zip(*((r if isinstance(r, tuple) else (r,)) for r in (on_cpu, on_cuda))):
            assert cuda.is_cuda
            torch.testing.assert_close(cuda.cpu(), cpu, rtol=1e-4, atol=1e-5)


@check
def sparse_tensors():
    s = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3)).cuda()
    d = torch.arange(6.0, device=CUDA).reshape(3, 2)
    assert torch.equal(s @ d, s.to_dense() @ d) and (s + s).to_dense().tolist() == [[0, 0, 6], [8, 0, 10]]
    assert torch.equal(torch.eye(3).to_sparse_csr().cuda() @ d, d) and torch.equal(d.to_sparse().to_dense(), d)
    assert s.clone().add_(s).mul_(2).to_dense().tolist() == [[0, 0, 12], [16, 0, 20]] and s.clone().zero_()._nnz() == 0
    for layout in (torch.eye(3).half().to_sparse_csr(), torch.eye(3).to_sparse_csc()):
        assert torch.equal(layout.cuda().mul_(3).to_dense().cpu(), 3 * layout.to_dense())
    table = nn.Embedding(5, 3, sparse=True).cuda()
    before = table.weight.detach().clone()
    table(torch.tensor([1, 2, 1], device=CUDA)).sum().backward()
    torch.optim.SparseAdam(table.parameters(), lr=0.1).step()
    assert (table.weight != before).any(1).tolist() == [False, True, True, False, False]


@check
def training():
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 1)).cuda()
    optimizer, scaler = torch.optim.AdamW(model.parameters(), lr=0.05), torch.amp.GradScaler("cuda")
    loader = DataLoader(TensorDataset(torch.randn(32, 4)), batch_size=8, num_workers=2, pin_memory=True)
    losses = []
    for _ in range(8):
        for (x,) in loader:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = F.mse_loss(checkpoint(model, x.cuda(non_blocking=True), use_reentrant=False).float(), torch.ones(len(x), 1, device=CUDA))
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0], losses


@check
def the_profiler_shows_the_device():
    from torch.profiler import ProfilerActivity, profile, record_function

    weights, host = torch.rand(64, 64, device=CUDA), torch.rand(64, 64)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
        with record_function("mine"):
            x = torch.empty_like(weights)
            x.copy_(host)
            y = x @ weights
        torch.cuda.synchronize()
    assert y.shape == (64, 64)
    device = [event for event in profiled.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    times = {event.name: event.time_range.elapsed_us() for event in device}
    assert times["aten::mm (host)"] > 0 and "mine" in times, times
    (product,) = (row for row in profiled.key_averages() if row.key == "aten::mm" and row.device_type == torch.autograd.DeviceType.CPU)
    assert product.device_time_total >= times["aten::mm (host)"], (product, times)


@check
def graphs_with_random_operators():
    x = torch.zeros(64, device=CUDA)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = F.dropout(x + 1, 0.5)
        raises(RuntimeError, "cannot be captured", lambda: torch.nonzero(x))
    graph.replay()
    first = y.clone()
    graph.replay()
    assert not torch.equal(first, y) and set(y.tolist()) == {0.0, 2.0}


run()
