#!/usr/bin/env python3
"""The table of attention beside other libraries, in the project's README, from recorded measurements.

    tools/bench/peers/attention.py build/release/bin/bough --json > lines.json
    tools/bench/readme_table.py --record lines.json --machine "two cores of ..."
    tools/bench/readme_table.py --check

Without --check it writes the table between the two marks in README.md. --record first replaces
tools/bench/results/attention.json by what was measured. --check changes nothing and fails if README.md says anything else.
"""
import argparse
import json
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
RESULTS = ROOT / "tools" / "bench" / "results" / "attention.json"
BEGIN, END = "<!-- written by tools/bench/readme_table.py -->", "<!-- end of the table -->"

GRAPHS = {
    "bpt_k4 n=8192": "partition tree, 8192 tokens, k = 4",
    "bpt_k64 n=8192": "partition tree, 8192 tokens, k = 64",
    "random": "random, 100 000 nodes, 2 million edges",
    "power_law": "power law, 100 000 nodes, 2 million edges",
}
PEERS = {"DGL 2.1": "DGL 2.1", "PyG 2.8": "PyG 2.8", "FlexAttention": "FlexAttention", "SDPA": "SDPA, all tokens"}
PASSES = ("forward", "forward+backward")


def short(number):
    """Two digits and a half: 14.3, 250, 8.1."""
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}" if number >= 10 else f"{number:.2g}"


def cell(values):
    """Forward / forward+backward; a dash where it was not measured."""
    return " / ".join("–" if value is None else short(value) for value in values) if any(values) else "–"


def table(results):
    def middle(graph, which, key, peer=None):
        found = [r[key] for r in results if r["case"] == f"{graph} {which}" and peer in (None, r["peer"])]
        return statistics.median(found) if found else None

    measured = [peer for peer in PEERS if any(r["peer"] == peer for r in results)]
    lines = ["| graph | bough, ms | " + " | ".join(PEERS[peer] for peer in measured) + " |",
             "|---|---|" + "---|" * len(measured)]
    for graph, title in GRAPHS.items():
        cells = [cell([middle(graph, which, "milliseconds") for which in PASSES])]
        cells += [cell([middle(graph, which, "ratio", peer) for which in PASSES]) for peer in measured]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--record", metavar="FILE", help="what attention.py --json printed")
    parser.add_argument("--machine", help="where it was measured; needed with --record")
    arguments = parser.parse_args()
    if arguments.record:
        if not arguments.machine:
            parser.error("--record needs --machine")
        lines = pathlib.Path(arguments.record).read_text().splitlines()
        rows = ",\n    ".join(lines)
        RESULTS.write_text('{\n  "command": "python3 tools/bench/peers/attention.py build/release/bin/bough --json",\n'
                           f'  "machine": {json.dumps(arguments.machine)},\n  "results": [\n    {rows}\n  ]\n}}\n')

    text = README.read_text()
    before, begin, rest = text.partition(BEGIN + "\n")
    _, end, after = rest.partition("\n" + END)
    if not begin or not end:
        sys.exit(f"README.md has no table between '{BEGIN}' and '{END}'")
    wanted = before + begin + table(json.loads(RESULTS.read_text())["results"]) + end + after
    if arguments.check:
        if wanted != text:
            sys.exit("the table in README.md is not that of tools/bench/results/attention.json; run tools/bench/readme_table.py")
    else:
        README.write_text(wanted)


if __name__ == "__main__":
    main()
