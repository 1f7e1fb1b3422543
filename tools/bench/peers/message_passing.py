#!/usr/bin/env python3
"""Single operations of message passing: bough against DGL 2.1, in one run.

    python3 tools/bench/peers/message_passing.py build/release/bin/bough [--rounds N] [--threads N] [--only PREFIX] [--json]

Installs DGL into an environment of its own on first use (see environments.py). Both sides run the same graphs and
widths in turns, group by group, so that they see the same noise of the machine; medians over the rounds count. The
random and power-law graphs are drawn from the same distribution on both sides. Prints ours, DGL's and the ratio.
"""
import argparse
import json
import statistics
import subprocess

from workers import Worker

GROUPS = [f"{graph} {width}" for graph in ("bpt_k4", "bpt_k64", "random", "power_law") for width in ("8x64", "1x256")]


def bough_times(bough, threads, group, repeats, only):
    command = [bough, "--threads", str(threads), "bench", "message_passing", "--json", "--repeats", str(repeats),
               "--only", max(group, only, key=len)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    results = [json.loads(line) for line in lines]
    return {r["case"].removeprefix(group).strip(): r["milliseconds"] for r in results if "peer" not in r}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bough", help="the program")
    parser.add_argument("--rounds", type=int, default=3, help="turns of both sides")
    parser.add_argument("--repeats", type=int, default=3, help="timed calls in each turn")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="cases whose name begins with this: one of " + ", ".join(GROUPS) +
                        ", then the operation")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    arguments = parser.parse_args()

    dgl = Worker("dgl", "message_passing_dgl.py", arguments.bough, arguments.threads)
    for group in GROUPS:
        if not group.startswith(arguments.only) and not arguments.only.startswith(group + " "):
            continue
        ours, peer = {}, {}
        for _ in range(arguments.rounds):
            for times, measured in (
                    (ours, bough_times(arguments.bough, arguments.threads, group, arguments.repeats, arguments.only)),
                    (peer, dgl.ask(group=group, repeats=arguments.repeats, only=arguments.only))):
                for case, milliseconds in measured.items():
                    times.setdefault(case, []).append(milliseconds)
        for case in ours:
            if case not in peer:
                continue
            mine, theirs = statistics.median(ours[case]), statistics.median(peer[case])
            if arguments.json:
                print(json.dumps({"name": "message_passing", "case": f"{group} {case}", "milliseconds": mine,
                                  "peer": "DGL 2.1", "peer_milliseconds": theirs, "ratio": theirs / mine}), flush=True)
            else:
                print(f"{group + ' ' + case:<44}{mine:>10.2f} ms {theirs:>10.2f} ms DGL {theirs / mine:>8.2f}x",
                      flush=True)
    dgl.close()


if __name__ == "__main__":
    main()
