#!/usr/bin/env python3
"""PyTorch models with and without the front: torch_table.py GEMMTUNE [BUDGET [TYPE,...]].

Captures what models of linear layers ask for, in f32, tf32, bf16, f16 and f32 under --f32 split unless told, while nothing
is answered; tunes that, each type for BUDGET (60s; 0: neither, the database is used as it is); and times them with the front
and in its pauses. Both are timed in one process, in turns: of two processes the GPU serves one faster than the other, by up to
2.5%, as long as they live. Several processes take turns on one core. The ratio is the median of rounds of all processes, and is
shown with half of its confidence interval (95%); where it may tell of a loss, rounds go on. In a round each side comes first
once, and chance says which at first: what else comes and goes in turns is no side's. A step takes as long as the GPU needs for
it or the host to launch it, whichever is longer, and both are shown: the GPU's time is of steps that were launched while it was
kept busy, so that it waits for nobody. With GEMMTUNE_DISABLE=1 both sides do the same. Errors are of the outputs, relative to
the largest element, against the same model in f64. $GEMMTUNE_DB is used. Needs a GPU and PyTorch.
"""
import contextlib
import copy
import ctypes
import gc
import itertools
import json
import math
import os
import random
import statistics
import subprocess
import sys
import time
import traceback

from sides import Side

TOKENS, FEW_TOKENS, WIDTH, ODD = 2048, 32, 1024, 1023
PROCESSES, ROUNDS, ROUND_MS = 3, (4, 16), 8  # of a front; at least, at most; steps that are timed together, about
GAIN, SURE = 0.01, 0.003  # logarithms: no loss from here on; a confidence that says whether there is one
LEAST_STEPS, MOST_STEPS = 4, 64  # timed together: all of their launches fit into a stream's queue
AHEAD, CLOCKS_MS = 1.5, 2e6  # the GPU is kept busy for so many times as long as launching takes; its clocks, about
ROWS = 64  # of outputs whose error is looked at: each depends on its own row of the input
TUNED = {"f32": ("f32", "strict"), "tf32": ("f32", "tf32"), "bf16": ("bf16", "strict"), "f16": ("f16", "strict"),
         "split": ("f32", "split")}


def make_models(torch):
    """Name: layers, input, whether gradients are computed, whether it is replayed from a graph."""
    nn = torch.nn

    class Block(nn.Module):
        """A transformer's block with a gate in attention's place."""

        def __init__(self, d):
            super().__init__()
            self.norms = nn.ModuleList([nn.LayerNorm(d), nn.LayerNorm(d)])
            self.value, self.gate, self.out = (nn.Linear(d, d, bias=False) for _ in range(3))
            self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

        def forward(self, x):
            y = self.norms[0](x)
            x = x + self.out(self.value(y) * torch.sigmoid(self.gate(y)))
            return x + self.down(nn.functional.gelu(self.up(self.norms[1](x)), approximate="tanh"))

    class Bmm(nn.Module):
        def forward(self, x):
            return torch.bmm(x, x.transpose(1, 2))

    def stack(bias):
        return nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH, bias=bias), nn.ReLU(), nn.Linear(4 * WIDTH, WIDTH, bias=bias))

    rows = (TOKENS, WIDTH)
    return {
        "linear, bias, training": (lambda: stack(True), rows, True, False),
        "linear, training": (lambda: stack(False), rows, True, False),
        "linear, inference": (lambda: stack(False), rows, False, False),
        "linear, graph": (lambda: stack(False), rows, False, True),
        "block, training": (lambda: Block(WIDTH), rows, True, False),
        "block, graph": (lambda: Block(WIDTH), rows, False, True),
        "block, 32 tokens, graph": (lambda: Block(WIDTH), (FEW_TOKENS, WIDTH), False, True),
        "bmm 64 x 256": (lambda: Bmm(), (64, 256, 256), False, False),
        "linear, odd sizes": (lambda: nn.Linear(ODD, 3 * ODD, bias=False), (2 * ODD + 1, ODD), False, False),
    }


