#!/usr/bin/env python3
"""What a token costs while six layers of width 512 write a text of 512 to 8192 tokens: bough against torch 2.13.

    python3 tools/bench/peers/decode.py build/release/bin/bough [--lengths LIST] [--rounds N] [--threads N] [--json]

torch runs the full causal Transformer with a cache of keys and values and scaled_dot_product_attention, bough the cases
of `bough bench decode`: partition trees with k = 4 and full graphs, and 64 texts of 1024 tokens side by side. Mean
milliseconds of a token, medians of the turns. Installs torch on first use (see environments.py).
"""
import argparse
import json
import pathlib
import statistics
import sys

from workers import Worker

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from measured import lines_of  # noqa: E402

TOGETHER = 64


def bough_result(bough, threads, case):
    for line in lines_of(bough, threads, "decode", case, 1):
        if line["case"] == case:
            return line
    sys.exit(f"{bough} did not measure '{case}'")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bough", help="the program")
    parser.add_argument("--lengths", default="512,1024,2048,4096,8192")
    parser.add_argument("--rounds", type=int, default=1, help="turns of both sides")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    arguments = parser.parse_args()

    worker = Worker("torch", "decode_torch.py", arguments.threads)
    cases = [(f"bpt_k4 n={length}", int(length), 1) for length in arguments.lengths.split(",")]
    cases.append((f"bpt_k4 n=1024 x {TOGETHER}", 1024, TOGETHER))
    for case, length, batch in cases:
        ours, full, peer = [], [], []
        for _ in range(arguments.rounds):
            line = bough_result(arguments.bough, arguments.threads, case)
            ours.append(line["milliseconds"])
            if line["peer"] == "full graph":
                full.append(line["peer_milliseconds"])
            peer.append(worker.ask(length=length, batch=batch)["milliseconds"])
        result = {"name": "decode", "case": case, "milliseconds": statistics.median(ours),
                  "peer": "torch 2.13 SDPA, cached", "peer_milliseconds": statistics.median(peer)}
        if full:
            result["full_milliseconds"] = statistics.median(full)
        result["ratio"] = result["peer_milliseconds"] / result["milliseconds"]
        if arguments.json:
            print(json.dumps(result), flush=True)
        else:
            beside = f"{result['full_milliseconds']:>9.3f} ms full" if full else " " * 17
            print(f"{case:<22}{result['milliseconds']:>9.3f} ms{beside}{result['peer_milliseconds']:>9.3f} ms torch"
                  f"{result['ratio']:>8.2f}x", flush=True)
    worker.close()


if __name__ == "__main__":
    main()
