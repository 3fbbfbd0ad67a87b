#!/usr/bin/env bash
# slurm.sh SIMTLAB SUITE FOLDER: starts Slurm on this host alone, runs the suite as an array of four jobs, the second of which is
# killed and queued again, and stops Slurm. Needs root and Debian's slurm-wlm and munge.
set -euo pipefail
simtlab=$1 suite=$2 folder=$3
mkdir -p "$folder/state" "$folder/spool" "$folder/rows"
host=$(hostname -s)

cat > "$folder/slurm.conf" <<CONF
ClusterName=sweeps
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobRequeue=1
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$folder/slurm.conf

stop() {
  kill "$(cat "$folder/slurmd.pid" 2>/dev/null)" "$(cat "$folder/slurmctld.pid" 2>/dev/null)" 2>/dev/null || true
}
trap stop EXIT

[ -e /etc/munge/munge.key ] || dd if=/dev/urandom of=/etc/munge/munge.key bs=1024 count=1 status=none
mkdir -p /run/munge
chown munge: /run/munge /etc/munge/munge.key
chmod 400 /etc/munge/munge.key
munge --no-input >/dev/null 2>&1 || setpriv --reuid munge --regid munge --clear-groups munged
slurmctld
slurmd
for _ in $(seq 60); do
  [ "$(sinfo --noheader --format=%T 2>/dev/null)" = idle ] && break
  scontrol update nodename="$host" state=resume 2>/dev/null || true
  sleep 1
done

# The job file of docs/sweeps.md.
cat > "$folder/job.sh" <<JOB
#!/bin/sh
#SBATCH --array=1-4 --cpus-per-task=1 --requeue
"$simtlab" sweep "$suite" --shard "\$SLURM_ARRAY_TASK_ID/4" --jobs 1 --out "$folder/rows/\$SLURM_ARRAY_TASK_ID" --resume
JOB
job=$(sbatch --parsable --open-mode=append --output="$folder/job-%a.log" "$folder/job.sh")

# One job is queued again while it runs, as one that is preempted.
until [ "$(wc -l < "$folder/rows/2/rows.jsonl" 2>/dev/null || echo 0)" -gt 20 ]; do sleep 1; done
scontrol requeue "${job}_2"
echo "job ${job}_2 queued again with $(wc -l < "$folder/rows/2/rows.jsonl") rows"
while [ -n "$(squeue --noheader --jobs "$job" 2>/dev/null)" ]; do sleep 2; done