class Timed:
    """A model on the GPU, ready to be timed on a stream of its own, in the front's pauses and with it, with the errors of its
    output."""

    def __init__(self, torch, kind, entry, pause):
        make, shape, trains, graph = entry
        dtype = {"bf16": torch.bfloat16, "f16": torch.float16}.get(kind, torch.float32)
        torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
        torch.manual_seed(1)
        model, x = make().to(dtype), torch.randn(*shape).to(dtype)
        with torch.no_grad():  # of the same numbers, on the CPU: no product of a GPU's
            reference = copy.deepcopy(model).double()(x[:ROWS].double())
        self.torch, self.trains, self.model, self.x, self.pause = torch, trains, model.cuda(), x.cuda(), pause
        self.stream = torch.cuda.Stream()
        self.runs, self.errors = [], []
        for paused in (1, 0):
            pause(paused)
            y = self.prepare(graph)
            self.errors.append(((y[:ROWS].detach().double().cpu() - reference).abs().max() / reference.abs().max()).item())

    def prepare(self, graph):
        """A way to run a step, and what it gives."""
        with self.torch.cuda.stream(self.stream):
            for _ in range(3):
                y = self.step()
            self.runs.append(self.step)
            if graph:
                captured = self.torch.cuda.CUDAGraph()
                with self.torch.cuda.graph(captured, stream=self.stream):
                    y = self.step()
                captured.replay()
                self.runs[-1] = captured.replay
        self.torch.cuda.synchronize()
        return y

    def step(self):
        if not self.trains:
            with self.torch.no_grad():
                return self.model(self.x)
        self.model.zero_grad(set_to_none=True)
        y = self.model(self.x)
        y.square().mean().backward()
        return y

    def time(self, side, steps, busy_ms):
        """Milliseconds of a step, on the GPU, after it was given something to do for so long, and on the host. One step before
        them warms up what another process has left cold."""
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.pause(1 - side)
        run = self.runs[side]
        with self.torch.cuda.stream(self.stream):
            run()
            self.torch.cuda._sleep(int(busy_ms * CLOCKS_MS))
            begin.record()
            start = time.perf_counter()
            for _ in range(steps):
                run()
            host = time.perf_counter() - start
            end.record()
            end.synchronize()
        return begin.elapsed_time(end) / steps, 1e3 * host / steps


def capture(kinds):
    import torch
    for kind in kinds:
        for entry in make_models(torch).values():
            Timed(torch, kind, entry, lambda paused: None)


def bind(cores):
    """All threads of this process: PyTorch's backward pass has one of its own."""
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(ProcessLookupError):  # it has ended since
            os.sched_setaffinity(int(thread), cores)


