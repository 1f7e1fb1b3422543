#!/usr/bin/env python3
"""Tables in READMEs that are made of recorded measurements (tools/bench/results/).

    tools/bench/readme_table.py             # writes each table between the two marks in its README
    tools/bench/readme_table.py --check     # changes nothing; fails if a README says anything else

The scripts that measure write them too: attention.py and text_classification.py of tools/bench/peers with --record, and
tools/bench/attention_ablation.py.
"""
import argparse
import json
import statistics
import sys

from measured import PASSES, RESULTS, ROOT

BEGIN, END = "<!-- written by tools/bench/readme_table.py -->", "<!-- end of the table -->"
NOTHING = "–"

GRAPHS = {
    "bpt_k4 n=8192": "partition tree, 8192 tokens, k = 4",
    "bpt_k64 n=8192": "partition tree, 8192 tokens, k = 64",
    "full n=512": "full, 512 tokens",
    "random": "random, 100 000 nodes, 2 million edges",
    "power_law": "power law, 100 000 nodes, 2 million edges",
}
PEERS = {"DGL 2.1": "DGL 2.1", "PyG 2.8": "PyG 2.8", "FlexAttention": "FlexAttention", "SDPA": "SDPA, all tokens"}
PATTERNS = {
    "bpt_k4 n=8192": "bpt k=4", "bpt_k64 n=8192": "bpt k=64", "window n=8192": "window",
    "longformer n=8192": "longformer", "sparse_fixed n=8192": "sparse_fixed", "star n=8192": "star",
    "pooling n=65536": "pooling", "full n=2048": "full", "random": "random",
}


def short(number):
    """Two digits and a half: 14.3, 250, 8.1."""
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}" if number >= 10 else f"{number:.2g}"


def table_of(head, rows):
    titles, *lines = ["| " + " | ".join(line) + " |" for line in [head, *rows]]
    return "\n".join([titles, "|" + "---|" * len(head), *lines])


def both(cells):
    """Forward / forward+backward; if neither was measured for the same reason, that reason once."""
    return cells[0] if cells[0] == cells[1] and not cells[0][0].isdigit() else " / ".join(cells)


def peers_table(recorded):
    """Milliseconds of bough, ratios of the others; where one has no time, why."""
    rows = {(row["case"], row["peer"]): row for row in recorded["results"]}

    def ours(case):
        found = [row["milliseconds"] for row in rows.values() if row["case"] == case and "milliseconds" in row]
        return short(statistics.median(found)) if found else NOTHING

    def theirs(case, peer):
        row = rows.get((case, peer), {})
        return short(row["ratio"]) if "ratio" in row else row.get("reason", NOTHING)

    lines = []
    for graph, title in GRAPHS.items():
        cases = [f"{graph} {which}" for which in PASSES]
        if any(case == row["case"] for case in cases for row in rows.values()):
            lines.append([title, both([ours(case) for case in cases]),
                          *(both([theirs(case, peer) for case in cases]) for peer in PEERS)])
    prepared = [rows.get((f"{graph} forward", "FlexAttention"), {}).get("peer_preparation_milliseconds")
                for graph in GRAPHS]
    masks = ", ".join(f"{milliseconds / 1e3:.2g} s" for milliseconds in prepared if milliseconds is not None)
    return (table_of(["graph", "bough, ms", *PEERS.values()], lines) + f"\n\nMeasured on {recorded['machine']}.\n"
            + (f"FlexAttention also makes a mask once for each graph, not counted above (in the order of rows: {masks}).\n"
               if masks else ""))


def ablation_table(recorded):
    """Time without a refinement over time with it."""
    ratios = {row["case"]: row["ratio"] for row in recorded["results"]}
    refinements = list(dict.fromkeys(row["peer"].removeprefix("without ") for row in recorded["results"]))

    def cell(pattern, refinement):
        found = [ratios.get(f"{pattern} {refinement} {which}") for which in PASSES]
        return both([NOTHING if ratio is None else f"{ratio:.2f}" for ratio in found])

    lines = [[refinement, *(cell(pattern, refinement) for pattern in PATTERNS)] for refinement in refinements]
    return table_of(["refinement", *PATTERNS.values()], lines) + f"\n\nMeasured on {recorded['machine']}.\n"


def training_table(recorded):
    """Documents a second of bough, and how many times as many they are as a peer's."""
    rows = {(row["case"], row["peer"]): row for row in recorded["results"]}
    cases, peers = (list(dict.fromkeys(column)) for column in zip(*rows))

    def ours(case):
        return short(statistics.median(row["documents_per_second"] for row in rows.values() if row["case"] == case))

    def theirs(case, peer):
        row = rows.get((case, peer))
        return NOTHING if row is None else short(row["ratio"])

    lines = [[case, ours(case), *(theirs(case, peer) for peer in peers)] for case in cases]
    return table_of(["model", "bough, documents/s", *peers], lines) + f"\n\nMeasured on {recorded['machine']}.\n"


TABLES = [
    (ROOT / "README.md", "attention", peers_table),
    (ROOT / "kernels" / "attention" / "README.md", "attention_ablation", ablation_table),
    (ROOT / "tools" / "bench" / "README.md", "text_classification", training_table),
]


def with_tables():
    """Each README as it is and as it should be."""
    for readme, results, make in TABLES:
        text = readme.read_text()
        before, begin, rest = text.partition(BEGIN + "\n")
        _, end, after = rest.partition(END)
        if not begin or not end:
            sys.exit(f"{readme} has no table between '{BEGIN}' and '{END}'")
        path = RESULTS / f"{results}.json"
        table = make(json.loads(path.read_text())) if path.exists() else ""  # until it has been measured
        yield readme, text, before + begin + table + end + after


def write_all():
    for readme, _, wanted in with_tables():
        readme.write_text(wanted)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        for readme, text, wanted in with_tables():
            if text != wanted:
                sys.exit(f"the table in {readme} is not what tools/bench/results says; run tools/bench/readme_table.py")
    else:
        write_all()


if __name__ == "__main__":
    main()
