#!/bin/sh
# What can only be seen on a GPU, in one go: tests/on_gpu.sh BUILD DATABASE [STEP...]
# Steps: suite tune bench ladder verify library fronts alone sanitizer. Default: all, in this order. $TYPES are tuned (f32),
# on $SHAPES (the default list, without what covers other sizes). Steps time kernels and give workers seconds to answer: none
# runs beside another one. Only by name: lists.
set -u
build=$1 database=$2
shift 2
steps=${*:-suite tune bench ladder verify library fronts alone sanitizer}
gemmtune=$build/tuner/gemmtune
export GEMMTUNE_DB=$database
types=${TYPES:-f32}
failed=

step() { # NAME COMMAND...: runs it, says how long it took, and remembers whether it passed; steps may have steps
    local name=$1 start
    start=$(date +%s)
    shift
    echo "== $name: $*"
    "$@" || failed="$failed $name"
    echo "-- $name: $(($(date +%s) - start)) s"
}

# The library where no NVRTC and no toolkit can be found: the toolkit's folders are covered by empty ones.
alone() {
    unshare --mount sh -c '
        for folder in /usr/local/cuda*; do [ -L "$folder" ] || mount -t tmpfs none "$folder"; done
        unset CUDA_HOME LD_LIBRARY_PATH GEMMTUNE_NVRTC
        ls /usr/local/cuda/lib64/libnvrtc* 2>/dev/null && exit 1
        "$1" "$2"' alone "$build/tests/example_plan" "$database"
}

# Whether Python has these modules. They are not imported, which takes seconds.
has() {
    python3 -c 'import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))' "$@"
}

# The default list of the types that are not in $TYPES, and of bf16 in the other layouts four sizes: each tuned within $LIST_BUDGET
# (60s), then raced against cuBLAS. About seven minutes.
lists() {
    while read -r list words; do
        "$gemmtune" tune --quiet --budget "${LIST_BUDGET:-60s}" $words >/dev/null </dev/null &&
            raced=$("$gemmtune" bench --quiet $words </dev/null) || failed="$failed $list"
        echo "$raced" | sed -n "s/^/$list  /; / \(back to back\|cold\|smaller of both\) /p"
        raced=
    done <<END
tf32 --type f32 --math tf32 --shapes default
f64 --type f64 --shapes default
s8 --type s8 --layout nt --shapes default
e4m3 --type e4m3 --layout nt --shapes default
fast --type e4m3 --math fast --layout nt --shapes default
f16 --type f16 --shapes default
nt --type bf16 --layout nt --shapes 1024,4096,4097x4095x4093,64x4096x4096
tn --type bf16 --layout tn --shapes 1024,4096,4097x4095x4093,64x4096x4096
tt --type bf16 --layout tt --shapes 1024,4096,4097x4095x4093,64x4096x4096
END
}

# What a call costs through the front, answered and forwarded, graphs, and a million calls by 64 threads; where they are
# there, PyTorch's times, by torch_table.py with the words $TORCH_TABLE ("30s f32,split": a type's budget, types), and a program
# before what it asks for is tuned and after; NumPy's tests of products and its times; and CuPy's tests in the folder $CUPY_TESTS,
# or every $STRIDEth of them, with an answer wherever there is a kernel.
fronts() {
    load="$build/tests/front_load libcublas.so.13" here=$(realpath "$(dirname "$0")") program=$(realpath "$gemmtune")
    for words in "" --capture-only; do
        step calls "$gemmtune" run --dlsym $words -- $load cost
    done
    for margin in 0 -100; do # then those are answered that have a workspace, too
        step graphs "$gemmtune" run --dlsym --margin $margin -- $load graphs
    done
    if has torch; then
        step before "$gemmtune" run --capture-only -- python3 "$here/torch_train.py"
        step torch python3 "$here/torch_table.py" "$gemmtune" ${TORCH_TABLE:-18s}
        for math in strict split; do
            step after "$gemmtune" run --f32 $math -- python3 "$here/torch_train.py"
        done
    fi
    step threads "$gemmtune" run --dlsym -- $load threads 64 1000000
    if has numpy pytest; then
        step linalg env GEMMTUNE_BLAS_THRESHOLD=0 python3 "$here/same_verdicts.py" "$program" 60 --blas -- --pyargs numpy.linalg
    fi
    if has numpy; then step numpy python3 "$here/numpy_table.py" "$gemmtune"; fi
    if [ -n "${CUPY_TESTS:-}" ]; then
        step cupy env -C "$CUPY_TESTS" python3 "$here/same_verdicts.py" "$program" 300 "--margin -100" -- \
            cupy_tests/test_cublas.py cupy_tests/math_tests/test_matmul.py cupy_tests/linalg_tests
    fi
}

