#!/usr/bin/env bash
# tinygrad's own tests of backends (its test/backend, as its CI runs them) on libcuda.so.1 and on ptx_run: counts, and what fails.
# TINYGRAD_SOURCE is a checkout of tinygrad. Arguments go to pytest, such as a file or -k NAME. SUITE_PATHS (libcuda ptx_run) chooses;
# GPUOCELOT, the library of another such virtual machine, adds a run on it. Takes PyTorch, some gigabytes, and an hour.
source "$(dirname "$0")/../common.sh"
: "${TINYGRAD_SOURCE:?a checkout of tinygrad}"
build
# Its operations are compared with those of PyTorch.
venv tinygrad tinygrad==0.14.0 'numpy<3' 'torch==2.13.*' pytest pytest-xdist pytest-timeout hypothesis tqdm safetensors tabulate
cd "$TINYGRAD_SOURCE"
echo "tinygrad of $(git log -1 --format=%cs.%h)"

# Its CI leaves these out because they are slow, too, and runs forward passes alone.
[ $# -gt 0 ] || set -- test/backend --ignore test/backend/test_multitensor.py
# For its own host code.
[ -n "${CC:-}" ] || CC=$(command -v clang || compgen -c clang- | grep -E '^clang-[0-9]+$' | sort -t- -k2 -n | tail -1)
export CC
export FORWARD_ONLY=1 TEST_TIMEOUT=${TEST_TIMEOUT:-600} PYTHONPATH=$PWD CACHEDB=$environment/suite.db SIMTLAB_JOBS=${SIMTLAB_JOBS:-1}
# More processes than cores only make tests run into their time limit.
tests=("$environment/bin/python" -m pytest --quiet --tb=short -p no:cacheprovider -n "${SUITE_PROCESSES:-$(nproc)}" --timeout=600 "$@")

# suite NAME COMMAND...: runs the tests, keeps what they said, and counts.
suite() {
  local results=$environment/suite-$1
  shift
  "$@" "--junitxml=$results.xml" > "$results.log" 2>&1 || true
  "$environment/bin/python" "$here/clients/results.py" "$results.xml"
}

# ptx_run_from LIBRARY NAME: on the mock of the driver, which calls ptx_run of a library.
ptx_run_from() {
  local folder=$environment/$2
  mkdir -p "$folder"
  ln -sf "$1" "$folder/libgpuocelot.so"
  DEV=MOCK+CUDA:PTX LD_LIBRARY_PATH=$folder OCELOT_PATH=$folder/libgpuocelot.so suite "$2" "${tests[@]}"
}

# With padding, for test_shrink_beyond_buffer_variable reads past a buffer on purpose, which hardware does not notice.
for path in ${SUITE_PATHS:-libcuda ptx_run}; do
  echo "on $path"
  case $path in
    libcuda) DEV=CUDA:PTX SIMTLAB_PADDING=512 suite libcuda on_device "${tests[@]}" ;;
    ptx_run) ptx_run_from "$built/libsimtlab.so" ptx_run ;;
  esac
done
if [ -n "${GPUOCELOT:-}" ]; then
  echo "on $GPUOCELOT"
  ptx_run_from "$GPUOCELOT" gpuocelot
fi
