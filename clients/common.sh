# What all clients' scripts begin with: builds the libraries, makes a virtual environment, runs a program on the virtual device.
# Environment: SIMTLAB_PYTHON (python3), SIMTLAB_PROFILE (debug; release builds and runs optimised libraries), SIMTLAB_LIBRARIES (a folder
# with the libraries and `simtlab`, built before: nothing is built then).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
profile=${SIMTLAB_PROFILE:-debug}
target=${CARGO_TARGET_DIR:-$here/target}
built=${SIMTLAB_LIBRARIES:-$target/$profile}

build() {
  [ -z "${SIMTLAB_LIBRARIES:-}" ] || return 0
  # Debug builds take the features that tests ask of dependencies, so that `cargo test --workspace` and this build share everything.
  local selection=(--workspace --lib --bins --test headers)
  [ "$profile" = release ] && selection=(--release -p simtlab -p simtlab-cuda -p simtlab-cudart -p simtlab-capi -p simtlab-cublas
    -p simtlab-cublaslt -p simtlab-curand -p simtlab-cufft -p simtlab-cusolver -p simtlab-cusparse -p simtlab-nvml -p simtlab-cupti
    -p simtlab-nvjitlink)
  cargo build --manifest-path "$here/Cargo.toml" --quiet --locked "${selection[@]}"
  bash "$here/crates/cudart/link.sh" "$built"
  bash "$here/crates/culibs/link.sh" "$built"
}

# venv NAME PACKAGE...: an environment of that name with these packages, kept for the next time.
venv() {
  environment=$target/clients/$1
  shift
  [ -x "$environment/bin/python" ] || "${SIMTLAB_PYTHON:-python3}" -m venv "$environment"
  "$environment/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
}

# toolkit NAME PACKAGE...: an environment of that name with nvcc, the runtime, CMake and these packages. Sets `toolkit`, the folder of nvcc's
# programs, headers and libraries.
nvcc_version=13.5.37
toolkit() {
  local name=$1 library
  shift
  venv "$name" nvidia-cuda-nvcc==$nvcc_version nvidia-nvvm==$nvcc_version nvidia-cuda-crt==$nvcc_version \
    nvidia-cuda-runtime==$nvcc_version nvidia-cuda-cccl cmake==4.4.4 ninja "$@"
  toolkit=$(echo "$environment"/lib/python3*/site-packages/nvidia/cu13)
  # The packages have no names for linkers.
  for library in "$toolkit"/lib/lib*.so.*; do
    ln -sf "$(basename "$library")" "${library%%.so.*}.so"
  done
  export PATH=$toolkit/bin:$environment/bin:$PATH CUDA_PATH=$toolkit
}

# installed PACKAGES TOOL...: ends the script where a tool of Debian's packages is missing.
installed() {
  local packages=$1 tool
  shift
  for tool in "$@"; do
    command -v "$tool" >/dev/null || { echo "$tool is not installed: $packages" >&2; exit 1; }
  done
}

# checkout FOLDER REPOSITORY COMMIT: a repository of GitHub with its submodules, unless the folder is there.
checkout() {
  [ ! -d "$1" ] || return 0
  git clone --quiet --recurse-submodules "https://github.com/$2" "$1"
  git -C "$1" checkout --quiet --recurse-submodules "$3"
}

# version_of PACKAGE: of the one that is installed.
version_of() {
  "$environment/bin/python" -m pip show "$1" | sed -n 's/^Version: //p'
}

# on_device COMMAND...: runs it with the virtual device.
on_device() {
  "$built/simtlab" exec --libraries "$built" -- "$@"
}
