#!/usr/bin/env python3
"""Training steps of a small character model over a partition graph: bough against torch 2.13, in one run.

    python3 tools/bench/peers/small_training.py build/release/bin/bough [--rounds N] [--threads N] [--json]

Width 128, 4 layers, windows of 512 characters, BPT k = 4, with the optimiser. bough trains by `bough run`; torch runs
the same model (the number of parameters is compared) with dense attention masked by the same graph, relation scores
included, as one would write it there, and once more without them by scaled_dot_product_attention, which is less work
than ours. Both sides take turns; medians count. Installs torch on first use (see
environments.py).
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

from workers import Worker

GRAPH = {"kind": "bpt", "k": 4}
MODEL = {"layers": 4, "dim": 128, "heads": 4, "ffn": 512, "dropout": 0, "norm": "pre"}
LENGTH, TOKENS = 512, 2048


def bough_run(bough, threads, steps):
    corpus = {"kind": "turn_taking", "train_characters": 100_000, "valid_characters": 600, "test_characters": 600}
    experiment = {"name": "small-training", "task": {"length": LENGTH, "corpus": corpus}, "model": MODEL,
                  "graph": GRAPH, "train": {"steps": steps, "tokens_per_batch": TOKENS}}
    with tempfile.TemporaryDirectory() as folder:
        command = [bough, "--threads", str(threads), "run", json.dumps(experiment), "--jobs", "1", "--out", folder]
        subprocess.run(command, check=True, capture_output=True)
        return json.loads((pathlib.Path(folder) / "results.json").read_text())["runs"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bough", help="the program")
    parser.add_argument("--rounds", type=int, default=3, help="turns of both sides")
    parser.add_argument("--steps", type=int, default=40, help="of bough in each turn; torch takes a tenth")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    arguments = parser.parse_args()

    shape = {"graph": {**GRAPH, "length": LENGTH, "causal": True}, "model": MODEL, "batch": TOKENS // LENGTH}
    worker = Worker("torch", "small_training_torch.py", arguments.bough, arguments.threads, json.dumps(shape))
    ours, theirs = [], {True: [], False: []}
    for _ in range(arguments.rounds):
        run = bough_run(arguments.bough, arguments.threads, arguments.steps)
        ours.append(run["tokens_per_second"])
        for relations, speeds in theirs.items():
            answer = worker.ask(parameters=run["parameters"], steps=max(1, arguments.steps // 10), relations=relations)
            speeds.append(answer["tokens_per_second"])
    worker.close()
    mine = statistics.median(ours)
    for relations, speeds in theirs.items():
        peer = statistics.median(speeds)
        name = "torch 2.13, dense masked" + ("" if relations else ", SDPA, no relations")
        if arguments.json:
            print(json.dumps({"name": "small_training", "case": "bpt_k4 n=512", "tokens_per_second": mine, "peer": name,
                              "peer_tokens_per_second": peer, "ratio": mine / peer}))
        else:
            print(f"bpt_k4 n=512 {mine:>10.0f} tokens/s {peer:>10.0f} tokens/s {name:<40}{mine / peer:>6.1f}x")


if __name__ == "__main__":
    main()
