#!/usr/bin/env python3
"""A program that knows nothing of gemmtune: trains two linear layers with a bias in f32, and prints the time of a step and the
loss at the end, which is the same in every run as far as products are. Needs a GPU and PyTorch."""
import time

import torch

TOKENS, WIDTH, WARM, STEPS = 2048, 1024, 20, 300

torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.ReLU(), torch.nn.Linear(4 * WIDTH, WIDTH)).cuda()
descent = torch.optim.SGD(model.parameters(), lr=0.5)
x = torch.randn(TOKENS, WIDTH).cuda()
for step in range(WARM + STEPS):
    if step == WARM:
        torch.cuda.synchronize()
        begin = time.perf_counter()
    descent.zero_grad()
    loss = (model(x) - x).square().mean()
    loss.backward()
    descent.step()
torch.cuda.synchronize()
print("%.3f ms a step, loss %.6g" % (1e3 * (time.perf_counter() - begin) / STEPS, loss.item()))
