"""The torch side of sequence_length.py: sequence_length_torch.py LENGTH THREADS prints one JSON object."""
import json
import resource
import sys
import time

import torch
from torch import nn
from torch.nn import functional

LAYERS, DIM, HEADS, HIDDEN, TOKENS = 6, 512, 8, 2048, 8192


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(DIM, 3 * DIM, bias=False)
        self.join = nn.Linear(DIM, DIM, bias=False)
        self.inner, self.outer = nn.Linear(DIM, HIDDEN), nn.Linear(HIDDEN, DIM)
        self.first_norm, self.second_norm = nn.LayerNorm(DIM), nn.LayerNorm(DIM)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.project(x).view(batch, length, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = self.first_norm(x + self.join(attended.transpose(1, 2).reshape(batch, length, DIM)))
        return self.second_norm(x + self.outer(functional.relu(self.inner(x))))


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main():
    length, threads = int(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(threads)
    before = resident_bytes()
    model = nn.Sequential(*(Layer() for _ in range(LAYERS)))
    inputs = torch.randn(TOKENS // length, length, DIM)
    gradient = torch.randn(TOKENS // length, length, DIM)

    def infer():
        with torch.inference_mode():
            model(inputs)

    def train():
        model.zero_grad()
        model(inputs).backward(gradient)

    results = {}
    for name, step in (("inference", infer), ("training", train)):
        step()
        start = time.perf_counter()
        step()
        seconds = time.perf_counter() - start
        results[name] = {"tokens_per_second": TOKENS / seconds, "peak_bytes": peak_bytes() - before}
    print(json.dumps(results))


if __name__ == "__main__":
    main()
