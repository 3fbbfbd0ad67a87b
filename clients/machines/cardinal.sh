#!/usr/bin/env bash
# Programs of Purdue-SoCET/cardinal on the machine `prf`: its assembly sources, unit tests and memory images.
# CARDINAL_SOURCE names a checkout, else it is fetched. Environment as in ../common.sh.
source "$(dirname "$0")/../common.sh"
build
source_folder=${CARDINAL_SOURCE:-$target/clients/cardinal}
checkout "$source_folder" Purdue-SoCET/cardinal dfda013c3f6702b0669ab9414dcce24bc8fc2bad
exec "${SIMTLAB_PYTHON:-python3}" "$here/clients/machines/cardinal.py" "$built/simtlab" "$source_folder"
