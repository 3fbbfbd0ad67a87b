#!/usr/bin/env bash
# A suite of the size of a paper, run whole, killed and resumed, in shards, through Ray, Dask and (with --slurm, as root, where Debian's
# slurm-wlm and munge are installed) as an array of jobs of Slurm. All tables have to be equal, and Parquet to CSV by value.
# Arguments: --random N (100 random kernels), --exclude PATTERN (launch files to leave out, from the repository's root), --slurm. SIMTLAB_PROFILE=debug builds it unoptimised.
SIMTLAB_PROFILE=${SIMTLAB_PROFILE:-release}
source "$(dirname "$0")/../common.sh"
case $profile in debug) cargo_profile=dev selection=(--workspace --lib --bins) ;; *) cargo_profile=$profile selection=(--profile "$profile" -p simtlab -p simtlab-parquet) ;; esac
random=100 slurm= excluded=()
while [ $# -gt 0 ]; do
  case $1 in
    --random) random=$2; shift ;;
    --exclude) excluded+=(--exclude "$2"); shift ;;
    --slurm) slurm=yes ;;
    *) echo "$0: unknown argument $1" >&2; exit 2 ;;
  esac
  shift
done

[ -n "${SIMTLAB_LIBRARIES:-}" ] || cargo build --manifest-path "$here/Cargo.toml" --quiet --locked "${selection[@]}"
venv sweeps 'maturin>=1.9,<2' numpy 'ray>=2.40' 'distributed>=2025' pandas polars duckdb pyarrow
PATH=$environment/bin:$PATH MATURIN_PEP517_ARGS="--profile $cargo_profile --locked" CARGO_TARGET_DIR=$target \
  "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall "$here/crates/python"

work=$target/clients/sweeps-rows
rm -rf "$work"
mkdir -p "$work"
"$environment/bin/python" "$here/clients/sweeps/suite.py" "$work/suite" --random "$random" "${excluded[@]}"
suite=$work/suite/suite.toml
simtlab=$built/simtlab
cd "$work"

# table FOLDER: its rows sorted by key, without the columns of time.
table() {
  "$simtlab" sweep export "$1" --csv "$1.csv" --no-times 2>/dev/null
}

# equal NAME FOLDER: whether the table of FOLDER is that of the sweep that was never parted.
equal() {
  table "$2"
  cmp "$2.csv" whole.csv
  echo "$1: equal to the sweep that was never parted"
}

# sweep_killed FOLDER KILLS SECONDS ARGUMENTS...: a sweep that is killed so often after so many seconds, then run to its end.
sweep_killed() {
  local folder=$1 kills=$2 seconds=$3
  shift 3
  for _ in $(seq "$kills"); do
    timeout --signal=KILL "$seconds" "$simtlab" sweep "$suite" --out "$folder" --resume "$@" 2>/dev/null || true
    echo "$folder: killed with $(wc -l < "$folder/rows.jsonl") rows"
  done
  "$simtlab" sweep "$suite" --out "$folder" --resume "$@" >/dev/null 2>&1
}

start=$SECONDS
"$simtlab" sweep "$suite" --out whole >/dev/null 2>&1
table whole
rows=$(wc -l < whole/rows.jsonl)
took=$((SECONDS - start))
echo "whole: $rows rows in $took s on $(nproc) cores"

sweep_killed killed 2 $((took / 3 + 1))
equal 'killed twice' killed

for shard in 1 2 3; do sweep_killed "shard$shard" 0 0 --shard "$shard/3"; done
"$simtlab" sweep merge shard1 shard2 shard3 --out merged 2>/dev/null
equal 'three shards' merged

PATH=$built:$PATH "$simtlab" sweep export merged --parquet merged.parquet 2>/dev/null
"$simtlab" sweep export merged --csv merged-times.csv 2>/dev/null
"$environment/bin/python" "$here/clients/sweeps/tables.py" merged-times.csv merged/columns.json merged.parquet

for executor in ray dask; do
  "$environment/bin/python" "$here/clients/sweeps/cluster.py" "$executor" "$suite" "$executor" --rows "$rows"
  equal "$executor" "$executor"
done

if [ -n "$slurm" ]; then
  bash "$here/clients/sweeps/slurm.sh" "$simtlab" "$suite" "$work/slurm"
  "$simtlab" sweep merge slurm/rows/* --out slurm-merged 2>/dev/null
  equal 'an array of jobs of Slurm' slurm-merged
fi