def serve():
    """Lines of JSON: first the models' names; then {type, model} is answered by its errors, or null where it fails, {side,
    steps, busy_ms} by the times of a step."""
    import torch
    pause = ctypes.CDLL(None).gemmtune_pause  # of the front
    models, cores = make_models(torch), os.sched_getaffinity(0)
    gc.freeze()
    gc.disable()
    print(json.dumps(list(models)), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            if "model" in asked:
                bind(cores)
                timed = Timed(torch, asked["type"], models[asked["model"]], pause)
                bind({max(cores)})
            answer = timed.errors if "model" in asked else timed.time(**asked)
        except RuntimeError:
            traceback.print_exc()
            answer = None
        print(json.dumps(answer), flush=True)


def weigh(ratios):
    """The median of logarithms, and half of its confidence interval, as box plots have it."""
    low, middle, high = statistics.quantiles(ratios, n=4)
    return middle, 1.57 * (high - low) / math.sqrt(len(ratios))


def compare(side, kind, name):
    """The GPU's and the host's time and the error without and with the front, the logarithm of the ratio of the GPU's times and
    its confidence; None where a model fails."""
    side.tell_all({"type": kind, "model": name})
    answers = side.hear_all()
    if None in answers:
        return None
    for _ in range(2):  # a first one takes several times as long
        gpu_ms, host_ms = side.ask(0, {"side": 0, "steps": LEAST_STEPS, "busy_ms": 0})
    steps = min(MOST_STEPS, max(LEAST_STEPS, int(ROUND_MS / max(gpu_ms, host_ms))))
    times, ratios = [[], []], []
    for i in range(ROUNDS[1]):
        halves = [[], []]
        for order, process in itertools.product(random.sample([[0, 1], [1, 0]], 2), range(PROCESSES)):
            for which in order:
                times[which].append(side.ask(process, {"side": which, "steps": steps, "busy_ms": AHEAD * steps * host_ms}))
            halves[order[0]].append(math.log(times[0][-1][0] / times[1][-1][0]))
        ratios += map(statistics.mean, zip(*halves))
        ratio, confidence = weigh(ratios)
        if i + 1 >= ROUNDS[0] and (ratio > GAIN or confidence < SURE):
            break
    rows = [[*map(statistics.median, zip(*its_times)), max(errors)] for its_times, errors in zip(times, zip(*answers))]
    return rows, ratio, confidence


def tune(program, kinds, budget):
    """Captures what the models ask for, and tunes it."""
    plain = [kind for kind in kinds if kind != "split"]
    only = [program, "run", "--capture-only"]
    captures = [[*only, "--", sys.executable, __file__, "--capture", *plain]] if plain else []
    if "split" in kinds:
        captures.append([*only, "--f32", "split", "--", sys.executable, __file__, "--capture", "f32"])
    for process in [subprocess.Popen(words) for words in captures]:
        if process.wait() != 0:
            sys.exit("a capture failed")
    for kind in kinds:
        asked = ["--type", TUNED[kind][0], "--math", TUNED[kind][1], "--budget", budget, "--quiet"]
        tuned = subprocess.run([program, "tune", "--wanted", *asked], stdout=subprocess.DEVNULL)
        if tuned.returncode not in (0, 1):  # 1: the budget ended before each problem had a kernel
            sys.exit("tuning failed")


def main():
    random.seed(1)
    program, budget = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "60s"
    kinds = sys.argv[3].split(",") if len(sys.argv) > 3 else list(TUNED)
    words = {"with": [program, "run", "--"], "split": [program, "run", "--f32", "split", "--"]}
    used = {kind: "split" if kind == "split" else "with" for kind in kinds}
    # They import while kernels are tuned.
    sides = {name: Side(words[name], __file__, PROCESSES) for name in set(used.values())}
    if budget != "0":
        tune(program, kinds, budget)
    names = [side.hear_all() for side in sides.values()][0][0]
    print("%-6s %-24s %9s %9s %7s %6s %9s %9s %9s %9s" % (
        "type", "model", "GPU ms", "with us", "ratio", "+-", "host ms", "with us", "error", "with us"), flush=True)
    ratios, failed = {}, []
    for kind in kinds:
        for name in names:
            seen = compare(sides[used[kind]], kind, name)
            if not seen:
                failed.append("%s, %s" % (kind, name))
                continue
            ((ms, host_ms, error), (our_ms, our_host_ms, our_error)), ratio, confidence = seen
            ratios.setdefault(kind, []).append(ratio)
            print("%-6s %-24s %9.4f %9.4f %7.3f %6.3f %9.4f %9.4f %9.2g %9.2g" % (
                kind, name, ms, our_ms, math.exp(ratio), confidence, host_ms, our_host_ms, error, our_error), flush=True)
        if kind in ratios:
            print("%-6s %.3f at the geometric mean, %.3f at least" % (
                kind, math.exp(statistics.mean(ratios[kind])), math.exp(min(ratios[kind]))), flush=True)
    for side in sides.values():
        side.end()
    if failed:
        sys.exit("failed: " + "; ".join(failed))


if __name__ == "__main__":
    if sys.argv[1] == "--capture":
        capture(sys.argv[2:])
    elif sys.argv[1] == "--serve":
        serve()
    else:
        main()
