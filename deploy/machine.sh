#!/bin/sh
# One machine of a job that Slurm or Kubernetes has started, perhaps not for the first time:
#
#   machine.sh RUN APP DATA [flags of tux run]
#
# RUN is the run's folder, on a disk that all machines share: the --out of machine 0. If the run has a checkpoint there,
# machine 0 goes on from it. Which machine this is, and where they meet, comes from the environment:
#
#   Slurm       what srun sets for each task; the key of the job is in TUX_JOB_KEY
#   Kubernetes  JOB_COMPLETION_INDEX, and from jobset.yaml: MACHINES, ATTEMPT, MEETING, KEY_FILE
set -eu

say() { echo "machine.sh: $*" >&2; }

if [ "$#" -lt 2 ]; then
    say "name the run's folder and the app: machine.sh RUN APP DATA [flags of tux run]"
    exit 2
fi
run=$1
shift

if [ -n "${SLURM_PROCID:-}" ]; then
    rank=$SLURM_PROCID attempt=${SLURM_RESTART_COUNT:-0}
    # the number of machines and the rank are read by tux; the port is the job's own, as jobs may share a node
    meeting="--rdzv $SLURM_LAUNCH_NODE_IPADDR:$((29400 + SLURM_JOB_ID % 1000))"
else
    rank=$JOB_COMPLETION_INDEX attempt=$ATTEMPT
    waited=0
    until getent hosts "$MEETING" > /dev/null; do # the name service learns of a new pod after some seconds
        if [ "$waited" -ge 300 ]; then
            say "$MEETING has no address after $waited s: see that the pod of index 0 runs"
            exit 5
        fi
        waited=$((waited + 1))
        sleep 1
    done
    meeting="--nnodes $MACHINES --node-rank $rank --rdzv $MEETING:29400 --key-file $KEY_FILE"
fi

if [ "$rank" -gt 0 ]; then
    # All machines are told to end. Machine 0 ends the run so that its results are kept, and the others end with it.
    trap '' TERM
elif [ "$attempt" -gt 0 ]; then
    rm -f "$run/.lock" # of the attempt before, whose processes have all ended
fi
# A checkpoint has a number for its name; lists, and a checkpoint that was being written, have others.
if [ "$rank" -eq 0 ] && [ -n "$(ls -d "$run"/checkpoints/[0-9]* 2> /dev/null)" ]; then
    # shellcheck disable=SC2086 # several words
    exec tux run --resume "$run" $meeting
fi
if [ "$rank" -eq 0 ] && [ "$attempt" -gt 0 ] && [ -e "$run" ]; then
    before=$run.before-$attempt
    while [ -e "$before" ]; do before=$before+; done # of another job with the same RUN
    say "attempt $attempt: no checkpoint yet; begins anew, and what there was is in $before"
    mv "$run" "$before"
fi
# shellcheck disable=SC2086
exec tux run "$@" --out "$run" $meeting
