
# Without a role this submits: for each model an array of tasks with a GPU each, and behind it a job that merges what they
# found. Partition, account and time limit come from sbatch's own variables: SBATCH_PARTITION, SBATCH_ACCOUNT,
# SBATCH_TIMELIMIT. Databases are written on local disks only; the shared folder gets copies, each by a rename.
set -u
umask 077
role=${1:-submit} model=${2:-}
work=$database.shards

say() { echo "gemmtune: $*" >&2; }

submit() {
    command -v sbatch > /dev/null || { say "no sbatch on this machine: run this where Slurm is"; exit 1; }
    [ -f "$0" ] || { say "save this to a file, which the jobs run: gemmtune slurm > tune.sh; bash tune.sh"; exit 1; }
    for model in "${models[@]}"; do
        local gpu=()
        case $model in any) gpu=(--gres=gpu:1) ;; none) ;; *) gpu=("--gres=gpu:$model:1") ;; esac
        mkdir -p "$work/$model" || exit 1
        array=$(sbatch --parsable --job-name="gemmtune-$model" --array="1-$shards" --ntasks=1 --requeue --open-mode=append \
            --signal=B:TERM@60 --output="$work/$model/%a.log" "${gpu[@]}" "$0" shard "$model") || exit 1
        merge=$(sbatch --parsable --job-name="gemmtune-$model-merge" --dependency="afterany:$array" --ntasks=1 --requeue \
            --open-mode=append --output="$work/$model/merge.log" "${gpu[@]}" "$0" finish "$model") || exit 1
        echo "$model: array $array of $shards tasks, then job $merge; logs in $work/$model"
    done
    echo "The winners will be in $database"
}

make_scratch() {
    scratch=$(mktemp -d "${SLURM_TMPDIR:-${TMPDIR:-/tmp}}/gemmtune.XXXXXX") || exit 1
    trap 'rm -rf "$scratch"' EXIT
}

# A copy of a moment, also of a database that is being written.
save() {
    rm -f "$scratch/copy.db"
    [ -f "$scratch/tune.db" ] && "$gemmtune" merge --quiet "$scratch/copy.db" "$scratch/tune.db" > /dev/null &&
        cp "$scratch/copy.db" "$1.new" && mv "$1.new" "$1"
}

# One task: a requeued one goes on where it was saved last.
shard() {
    local saved=$work/$model/$SLURM_ARRAY_TASK_ID.db stopped=0 child pause code
    make_scratch
    [ -f "$saved" ] && cp "$saved" "$scratch/tune.db"
    "$gemmtune" tune "${tune[@]}" --shard "$SLURM_ARRAY_TASK_ID/$shards" --db "$scratch/tune.db" &
    child=$!
    trap 'stopped=1; kill -TERM $child' TERM
    while kill -0 $child 2> /dev/null; do
        sleep "${GEMMTUNE_SAVE_S:-60}" &
        pause=$!
        wait -n $child $pause
        kill $pause 2> /dev/null
        kill -0 $child 2> /dev/null && [ $stopped = 0 ] && save "$saved"
    done
    wait $child
    code=$?
    save "$saved"
    if [ $stopped = 1 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 20 ]; then # preempted, or out of time
        say "stopped; what was found is saved, and the task comes again"
        scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
    fi
    exit $code
}

# Merges, races winners that never met and tunes what a lost task left out, verifies, and puts the file in its place.
finish() {
    local code=0 i files=()
    make_scratch
    for ((i = 1; i <= shards; i++)); do
        if [ -f "$work/$model/$i.db" ]; then
            cp "$work/$model/$i.db" "$scratch/$i.db" && files+=("$scratch/$i.db")
        else
            say "task $i left nothing"
        fi
    done
    if [ ${#files[@]} -gt 0 ]; then
        "$gemmtune" merge "$scratch/all.db" "${files[@]}" || code=1
    fi
    "$gemmtune" tune "${tune[@]}" --db "$scratch/all.db" || code=1
    "$gemmtune" verify "${device[@]}" --db "$scratch/all.db" || code=1
    exec 9> "$database.lock" && flock 9 || exit 1 # another model's job may be as far
    if [ -f "$database" ]; then
        cp "$database" "$scratch/new.db" || exit 1
    fi
    "$gemmtune" merge "$scratch/new.db" "$scratch/all.db" && chmod 644 "$scratch/new.db" &&
        cp -p "$scratch/new.db" "$database.new" && mv "$database.new" "$database" || exit 1
    say "$database is up to date"
    exit $code
}

case $role in
submit | shard | finish) "$role" ;;
*) say "no such role: $role"; exit 2 ;;
esac
