#!/usr/bin/env python3
"""Graph attention: bough against DGL 2.1, PyG 2.8, and FlexAttention and SDPA of torch 2.13, in one run.

    python3 tools/bench/peers/attention.py build/release/bin/bough [--only CASE] [--peers LIST] [--rounds N] [--record]

Installs the peers into environments of their own on first use (see environments.py). Both sides measure the same
graphs, 8 heads of 64, float32, in turns, so that they see the same noise of the machine; medians count. DGL and PyG
compute the scores with relation keys where bough does (partition graphs). FlexAttention gets the graph as a block mask,
without relations; SDPA attends to all tokens before, over the tokens of the graph only. Prints ours, theirs, the ratio,
or why a peer has no time: its memory does not suffice, or it does not support the pass.

--record writes tools/bench/results/attention.json and the table of the project's README.md. Cases that were not run keep
their lines, so the whole can be measured in several short runs on one machine. A peer whose first call takes more than
ten seconds is not called again: DGL with 3 million edges takes half a minute and 9 GB for one forward+backward.
"""
import argparse
import json
import pathlib
import statistics
import sys

from workers import Worker

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import measured  # noqa: E402
import readme_table  # noqa: E402

# A peer that is not in the list of a case does not take a graph.
CASES = {
    "bpt_k4 n=8192": ["dgl", "pyg", "flex", "sdpa"],
    "bpt_k64 n=8192": ["dgl", "pyg", "flex", "sdpa"],
    "full n=512": ["dgl", "pyg", "flex", "sdpa"],
    "random": ["dgl", "pyg", "flex"],
    "power_law": ["dgl", "pyg", "flex"],
}
NAMES = {"dgl": "DGL 2.1", "pyg": "PyG 2.8", "flex": "FlexAttention", "sdpa": "SDPA"}
WORKERS = {"dgl": ("dgl", "attention_dgl.py"), "pyg": ("torch", "attention_torch.py"),
           "flex": ("torch", "attention_torch.py"), "sdpa": ("torch", "attention_torch.py")}
SLOW = 5000  # milliseconds; one turn is enough to see the ratio to so slow a peer


def compare(worker, case, which, peer, arguments):
    """One row of the results."""
    row = {"name": "attention", "case": f"{case} {which}", "peer": NAMES[peer]}
    ours, theirs = [], []
    for _ in range(arguments.rounds):
        answer = worker.ask(**{"pass": which}, repeats=arguments.peer_repeats)
        if answer["milliseconds"] is None:
            return {**row, "reason": answer["reason"]}
        theirs.append(answer["milliseconds"])
        ours.append(measured.milliseconds_of(arguments.bough, arguments.threads, "attention", row["case"],
                                             arguments.repeats))
        if theirs[-1] > SLOW:
            break
    row["milliseconds"], row["peer_milliseconds"] = statistics.median(ours), statistics.median(theirs)
    row["ratio"] = row["peer_milliseconds"] / row["milliseconds"]
    if answer["preparation_milliseconds"] is not None:
        row["peer_preparation_milliseconds"] = answer["preparation_milliseconds"]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bough", help="the program")
    parser.add_argument("--rounds", type=int, default=3, help="turns of both sides")
    parser.add_argument("--repeats", type=int, default=11, help="timed calls of bough in each turn")
    parser.add_argument("--peer-repeats", type=int, default=2, help="timed calls of the peer in each turn")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default=",".join(CASES), help="cases, with commas between; default: all")
    parser.add_argument("--peers", default=",".join(NAMES), help="which, with commas between; default: all")
    parser.add_argument("--record", action="store_true", help="keep the results and write README's table from them")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    arguments = parser.parse_args()
    cases, peers = arguments.only.split(","), arguments.peers.split(",")
    if not set(cases) <= set(CASES) or not set(peers) <= set(NAMES):
        parser.error(f"cases are {', '.join(CASES)}; peers are {', '.join(NAMES)}")

    rows = []
    for case in cases:
        for peer in (peer for peer in CASES[case] if peer in peers):
            worker = Worker(*WORKERS[peer], peer, case, arguments.bough, arguments.threads)
            for which in measured.PASSES:
                rows.append(compare(worker, case, which, peer, arguments))
                report(rows[-1], arguments.json)
                if arguments.record:
                    measured.record("attention",
                                    "python3 tools/bench/peers/attention.py build/release/bin/bough --record",
                                    arguments.threads, rows[-1:], identity=("case", "peer"))
            worker.close()
    if arguments.record:
        readme_table.write_all()


def report(row, as_json):
    if as_json:
        print(json.dumps(row), flush=True)
    elif "reason" in row:
        print(f"{row['case']:<34}{row['reason']:>29} {row['peer']}", flush=True)
    else:
        preparation = row.get("peer_preparation_milliseconds")
        print(f"{row['case']:<34}{row['milliseconds']:>10.2f} ms {row['peer_milliseconds']:>12.2f} ms {row['peer']:<14}"
              f"{row['ratio']:>8.1f}x" + (f", and {preparation:.0f} ms once a graph" if preparation else ""), flush=True)


if __name__ == "__main__":
    main()
