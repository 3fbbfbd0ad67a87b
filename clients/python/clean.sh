#!/usr/bin/env bash
# A wheel in a Debian without compilers: clean.sh WHEEL.whl makes a root by debootstrap, installs the wheel and NumPy there, and runs a kernel by
# the package and by the command, and a CUDA program in Python. Takes root, debootstrap, and for another machine's wheel qemu-user-static
# with binfmt_misc.
# Environment: SUITE (bookworm), ROOT: an existing root.
source "$(dirname "$0")/../common.sh"
wheel=$(realpath "${1:?a wheel}")
case $wheel in
  *aarch64.whl) machine=arm64 arch=aarch64 ;;
  *) machine=amd64 arch=x86_64 ;;
esac
venv python numpy
root=${ROOT:-$target/clean/$machine}
packages=$target/clean/packages-$machine
if [ ! -x "$root/usr/bin/python3" ]; then
  debootstrap --arch="$machine" --variant=minbase --include=python3,python3-venv "${SUITE:-bookworm}" "$root" > "$root.log"
fi
# The version of the root's Python, without running it.
version=$(basename "$(echo "$root"/usr/bin/python3.*[0-9])")
"$environment/bin/python" -m pip download --quiet --only-binary=:all: --dest "$packages" --python-version "${version#python}" \
  --platform "manylinux_2_28_$arch" --platform "manylinux_2_27_$arch" --platform "manylinux2014_$arch" numpy
rm -rf "$root/wheels" "$root/clean"
mkdir "$root/wheels"
cp "$wheel" "$packages"/numpy-*.whl "$root/wheels/"
cat > "$root/wheels/check.py" <<'PY'
import os
import shutil

import numpy as np
import simtlab

assert not shutil.which("rustc") and not shutil.which("cargo") and not shutil.which("cc")
kernels = os.path.join(os.path.dirname(simtlab.__file__), "kernels")
x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
result = simtlab.run(os.path.join(kernels, "saxpy/saxpy.ptx"), grid=4, block=256, args=[1000, 2.0, x, y])
assert np.array_equal(y, 2 * x + 1)
print(result, "by the", result.engine, "engine")
PY
cat > "$root/wheels/driver.py" <<'PY'
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
name, device = ctypes.create_string_buffer(100), ctypes.c_int()
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGet(ctypes.byref(device), 0) == 0 and cuda.cuDeviceGetName(name, 100, device) == 0
print("the driver library has", name.value.decode())
PY
# In a mount namespace of its own, so that /proc goes away by itself.
inside() {
  unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" /usr/bin/env -i HOME=/root PATH=/clean/bin:/usr/bin:/bin "$@"' "$root" "$@"
}
inside python3 -m venv /clean
inside pip install --quiet --no-index --find-links /wheels simtlab
inside python /wheels/check.py
inside simtlab run /clean/lib/"$version"/site-packages/simtlab/kernels/saxpy
# qemu's user mode runs programs of another machine that start programs by binfmt_misc alone.
inside simtlab exec -- python /wheels/driver.py
ls -l "$wheel"
