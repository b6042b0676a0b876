#!/usr/bin/env python3
"""PyTorch models with and without the front: torch_table.py GEMMTUNE [BUDGET [TYPE,...]].

Runs models of linear layers, in f32, f32 under --f32 split, tf32, bf16 and f16 unless told, and captures what they ask for
while nothing is answered, tunes that for BUDGET (180s), and runs them again; then both once more, in turns. Times are the
least of rounds of steps: the host's, which launches them, vary by a third from process to process. Errors are of the
outputs, relative to the largest element, against the same model in f64. $GEMMTUNE_DB is used. Needs a GPU and PyTorch.
"""
import copy
import json
import math
import os
import subprocess
import sys
import tempfile

TOKENS, WIDTH, ODD = 2048, 1024, 1023
ROUNDS, ROWS = 25, 64  # of times; of outputs whose error is looked at


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
        "linear, bias, training": (stack(True), rows, True, False),
        "linear, training": (stack(False), rows, True, False),
        "linear, inference": (stack(False), rows, False, False),
        "linear, graph": (stack(False), rows, False, True),
        "block, training": (Block(WIDTH), rows, True, False),
        "block, graph": (Block(WIDTH), rows, False, True),
        "bmm 64 x 256": (Bmm(), (64, 256, 256), False, False),
        "linear, odd sizes": (nn.Linear(ODD, 3 * ODD, bias=False), (2 * ODD + 1, ODD), False, False),
    }


def measure(path, reference_path, kinds):
    """Times and errors of every model and type, as JSON in a file."""
    import torch
    rows, references = [], torch.load(reference_path) if os.path.exists(reference_path) else {}
    dtypes = {"f32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
    for kind in kinds:
        torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
        torch.manual_seed(1)
        for name, (model, shape, trains, graph) in make_models(torch).items():
            x = torch.randn(*shape).to(dtypes[kind])
            model = model.to(dtypes[kind])
            key = "%s %s" % (kind, name)
            if key not in references:  # of the same numbers, on the CPU: no product of a GPU's
                with torch.no_grad():
                    references[key] = copy.deepcopy(model).double()(x.double())[:ROWS].clone()
            model, x = model.cuda(), x.cuda()
            rows.append([kind, name, *time_model(torch, model, x, trains, graph, references[key])])
    if not os.path.exists(reference_path):
        torch.save(references, reference_path)
    with open(path, "w") as file:
        json.dump(rows, file)


def time_model(torch, model, x, trains, graph, reference):
    def step():
        if not trains:
            with torch.no_grad():
                return model(x)
        model.zero_grad(set_to_none=True)
        y = model(x)
        y.square().mean().backward()
        return y

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            y = step()
        if graph:
            captured = torch.cuda.CUDAGraph()
            with torch.cuda.graph(captured, stream=side):
                y = step()
        run = captured.replay if graph else step
        times = []
        for _ in range(ROUNDS):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            for _ in range(8):
                result = run()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) / 8)
        y = y if graph else result
        torch.cuda.synchronize()
    difference = (y[:ROWS].detach().double().cpu() - reference).abs().max() / reference.abs().max()
    return min(times), difference.item()


def main():
    program, budget = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "180s"
    kinds = sys.argv[3].split(",") if len(sys.argv) > 3 else ["f32", "split", "tf32", "bf16", "f16"]
    plain = [kind for kind in kinds if kind != "split"]
    folder = tempfile.mkdtemp(prefix="gemmtune-torch-")

    def child(words, asked):
        path = os.path.join(folder, "rows.json")
        subprocess.run([*words, sys.executable, __file__, "--measure", path, os.path.join(folder, "reference.pt"), *asked],
                       check=True)
        with open(path) as file:
            return {(kind, name): (ms, error) for kind, name, ms, error in json.load(file)}

    def least(some, others):
        return {key: min(some[key], others[key]) for key in some}

    before = child([program, "run", "--capture-only", "--"], plain)
    if "split" in kinds:
        child([program, "run", "--capture-only", "--f32", "split", "--"], ["f32"])
    subprocess.run([program, "tune", "--wanted", "--effort", "quick", "--budget", budget, "--quiet"], check=True,
                   stdout=subprocess.DEVNULL)
    ours = child([program, "run", "--"], plain)
    before = least(before, child([], plain))
    ours = least(ours, child([program, "run", "--"], plain))
    split = child([program, "run", "--f32", "split", "--"], ["f32"]) if "split" in kinds else {}
    print("%-6s %-24s %9s %9s %7s %9s %9s" % ("type", "model", "ms", "with us", "ratio", "error", "with us"))
    ratios = {}
    for kind in kinds:
        for key in [key for key in before if key[0] == ("f32" if kind == "split" else kind)]:
            (ms, error), (our_ms, our_error) = before[key], (split if kind == "split" else ours)[key]
            ratios.setdefault(kind, []).append(ms / our_ms)
            print("%-6s %-24s %9.4f %9.4f %7.3f %9.2g %9.2g" % (kind, key[1], ms, our_ms, ms / our_ms, error, our_error))
    for kind, list_ in ratios.items():
        print("%-6s %.3f at the geometric mean, %.3f at least" % (
            kind, math.exp(sum(map(math.log, list_)) / len(list_)), min(list_)))


if __name__ == "__main__":
    if sys.argv[1] == "--measure":
        measure(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        main()
