#!/usr/bin/env bash
# Programs of LinxISA/LinxCore's tests on the machine `linx`: objects of upstream's compiler, linked here, and executables.
# LINXCORE_SOURCE names a checkout, else it is fetched. Environment as in ../common.sh.
source "$(dirname "$0")/../common.sh"
build
source_folder=${LINXCORE_SOURCE:-$target/clients/linxcore}
checkout "$source_folder" LinxISA/LinxCore aedec9de
exec "${SIMTLAB_PYTHON:-python3}" "$here/clients/machines/linx.py" "$built/simtlab" "$source_folder"
