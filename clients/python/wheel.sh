#!/usr/bin/env bash
# Wheels of the Python package (manylinux, abi3) for PyPI: the package with the command, the libraries, headers and the bundled kernels.
#   bash clients/python/wheel.sh [x86_64] [aarch64]      writes target/wheels/*.whl; zig, of PyPI, links for old glibcs and other machines
# Environment: GLIBC (2.28): the oldest glibc that the wheels are for. rustup adds what it needs to compile for a machine.
source "$(dirname "$0")/../common.sh"
venv python 'maturin>=1.9,<2' ziglang cargo-zigbuild
export PATH=$environment/bin:$PATH
glibc=${GLIBC:-2.28}
package=$here/crates/python/python/simtlab
parts=(bin lib include kernels)
export CARGO_PROFILE_RELEASE_STRIP=symbols
crates=(simtlab simtlab-cuda simtlab-cudart simtlab-capi simtlab-cublas simtlab-cublaslt simtlab-curand simtlab-cufft simtlab-cusolver
  simtlab-cusparse)

clear_package() {
  local part
  for part in "${parts[@]}"; do
    rm -rf "${package:?}/$part"
  done
}
trap clear_package EXIT

# compilers ARCH: programs as link.sh calls them, for that machine and glibc.
compilers() {
  local tools=$target/zig/$1
  mkdir -p "$tools"
  printf '#!/bin/sh\ncase $1 in -dumpmachine) echo %s-linux-gnu ;; *) exec "%s" -m ziglang cc -s -target %s-linux-gnu.%s "$@" ;; esac\n' \
    "$1" "$environment/bin/python" "$1" "$glibc" > "$tools/cc"
  printf '#!/bin/sh\nexec "%s" -m ziglang ar "$@"\n' "$environment/bin/python" > "$tools/ar"
  chmod +x "$tools/cc" "$tools/ar"
  export CC=$tools/cc AR=$tools/ar
}

# libraries ARCH: builds the command and the libraries, and sets `made`, their folder.
libraries() {
  local triple=$1-unknown-linux-gnu
  rustup target add --toolchain "$(rustup show active-toolchain | cut -d' ' -f1)" "$triple"
  cargo zigbuild --manifest-path "$here/Cargo.toml" --quiet --locked --release --target "$triple.$glibc" "${crates[@]/#/-p}"
  made=$target/$triple/release
  (
    compilers "$1"
    bash "$here/crates/cudart/link.sh" "$made"
    bash "$here/crates/culibs/link.sh" "$made"
  )
}

# A wheel has no links: what linkers look for are scripts of theirs, with places relative to the script.
linker_scripts() {
  local version
  for version in 12 13; do
    echo "INPUT ( ../../libcudart.so.$version )" > "$1/$version/libcudart.so"
    echo "INPUT ( ../../libcuda.so )" > "$1/$version/libcuda.so"
  done
}

# fill FOLDER: puts the command, the libraries and the rest into the package.
fill() {
  local library
  clear_package
  mkdir -p "$package/bin" "$package/lib/link" "$package/include" "$package/kernels"
  cp "$1/simtlab" "$package/bin/"
  for library in "$1"/libcuda.so "$1"/libsimtlab.so "$1"/lib*.so.[0-9]*; do
    cp -L "$library" "$package/lib/"
  done
  for library in 12 13; do
    mkdir "$package/lib/link/$library"
    [ ! -e "$1/link/$library/libcudart_static.a" ] || cp "$1/link/$library/libcudart_static.a" "$package/lib/link/$library/"
  done
  cp -r "$1/link/tools" "$1/link/pkgconfig" "$1/link/simtlab.cmake" "$package/lib/link/"
  linker_scripts "$package/lib/link"
  cp "$here"/crates/capi/include/*.h "$package/include/"
  (cd "$here/kernels" && git ls-files -z | xargs -0 cp --parents -t "$package/kernels")
}

[ $# -gt 0 ] || set -- x86_64 aarch64
for arch; do
  libraries "$arch"
  fill "$made"
  maturin build --quiet --manifest-path "$here/crates/python/Cargo.toml" --release --locked --strip --zig \
    --compatibility "manylinux_${glibc/./_}" --target "$arch-unknown-linux-gnu" --out "$target/wheels"
done
ls -l "$target"/wheels/*manylinux*.whl
