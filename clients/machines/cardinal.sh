#!/usr/bin/env bash
# Programs of Purdue-SoCET/cardinal on the machine `prf`: its assembly sources, unit tests and memory images.
# CARDINAL_SOURCE names a checkout, else it is fetched. Environment as in ../common.sh.
source "$(dirname "$0")/../common.sh"
build
source_folder=${CARDINAL_SOURCE:-$target/clients/cardinal}
if [ ! -d "$source_folder" ]; then
  git clone --quiet https://github.com/Purdue-SoCET/cardinal "$source_folder"
  git -C "$source_folder" checkout --quiet dfda013c3f6702b0669ab9414dcce24bc8fc2bad
fi
exec "${SIMTLAB_PYTHON:-python3}" "$here/clients/machines/cardinal.py" "$built/simtlab" "$source_folder"
