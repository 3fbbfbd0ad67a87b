"""A small GPT whose activation is a Triton kernel: trained for some steps in eager mode, compiled by Inductor, and as a replayed graph."""

import sys

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import nn

VOCABULARY, WIDTH, HEADS, LAYERS, LENGTH, BATCH = 61, 32, 4, 2, 16, 4


@triton.jit
def gelu_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    tl.store(out + at, 0.5 * v * (1.0 + tl.erf(v * 0.70710678118)), mask=at < n)


@triton.jit
def gelu_backward_kernel(x, grad, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    cdf = 0.5 * (1.0 + tl.erf(v * 0.70710678118))
    pdf = tl.exp(-0.5 * v * v) * 0.3989422804
    tl.store(out + at, tl.load(grad + at, mask=at < n) * (cdf + v * pdf), mask=at < n)


class Gelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        ctx.save_for_backward(x)
        out = torch.empty_like(x)
        gelu_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
        return out

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        out = torch.empty_like(x)
        gelu_backward_kernel[(triton.cdiv(x.numel(), 256),)](x, grad.contiguous(), out, x.numel(), BLOCK=256)
        return out


class Block(nn.Module):
    def __init__(self, own_kernel):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.own_kernel = own_kernel

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (p.view(b, t, HEADS, c // HEADS).transpose(1, 2) for p in self.qkv(self.first(x)).chunk(3, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c))
        hidden = self.up(self.second(x))
        return x + self.down(Gelu.apply(hidden) if self.own_kernel and hidden.is_cuda else F.gelu(hidden))


class Gpt(nn.Module):
    def __init__(self, own_kernel):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block(own_kernel) for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.size(1), device=tokens.device))
        return F.cross_entropy(self.head(self.norm(self.blocks(x))).flatten(0, 1), targets.flatten())


def train(device, steps, own_kernel=True, compiled=False):
    """The losses of the steps."""
    torch.manual_seed(1)
    model = Gpt(own_kernel).to(device)
    run = torch.compile(model) if compiled else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    data = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=torch.Generator().manual_seed(2)).to(device)
    losses = []
    for _ in range(steps):
        loss = run(data[:, :-1], data[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def worst(a, b):
    return max(abs(x - y) / max(abs(y), 1e-6) for x, y in zip(a, b))


def eager(steps=20):
    cpu, cuda = train("cpu", steps), train("cuda", steps)
    assert cuda[-1] < 0.7 * cuda[0], cuda
    assert worst(cuda, cpu) < 1e-3, (worst(cuda, cpu), cuda, cpu)
    print(f"eager: {steps} steps, loss {cuda[0]:.4f} to {cuda[-1]:.4f}, at most {worst(cuda, cpu):.1e} from the CPU's")


def compiled(steps=20):
    cpu, cuda = train("cpu", steps), train("cuda", steps, own_kernel=False, compiled=True)
    assert worst(cuda, cpu) < 1e-3, (worst(cuda, cpu), cuda, cpu)
    print(f"torch.compile: {steps} steps, loss {cuda[0]:.4f} to {cuda[-1]:.4f}, at most {worst(cuda, cpu):.1e} from the CPU's")


def graph(replays=5):
    torch.manual_seed(3)
    linear = nn.Linear(16, 16).cuda()
    x = torch.zeros(4, 16, device="cuda")
    for _ in range(2):
        Gelu.apply(linear(x))
    captured = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(captured):
        y = Gelu.apply(linear(x)).sum(1)
    for step in range(replays):
        given = torch.randn(4, 16)
        x.copy_(given)
        captured.replay()
        wanted = F.gelu(F.linear(given, linear.weight.cpu(), linear.bias.cpu())).sum(1)
        torch.testing.assert_close(y.cpu(), wanted, rtol=1e-4, atol=1e-5)
    print(f"graph: captured once, replayed {replays} times")


if __name__ == "__main__":
    for name in sys.argv[1:] or ("eager", "graph", "compiled"):
        {"eager": eager, "graph": graph, "compiled": compiled}[name]()
