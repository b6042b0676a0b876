#!/bin/sh
# Fuzzes the PTX parser, decoder and executor with clang's libFuzzer under AddressSanitizer and UBSan, on one core:
#     tests/fuzz.sh [SECONDS [BUILD]]
# Starts from the PTX of every family and of the executor's tests, goes on from BUILD/corpus where it has run before, and
# leaves what crashed, hung or took too much memory in BUILD/found.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-600}
build=${2:-build-fuzz}
[ -f "$build/build.ninja" ] ||
    CC=clang meson setup "$build" -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false
ninja -C "$build"
mkdir -p "$build/corpus" "$build/found" "$build/seeds/ptx"
# NVRTC leaks when it is loaded.
ASAN_OPTIONS=detect_leaks=0 "$build/tests/fuzz_seeds" "$build/seeds"
for test in "$build"/tests/test_exec_*; do
    [ -d "$test" ] || ASAN_OPTIONS=detect_leaks=0 CHECK_KEEP=$build/seeds/ptx GEMMTUNE_DRIVER=soft \
        GEMMTUNE_SOFTGPU=$build/src/softgpu/libgemmtune-softgpu.so "$test" >"$build/seeds/log"
done
find "$build/seeds/ptx" -size +32k -delete # longer texts slow it down more than they show it
"$build/tests/fuzz_ptx" -fork=1 -ignore_crashes=1 -max_total_time="$seconds" -max_len=32768 -timeout=20 \
    -dict="$build/seeds/words" -artifact_prefix="$build/found/" "$build/corpus" "$build/seeds/ptx"
[ -z "$(ls "$build/found")" ]
