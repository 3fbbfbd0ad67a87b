#!/usr/bin/env bash
# Textures against the formulas of the CUDA programming guide, which NumPy computes: random coordinates in all combinations of geometry,
# address mode, filter, kind of coordinate and format. Environment: COORDINATES (100000), how many for each.
source "$(dirname "$0")/../common.sh"
build
venv textures numpy
PYTHONPATH=$here/clients on_device "$environment/bin/python" "$here/clients/textures/check.py" "${COORDINATES:-100000}"
