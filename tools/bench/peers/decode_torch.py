"""The torch side of decode.py: decode_torch.py THREADS answers one order {"length", "batch"} a line."""
import json
import sys
import time

import torch
from torch import nn
from torch.nn import functional

LAYERS, DIM, HEADS, HIDDEN = 6, 512, 8, 2048


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(DIM, 3 * DIM, bias=False)
        self.join = nn.Linear(DIM, DIM, bias=False)
        self.inner, self.outer = nn.Linear(DIM, HIDDEN), nn.Linear(HIDDEN, DIM)
        self.first_norm, self.second_norm = nn.LayerNorm(DIM), nn.LayerNorm(DIM)

    def begin(self, batch, length):
        self.keys, self.values = torch.empty(2, batch, HEADS, length, DIM // HEADS).unbind(0)

    def forward(self, x, position):
        q, k, v = self.project(x).view(-1, 3, HEADS, DIM // HEADS).unbind(1)
        self.keys[:, :, position], self.values[:, :, position] = k, v
        attended = functional.scaled_dot_product_attention(q.unsqueeze(2), self.keys[:, :, :position + 1],
                                                           self.values[:, :, :position + 1])
        x = self.first_norm(x + self.join(attended.reshape(-1, DIM)))
        return self.second_norm(x + self.outer(functional.relu(self.inner(x))))


def write(layers, x, tokens):
    for position in range(tokens):
        h = x
        for layer in layers:
            h = layer(h, position)


def main():
    torch.set_num_threads(int(sys.argv[1]))
    layers = [Layer() for _ in range(LAYERS)]
    with torch.inference_mode():
        for line in sys.stdin:
            order = json.loads(line)
            x = torch.randn(order["batch"], DIM)
            for layer in layers:
                layer.begin(order["batch"], order["length"])
            write(layers, x, 64)
            start = time.perf_counter()
            write(layers, x, order["length"])
            seconds = time.perf_counter() - start
            print(json.dumps({"milliseconds": seconds * 1e3 / order["length"] / order["batch"]}), flush=True)


if __name__ == "__main__":
    main()
