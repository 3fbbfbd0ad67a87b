//! Control-flow analyses and passes on the kernel IR.
