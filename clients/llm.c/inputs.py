"""Writes a small checkpoint, tokens and a tokenizer in llm.c's formats: inputs.py FOLDER.

Headers are 256 integers of 32 bits. The checkpoint (magic 20240326, version 3) has the parameters of all layers tensor by tensor in `float`;
files of tokens (20240520, version 1) have 16 bits a token; the tokenizer (20240328, version 2) has a length and bytes for each token."""

import sys
from pathlib import Path

import numpy as np

# The CUDA program's product of matrices takes 128 rows and columns at a time, and reads past others.
SEQUENCE, VOCABULARY, PADDED, LAYERS, HEADS, CHANNELS = 64, 500, 512, 3, 4, 128
BATCH, STEPS, VALIDATION = 4, 20, 5


def header(*numbers):
    return np.array(numbers + (0,) * (256 - len(numbers)), np.int32).tobytes()


def checkpoint(rng):
    """Weights as GPT-2 begins: normal with a deviation of 0.02, less for what is added to the residual stream; biases 0, scales 1."""
    layers, c = LAYERS, CHANNELS
    residual = 0.02 / np.sqrt(2 * layers)
    embedding = rng.normal(0, 0.02, (PADDED, c))
    embedding[VOCABULARY:] = 0
    tensors = [embedding, rng.normal(0, 0.02, (SEQUENCE, c))]
    for rows, columns, deviation in ((3 * c, c, 0.02), (c, c, residual), (4 * c, c, 0.02), (c, 4 * c, residual)):
        if deviation == 0.02:
            tensors += [np.ones((layers, c)), np.zeros((layers, c))]
        tensors += [rng.normal(0, deviation, (layers, rows, columns)), np.zeros((layers, rows))]
    tensors += [np.ones(c), np.zeros(c)]
    data = b"".join(tensor.astype(np.float32).tobytes() for tensor in tensors)
    return header(20240326, 3, SEQUENCE, VOCABULARY, layers, HEADS, c, PADDED) + data


def tokens(rng, count):
    """A walk with a pattern that can be learnt: each token is near a multiple of the one before."""
    out = np.zeros(count, np.uint16)
    for i in range(1, count):
        out[i] = (int(out[i - 1]) * 7 + int(rng.integers(0, 4))) % VOCABULARY
    return header(20240520, 1, count) + out.tobytes()


def tokenizer():
    words = b"".join(bytes([4]) + b"%4d" % i for i in range(VOCABULARY))
    return header(20240328, 2, VOCABULARY, VOCABULARY - 1) + words


def main(folder):
    rng = np.random.default_rng(20)
    data = folder / "dev/data/tinyshakespeare"
    data.mkdir(parents=True, exist_ok=True)
    (folder / "gpt2_124M.bin").write_bytes(checkpoint(rng))
    (folder / "gpt2_tokenizer.bin").write_bytes(tokenizer())
    # One token more than the batches, which end in the target of their last token.
    (data / "tiny_shakespeare_train.bin").write_bytes(tokens(rng, BATCH * SEQUENCE * STEPS + 1))
    (data / "tiny_shakespeare_val.bin").write_bytes(tokens(rng, BATCH * SEQUENCE * VALIDATION + 1))


main(Path(sys.argv[1]))
