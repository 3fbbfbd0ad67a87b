#!/usr/bin/env bash
# Runs $COMMAND on the virtual device, with $CHECK and $CAPABILITY, and prints annotations of what its kernels did wrong.
set -uo pipefail

annotations=$(mktemp)
options=(--report "github=$annotations")
[ -z "${CHECK:-}" ] || options+=("--check=$CHECK")
[ -z "${CAPABILITY:-}" ] || options+=(--capability "$CAPABILITY")
case $COMMAND in
  pytest* | "python -m pytest"*)
    # The plug-in reports by itself, and pytest's exit code counts; this run gives it the device and collects the annotations.
    options+=(--quiet --faults launch)
    COMMAND="$COMMAND --simtlab"
    [ -z "${CHECK:-}" ] || COMMAND="$COMMAND --simtlab-check=$CHECK"
    export SIMTLAB_PYTEST=1
    ;;
esac
simtlab exec "${options[@]}" -- bash -c "$COMMAND"
code=$?
cat "$annotations"
rm "$annotations"
exit "$code"
