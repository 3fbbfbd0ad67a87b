#!/usr/bin/env bash
# Wheels of the Python package (manylinux, abi3) for PyPI: the package with the command, the libraries, headers and the bundled kernels.
#   bash clients/python/wheel.sh [x86_64] [aarch64]      writes target/wheels/*.whl; zig, of PyPI, links for old glibcs and other machines
# Environment: GLIBC (2.28): the oldest glibc that the wheels are for; `host` builds for this machine by its own compilers. SIMTLAB_PROFILE
# (release): debug packs what is not optimised, to try the script. rustup adds what it needs to compile for a machine.
SIMTLAB_PROFILE=${SIMTLAB_PROFILE:-release}
source "$(dirname "$0")/../common.sh"
venv python 'maturin>=1.9,<2' ziglang cargo-zigbuild wheel
export PATH=$environment/bin:$PATH
glibc=${GLIBC:-2.28}
case $profile in debug) cargo_profile=dev ;; *) cargo_profile=$profile ;; esac

# compilers ARCH: programs as link.sh calls them, for that machine and glibc.
compilers() {
  local tools=$target/zig/$1
  mkdir -p "$tools"
  printf '#!/bin/sh\ncase $1 in -dumpmachine) echo %s-linux-gnu ;; *) exec "%s" -m ziglang cc -target %s-linux-gnu.%s "$@" ;; esac\n' \
    "$1" "$environment/bin/python" "$1" "$glibc" > "$tools/cc"
  printf '#!/bin/sh\nexec "%s" -m ziglang ar "$@"\n' "$environment/bin/python" > "$tools/ar"
  chmod +x "$tools/cc" "$tools/ar"
  export CC=$tools/cc AR=$tools/ar
}

# compile ARCH: builds the command, the libraries and the extension, and sets `made`, their folder.
compile() {
  local options=(--manifest-path "$here/Cargo.toml" --quiet --locked --profile "$cargo_profile")
  local -x CARGO_PROFILE_RELEASE_STRIP=symbols
  # With the features that the debug build of the workspace has, which is there as a rule.
  if [ "$profile" = debug ]; then
    options+=(--workspace --lib --bins)
  else
    options+=(-p simtlab -p simtlab-cuda -p simtlab-cudart -p simtlab-capi -p simtlab-cublas -p simtlab-cublaslt -p simtlab-curand
      -p simtlab-cufft -p simtlab-cusolver -p simtlab-cusparse -p simtlab-nvml -p simtlab-cupti -p simtlab-nvjitlink
      -p simtlab-python)
  fi
  if [ "$glibc" = host ]; then
    cargo build "${options[@]}"
    made=$target/$profile
    return
  fi
  rustup target add --toolchain "$(rustup show active-toolchain | cut -d' ' -f1)" "$1-unknown-linux-gnu"
  cargo zigbuild "${options[@]}" --target "$1-unknown-linux-gnu.$glibc"
  made=$target/$1-unknown-linux-gnu/$profile
  compilers "$1"
}

# stage FOLDER PACKAGE: puts all that the wheel has into a folder.
stage() {
  local library version package=$2/simtlab
  mkdir -p "$package/bin" "$package/lib/link" "$package/include" "$package/kernels"
  (cd "$here/crates/python/python" && git ls-files -z | xargs -0 cp --parents -t "$2")
  cp "$1/lib_simtlab.so" "$package/_simtlab.abi3.so"
  cp "$1/simtlab" "$package/bin/"
  for library in "$1"/libcuda.so "$1"/libsimtlab.so "$1"/lib*.so.[0-9]*; do
    cp -L "$library" "$package/lib/"
  done
  cp -r "$1/link/tools" "$1/link/pkgconfig" "$1/link/simtlab.cmake" "$package/lib/link/"
  # A wheel has no links: what linkers look for are scripts of theirs, with places relative to the script.
  for version in 12 13; do
    mkdir "$package/lib/link/$version"
    [ ! -e "$1/link/$version/libcudart_static.a" ] || cp "$1/link/$version/libcudart_static.a" "$package/lib/link/$version/"
    echo "INPUT ( ../../libcudart.so.$version )" > "$package/lib/link/$version/libcudart.so"
    echo "INPUT ( ../../libcuda.so )" > "$package/lib/link/$version/libcuda.so"
  done
  cp "$here"/crates/capi/include/*.h "$package/include/"
  (cd "$here/kernels" && git ls-files -z | xargs -0 cp --parents -t "$package/kernels")
}

for arch in $([ "$glibc" = host ] && uname -m || echo "${@:-x86_64 aarch64}"); do
  (
    compile "$arch"
    bash "$here/crates/cudart/link.sh" "$made"
    bash "$here/crates/culibs/link.sh" "$made"
    staged=$(mktemp -d)
    trap 'rm -rf "$staged"' EXIT
    stage "$made" "$staged"
    (cd "$here/crates/python" && maturin pep517 write-dist-info --metadata-directory "$staged" > /dev/null)
    python "$here/clients/python/tag.py" "$staged" "$arch"
    mkdir -p "$target/wheels"
    python -m wheel pack --dest-dir "$target/wheels" "$staged"
  )
done