# Starts gemmtune under one tool of compute-sanitizer: sanitize "TOOL OPTIONS" REPORT COMMAND... It prints each kernel's line
# as it comes; REPORT has everything, REPORT.end the exit status and the seconds. Those that run side by side have ports of their
# own.
port=49152
sanitize() {
    tool=$1 report=$2 port=$((port + 64))
    shift 2
    {
        start=$(date +%s)
        timeout -k 2 "${SANITIZER_SECONDS:-600}" compute-sanitizer --tool $tool --target-processes all --port $port \
            --max-connections 64 --error-exitcode 9 --print-limit 5 --report-api-errors no "$gemmtune" "$@" --timeout 10m 2>&1
        echo "$? $(($(date +%s) - start))" >"$report.end"
    } | tee "$report" | sed -un "s/^\([0-9]* of [0-9]*: \)/${report##*/} \1/p" &
}

# All four tools over all winners, side by side: they give verdicts, no timings. About 40 launches of a winner, on odd sizes,
# with C and without, in batches; and on a size whose rows are aligned in every type, without which many kernels serve none.
# racecheck, which takes 200 ms and more for a launch, gets 11 of a variant that it understands, in which every lane arrives at
# barriers, leaves those kernels alone that check results, and has the winners dealt out among as many processes as $RACECHECKS
# says. Beside them a kernel that is known to write out of bounds: a sanitizer that does not look into the workers would be
# content with everything. Each may take $SANITIZER_SECONDS.
sanitizer() {
    command -v compute-sanitizer >/dev/null || { echo "compute-sanitizer is not on the PATH"; return 1; }
    tools="memcheck initcheck synccheck" reports=$(mktemp -d) failures=0 parts=${RACECHECKS:-6}
    small="verify --type all --effort quick --shapes 156x104x68,160x112x80 --verbose"
    sanitize memcheck "$reports/seen" tune --db "$reports/faults.db" --type f32 --templates "$(dirname "$0")/faults" \
        --family out_of_bounds --shapes 64 --quiet
    for tool in $tools; do
        sanitize $tool "$reports/$tool" $small
    done
    for part in $(seq "$parts"); do
        tools="$tools racecheck_$part"
        sanitize "racecheck --kernel-name kns=gemm --kernel-name kns=repack" "$reports/racecheck_$part" $small --checked \
            --shard "$part/$parts"
    done
    wait
    if ! grep -q 'Invalid __global__ write' "$reports/seen"; then
        echo "the sanitizer sees no worker"
        tail -20 "$reports/seen"
        failures=1
    fi
    for tool in $tools; do
        read -r code seconds <"$reports/$tool.end"
        echo "$tool: exit $code, $seconds s, $(grep -c '^[0-9]* of .*: ok, ' "$reports/$tool") winners," \
            "$(grep SUMMARY "$reports/$tool")"
        [ "$code" -eq 0 ] || { tail -30 "$reports/$tool"; failures=1; }
    done
    rm -r "$reports"
    return $failures
}

for s in $steps; do
    case $s in
    suite) step suite meson test -C "$build" --suite gpu --print-errorlogs ;;
    tune) step tune "$gemmtune" tune --device 0 --type "$types" --shapes "${SHAPES:-default}" ;;
    lists) step lists lists ;;
    bench) step bench "$gemmtune" bench --type "$types" --quiet ;;
    ladder) step ladder "$gemmtune" ladder --quiet ;;
    verify) step verify "$gemmtune" verify --quiet ;;
    library) step library "$build/tests/bench_library" "$database" ;;
    fronts) step fronts fronts ;;
    alone) step alone alone ;;
    sanitizer) step sanitizer sanitizer ;;
    *) echo "on_gpu.sh: no step '$s'" >&2; exit 2 ;;
    esac
done
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
echo "all passed"
