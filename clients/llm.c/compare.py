"""Compares the losses of llm.c's CUDA program with those of its CPU program: compare.py CUDA CPU, both files of what they print.

The bound is the one of llm.c's own tests (test_gpt2.c): 1e-2 for a loss."""

import re
import sys

BOUND = 1e-2
STEPS = 20


def losses(name):
    """Validation losses by step, and training losses. A loss is of the step that the program names next."""
    validation, training = {}, []
    for line in open(name):
        if found := re.match(r"val loss ([\d.]+)", line):
            validation[len(training)] = float(found[1])
        elif found := re.match(r"step +\d+(?:/\d+)?: train loss ([\d.]+)", line):
            training.append(float(found[1]))
    return validation, training


def main(cuda, cpu):
    (cuda_validation, cuda_training), (cpu_validation, cpu_training) = losses(cuda), losses(cpu)
    both = [(f"step {i + 1}", a, b) for i, (a, b) in enumerate(zip(cuda_training, cpu_training))]
    both += [(f"validation after {i}", a, cpu_validation[i]) for i, a in cuda_validation.items() if i in cpu_validation]
    worst = max(abs(a - b) for _, a, b in both)
    for name, a, b in both:
        print(f"{name:20} {a:.6f} {b:.6f}{'' if abs(a - b) < BOUND else '  differs'}")
    # A program that does not train would agree from step to step, too.
    learnt = cuda_validation[0] - cuda_validation[STEPS] > 5 * BOUND
    ok = len(cuda_training) == STEPS and len(cpu_training) == STEPS and worst < BOUND and learnt
    print(f"{len(cuda_training)} steps, validation {cuda_validation[0]:.4f} to {cuda_validation[STEPS]:.4f}; largest difference {worst:.1e}, bound {BOUND}")
    return 0 if ok else 1


sys.exit(main(*sys.argv[1:]))
