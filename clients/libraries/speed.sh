#!/usr/bin/env bash
# The speed of cublasSgemm beside the crate that computes it, both of a release build: speed.sh [ORDER] (1024).
# SGEMM names the program of crates/linalg/examples/sgemm.rs, if it is built already.
SIMTLAB_PROFILE=release
source "$(dirname "$0")/../common.sh"
build
venv libraries 'numpy<3' scipy
if [ -z "${SGEMM:-}" ]; then
  cargo build --manifest-path "$here/Cargo.toml" --quiet --locked --release -p simtlab-linalg --example sgemm
  SGEMM=$target/release/examples/sgemm
fi
on_device "$environment/bin/python" "$here/clients/libraries/speed.py" "$SGEMM" "$@"
