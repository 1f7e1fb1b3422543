#!/usr/bin/env python3
"""Graph attention: bough against DGL 2.1, PyG 2.8, and FlexAttention and SDPA of torch 2.13, in one run.

    python3 tools/bench/peers/attention.py build/release/bin/bough [--only PREFIX] [--peers LIST] [--rounds N] [--json]

Installs the peers into environments of their own on first use (see environments.py). Both sides measure the same
graphs, 8 heads of 64, float32, in turns, so that they see the same noise of the machine; medians count. DGL and PyG
compute the scores with relation keys where bough does (partition graphs). FlexAttention gets the graph as a block mask,
without relations; SDPA attends to all tokens before, over the tokens of the graph only. Prints ours, theirs, the ratio.

DGL with 3 million edges takes half a minute and 9 GB for one forward+backward: --skip slow leaves such cases out.
"""
import argparse
import json
import statistics
import subprocess
import sys

from workers import Worker

PASSES = ("forward", "forward+backward")
# Peers of each case, and those that take minutes or many gigabytes there.
CASES = {
    "bpt_k4 n=8192": (["dgl", "pyg", "flex", "sdpa"], ["pyg"]),
    "bpt_k64 n=8192": (["dgl", "flex", "sdpa"], ["dgl"]),
    "full n=512": (["dgl", "sdpa"], []),
    "random": (["dgl", "pyg"], ["pyg"]),
    "power_law": (["dgl", "pyg"], ["pyg"]),
}
NAMES = {"dgl": "DGL 2.1", "pyg": "PyG 2.8", "flex": "FlexAttention", "sdpa": "SDPA"}
WORKERS = {"dgl": ("dgl", "attention_dgl.py"), "pyg": ("torch", "attention_torch.py"),
           "flex": ("torch", "attention_torch.py"), "sdpa": ("torch", "attention_torch.py")}


def bough_time(bough, threads, case, which, repeats):
    name = f"{case} {which}"
    command = [bough, "--threads", str(threads), "bench", "attention", "--json", "--repeats", str(repeats),
               "--only", name]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE) as process:
        for line in process.stdout:
            result = json.loads(line)
            if result["case"] == name:
                process.kill()  # other cases begin with the same words
                return result["milliseconds"]
    sys.exit(f"bough did not measure '{name}'")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bough", help="the program")
    parser.add_argument("--rounds", type=int, default=3, help="turns of both sides")
    parser.add_argument("--repeats", type=int, default=11, help="timed calls of bough in each turn; peers get 3")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="cases whose name begins with this: " + ", ".join(CASES))
    parser.add_argument("--peers", default=",".join(NAMES), help="which, with commas between; default: all")
    parser.add_argument("--skip", choices=["slow"], help="leave out what takes minutes or many gigabytes")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    arguments = parser.parse_args()
    wanted = arguments.peers.split(",")
    if not set(wanted) <= set(NAMES):
        parser.error(f"peers are {', '.join(NAMES)}")

    for case, (peers, slow) in CASES.items():
        if not case.startswith(arguments.only):
            continue
        for peer in peers:
            if peer not in wanted or (arguments.skip == "slow" and peer in slow):
                continue
            worker = Worker(*WORKERS[peer], peer, case, arguments.bough, arguments.threads)
            for which in PASSES:
                ours, theirs = [], []
                for _ in range(1 if peer in slow else arguments.rounds):
                    theirs.append(worker.ask(**{"pass": which}, repeats=1 if peer in slow else 3)["milliseconds"])
                    if theirs[-1] is None:
                        break
                    ours.append(bough_time(arguments.bough, arguments.threads, case, which, arguments.repeats))
                if ours:
                    report(f"{case} {which}", statistics.median(ours), NAMES[peer], statistics.median(theirs),
                           arguments.json)
            worker.close()


def report(case, ours, peer, theirs, as_json):
    if as_json:
        print(json.dumps({"name": "attention", "case": case, "milliseconds": ours, "peer": peer,
                          "peer_milliseconds": theirs, "ratio": theirs / ours}), flush=True)
    else:
        print(f"{case:<34}{ours:>10.2f} ms {theirs:>12.2f} ms {peer:<14}{theirs / ours:>8.1f}x", flush=True)


if __name__ == "__main__":
    main()
