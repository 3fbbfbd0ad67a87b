#!/usr/bin/env bash
# numba-cuda's own tests, which are in its package: counts, how many of those that pass launch kernels, and what fails.
# Arguments go to pytest, such as -k NAME; --pyargs numba.cuda.tests.cudapy.test_atomics runs one file.
source "$(dirname "$0")/../common.sh"
build
venv numba-cuda numba-cuda==0.30.4 cuda-bindings==12.9.* nvidia-cuda-nvcc-cu12==12.9.* nvidia-cuda-nvrtc-cu12==12.9.* \
  nvidia-cuda-runtime-cu12==12.9.* nvidia-cuda-cccl-cu12==12.9.* numpy 'pytest>=8,<9' pytest-xdist pytest-timeout pytest-benchmark cffi cloudpickle ml_dtypes psutil filecheck
echo "numba-cuda $(version_of numba-cuda)"
[ $# -gt 0 ] || set -- --pyargs numba.cuda.tests
# Not among the project's files, whose settings pytest would take for the tests'.
cd "$environment"
# Two of the tests reach past their arrays (test_dispatcher_cpointer_arguments, test_struct_model_type_arr), which hardware does not notice; a
# fault would end the context of all tests behind them.
export PYTHONPATH=$here/clients:$here/clients/numba-cuda SIMTLAB_JOBS=${SIMTLAB_JOBS:-1} SIMTLAB_PADDING=512
on_device "$environment/bin/python" -W ignore -m pytest --quiet --tb=short -p no:cacheprovider -p launches -p settings -o consider_namespace_packages=true --benchmark-disable \
  -n "${SUITE_PROCESSES:-$(nproc)}" --dist loadscope --timeout=300 --junitxml=suite.xml "$@" > suite.log 2>&1 || true
tail -1 suite.log
"$environment/bin/python" "$here/clients/results.py" suite.xml
