#!/usr/bin/env bash
# The Python package: its wheel is built and installed into a virtual environment, its tests and the examples of docs/python.md are run.
# SIMTLAB_PROFILE=release builds it optimised, as `pip install ./crates/python` does by itself.
source "$(dirname "$0")/../common.sh"
venv python 'maturin>=1.9,<2' numpy pytest pandas polars duckdb pyarrow nbclient ipykernel mypy
case $profile in debug) cargo_profile=dev ;; *) cargo_profile=$profile ;; esac
PATH=$environment/bin:$PATH MATURIN_PEP517_ARGS="--profile $cargo_profile --locked" CARGO_TARGET_DIR=$target \
  "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall "$here/crates/python"
echo "simtlab $("$environment/bin/python" -c 'import simtlab; print(simtlab.__version__)') on $("$environment/bin/python" --version)"

cd "$here/crates/python/tests"
"$environment/bin/python" -m pytest --quiet -p no:cacheprovider "$@" .
cd "$here/crates/python/python"
MYPYPATH=. "$environment/bin/python" -m mypy --config-file ../pyproject.toml
cd "$here"
"$environment/bin/python" -m doctest docs/python.md
echo "docs/python.md: the examples are as they say"
