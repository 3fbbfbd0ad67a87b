#!/usr/bin/env bash
# PyCUDA: built from source against CUDA's headers and our driver; kernels compiled by the complete nvcc of PyPI, to PTX.
source "$(dirname "$0")/../common.sh"
build
# Headers and compiler of one release.
release=13.5
venv pycuda nvidia-cuda-nvcc==$release.* nvidia-nvvm==$release.* nvidia-cuda-crt==$release.* nvidia-cuda-runtime==$release.* \
  nvidia-cuda-cccl==$release.* nvidia-curand nvidia-cuda-profiler-api numpy setuptools wheel
toolkit=$(echo "$environment"/lib/python*/site-packages/nvidia/cu13)
sdk=$environment/sdk
mkdir -p "$sdk/bin" "$sdk/lib64"
ln -sfn "$toolkit/include" "$sdk/include"
ln -sf "$built/libcuda.so" "$sdk/lib64/libcuda.so"
ln -sf "$built/libcuda.so" "$sdk/lib64/libcuda.so.1"
ln -sf "$toolkit"/lib/libcurand.so.10 "$sdk/lib64/libcurand.so"
# PyCUDA asks for machine code; it gets PTX.
cat > "$sdk/bin/nvcc" <<'NVCC'
#!/usr/bin/env bash
args=()
for word in "$@"; do
  case $word in
    --cubin | -cubin) args+=(--ptx) ;;
    *) args+=("$word") ;;
  esac
done
exec REAL "${args[@]}"
NVCC
sed -i "s#REAL#$toolkit/bin/nvcc#" "$sdk/bin/nvcc"
chmod +x "$sdk/bin/nvcc"
export PATH=$sdk/bin:$PATH CUDA_ROOT=$sdk LD_LIBRARY_PATH=$sdk/lib64:$toolkit/lib
"$environment/bin/python" -c "import pycuda" 2>/dev/null ||
  "$environment/bin/pip" install --quiet --disable-pip-version-check pycuda==2026.1
echo "PyCUDA $("$environment/bin/pip" show pycuda | sed -n 's/^Version: //p')"
PYTHONPATH=$here/clients on_device "$environment/bin/python" "$here/clients/pycuda/check.py"
