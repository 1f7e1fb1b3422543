#!/usr/bin/env python3
"""Six layers of width 512 on 8192 tokens, cut into sequences of 512 to 8192: bough against torch 2.13, in one run.

    python3 tools/bench/peers/sequence_length.py build/release/bin/bough [--lengths LIST] [--patterns LIST] [--passes LIST] [--json]

torch runs the full causal Transformer with scaled_dot_product_attention, bough the patterns of `bough bench
sequence_length`. Inference, training (forward and backward), and training where layers keep all values, few values or
nothing for backward, which is the same for torch; medians of the turns. Memory is the growth of the process for torch,
and parameters, inputs, activations, graphs and their plans for bough. Installs torch on first use (see environments.py).
"""
import argparse
import json
import pathlib
import statistics
import subprocess

import environments

# Of ours, and what torch does beside it.
PASSES = {"inference": "inference", "training": "training", "all_kept_training": "training",
          "few_kept_training": "training", "checkpointed_training": "training"}


def bough_times(bough, threads, length, pattern, passes):
    """{pass: result} of one turn."""
    results = {}
    for which in passes:
        command = [bough, "--threads", str(threads), "bench", "sequence_length", "--json", "--repeats", "1",
                   "--only", f"n={length} {pattern} {which}"]
        results[which] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return results


def torch_times(threads, length):
    script = pathlib.Path(__file__).with_name("sequence_length_torch.py")
    command = [environments.python_of("torch"), script, str(length), str(threads)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def middle(turns, which, key):
    return statistics.median(turn[which][key] for turn in turns)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bough", help="the program")
    parser.add_argument("--lengths", default="512,1024,2048,4096,8192")
    parser.add_argument("--patterns", default="full,bpt_k1,bpt_k4,bpt_k16,bpt_k64")
    parser.add_argument("--passes", default=",".join(PASSES))
    parser.add_argument("--rounds", type=int, default=1, help="turns of both sides")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    arguments = parser.parse_args()

    for length in arguments.lengths.split(","):
        patterns, passes = arguments.patterns.split(","), arguments.passes.split(",")
        ours, peer = {pattern: [] for pattern in patterns}, []
        for _ in range(arguments.rounds):
            peer.append(torch_times(arguments.threads, length))
            for pattern in patterns:
                ours[pattern].append(bough_times(arguments.bough, arguments.threads, length, pattern, passes))
        for pattern in patterns:
            for which in passes:
                of_peer = PASSES[which]
                line = {"name": "sequence_length", "case": f"n={length} {pattern} {which}",
                        "tokens_per_second": middle(ours[pattern], which, "tokens_per_second"),
                        "peak_bytes": middle(ours[pattern], which, "peak_bytes"), "peer": "torch 2.13 SDPA",
                        "peer_tokens_per_second": middle(peer, of_peer, "tokens_per_second"),
                        "peer_peak_bytes": middle(peer, of_peer, "peak_bytes")}
                line["ratio"] = line["tokens_per_second"] / line["peer_tokens_per_second"]
                if arguments.json:
                    print(json.dumps(line), flush=True)
                else:
                    print(f"{line['case']:<36}{line['tokens_per_second']:>8.0f} tokens/s{line['peak_bytes'] / 1e6:>8.0f} MB"
                          f"{line['peer_tokens_per_second']:>12.0f} tokens/s{line['peer_peak_bytes'] / 1e6:>8.0f} MB "
                          f"torch{line['ratio']:>8.2f}x", flush=True)


if __name__ == "__main__":
    main()
