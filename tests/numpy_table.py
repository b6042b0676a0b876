#!/usr/bin/env python3
"""NumPy's products without the BLAS front and with it: numpy_table.py GEMMTUNE.

Each side is several processes, as the same product takes up to a quarter longer in one than in another. All take turns, with
pauses in which the threads of the others' BLAS cease to spin: OpenBLAS's do for 2^28 clocks, and make products of several
threads wait for milliseconds. A round has the median of its calls, a side the least of its rounds. Where the sides neither
agree nor is ours far ahead, more processes begin again with other arrays, whose pages lie elsewhere, a few times. Arrays begin
with a page: where the heap has them depends on what was loaded before, and decides on an eighth of a small product's time. The
front has seen each size before it counts, as it learns from what it sees. Errors are of some rows, relative to the largest
element, against f64. $GEMMTUNE_DB is used. Needs a GPU and NumPy.
"""
import json
import math
import statistics
import sys
import time

from sides import Side

SIZES = [("f4", 4096, 4096, 4096), ("f4", 2048, 2048, 2048), ("f4", 1024, 1024, 1024), ("f4", 768, 768, 768),
         ("f4", 512, 512, 512), ("f4", 256, 256, 256), ("f4", 64, 64, 64), ("f4", 4096, 64, 4096), ("f4", 4096, 4096, 64),
         ("f8", 2048, 2048, 2048), ("f8", 512, 512, 512)]
PROCESSES, ROUNDS = 3, 2  # of each side; of each process
LOOKS = [1] + 3 * [PROCESSES]  # processes that are asked, until the sides agree or ours is far ahead
AGREE, AHEAD = 1.02, 1.4  # ratios of times
ROUND_S, ROUND_CALLS, PAUSE_S = 0.02, 3, 0.2  # a round at least; before it
SEEN_S, SEEN_CALLS = 0.2, 16  # what comes before the rounds, at least
ROWS, PAGE = 4, 4096


def call_for(seconds, calls, function):
    """Calls it for so long, and so often, at least: the median of a call."""
    begin, times = time.perf_counter(), []
    while len(times) < calls or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def serve():
    """Lines of JSON: a size is answered by its error once it was seen often enough, null by the time of a round."""
    import numpy as np
    random = np.random.default_rng(1)

    def make(rows, columns, kind):
        count = rows * columns * np.dtype(kind).itemsize
        memory = np.empty(count + PAGE, "u1")
        begin = -memory.ctypes.data % PAGE
        array = memory[begin:begin + count].view(kind).reshape(rows, columns)
        array[:] = random.random((rows, columns))
        return array

    for line in sys.stdin:
        asked = json.loads(line)
        if asked:
            time.sleep(PAUSE_S)
            kind, m, n, k = asked
            a, b, c = make(m, k, kind), make(k, n, kind), make(m, n, kind)

            def multiply():
                np.matmul(a, b, out=c)

            call_for(SEEN_S, SEEN_CALLS, multiply)
            right = np.einsum("ik,kj->ij", a[:ROWS], b, dtype="f8")  # by no BLAS
            print(json.dumps(float(abs(c[:ROWS] - right).max() / abs(right).max())), flush=True)
        else:
            time.sleep(PAUSE_S)
            print(json.dumps(call_for(ROUND_S, ROUND_CALLS, multiply)), flush=True)


def compare(sides, size):
    """The least milliseconds and the error of each side."""
    least, errors = [math.inf] * 2, [0, 0]
    for processes in LOOKS:
        for i, side in enumerate(sides):
            errors[i] = max(errors[i], *(side.ask(process, size) for process in range(processes)))
        for process in ROUNDS * list(range(processes)):
            least = [min(seconds, side.ask(process, None)) for seconds, side in zip(least, sides)]
        if max(least) / min(least) < AGREE or least[0] / least[1] > AHEAD:
            break
    return [1e3 * seconds for seconds in least], errors


def main():
    sides = [Side(words, __file__, PROCESSES) for words in ([], [sys.argv[1], "run", "--blas", "--"])]
    for process in range(PROCESSES):  # its GPU is set up once large products would have saved the time
        sides[1].ask(process, SIZES[0])
    print("%-4s %-16s %9s %9s %7s %9s %9s" % ("type", "size", "ms", "with us", "ratio", "error", "with us"), flush=True)
    for kind, *size in SIZES:
        (ms, our_ms), errors = compare(sides, [kind, *size])
        print("%-4s %-16s %9.4f %9.4f %7.3f %9.2g %9.2g" % (
            "f32" if kind == "f4" else "f64", "x".join(map(str, size)), ms, our_ms, ms / our_ms, *errors), flush=True)
    for side in sides:
        side.end()


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve()
    else:
        main()
