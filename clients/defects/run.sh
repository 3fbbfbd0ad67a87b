#!/usr/bin/env bash
# Public suites of CUDA programs with known defects, under `simtlab exec --check`: how many are found, and how many programs without one are silent.
#   run.sh [--every N] [scor] [indigo] [sanitizer]     without names all suites; every Nth program of a suite
# SCOR_SOURCE, INDIGO_SOURCE and SANITIZER_SOURCE name checkouts of github.com/csl-iisc/ScoR, github.com/JohnJacobsonIII/HiRace-Artifact-SC24
# (which has the programs of Indigo) and github.com/NVIDIA/compute-sanitizer-samples, else they are fetched; they stay as they are.
# TABLE (programs.tsv below target/clients/defects) receives a line for each program: suite, program, defects, outcome, findings.
source "$(dirname "$0")/../common.sh"
build
toolkit defects
work=$environment/work
mkdir -p "$work"

# source_of FOLDER REPOSITORY COMMIT: the checkout, fetched if FOLDER is empty.
source_of() {
  local folder=${1:-$environment/$(basename "$2")}
  if [ ! -d "$folder" ]; then
    git clone --quiet "https://github.com/$2" "$folder"
    git -C "$folder" checkout --quiet "$3"
  fi
  echo "$folder"
}

scor=$(source_of "${SCOR_SOURCE:-}" csl-iisc/ScoR 6dc3507)
indigo=$(source_of "${INDIGO_SOURCE:-}" JohnJacobsonIII/HiRace-Artifact-SC24 44a935f)
sanitizer=$(source_of "${SANITIZER_SOURCE:-}" NVIDIA/compute-sanitizer-samples 1e1fab8)
"$environment/bin/python" "$here/clients/defects/suites.py" --simtlab "$built/simtlab" --libraries "$built" --work "$work" \
  --table "${TABLE:-$environment/programs.tsv}" --scor "$scor" --indigo "$indigo" --sanitizer "$sanitizer" "$@"
