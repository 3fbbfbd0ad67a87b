//! Runs the kernel IR: grids, CTAs, warps, barriers; the exact engine.
