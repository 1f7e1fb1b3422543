#!/usr/bin/env python3
"""COO to CSC on 20 million random edges: bough against scipy's coo_matrix.tocsc, measured in turns.

Needs numpy and scipy (any environment) and a built bough:
    python tools/bench/peers/graph_conversion_scipy.py build/release/bin/bough
Prints one JSON line. Both sides give rows with sorted sources. bough's time includes the checks of a new graph; scipy's
is tocsc alone. scipy_unsorted_milliseconds is tocsc told that no edge repeats, which leaves rows unsorted.
"""
import json
import statistics
import subprocess
import sys
import time

import numpy
import scipy.sparse

NODES, EDGES, ROUNDS = 1_000_000, 20_000_000, 5


def scipy_milliseconds(values, ends, canonical):
    matrix = scipy.sparse.coo_matrix((values, ends), shape=(NODES, NODES))
    matrix.has_canonical_format = canonical
    start = time.perf_counter()
    matrix.tocsc()
    return 1e3 * (time.perf_counter() - start)


def bough_milliseconds(program):
    output = subprocess.run([program, "bench", "graph_conversion", "--json", "--repeats", "1"], check=True,
                            capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[0])["milliseconds"]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    random = numpy.random.default_rng(1)
    ends = tuple(random.integers(0, NODES, EDGES, dtype=numpy.int32) for _ in range(2))
    values = numpy.arange(EDGES, dtype=numpy.int32)
    ours, peer, unsorted = [], [], []
    for _ in range(ROUNDS):
        ours.append(bough_milliseconds(sys.argv[1]))
        peer.append(scipy_milliseconds(values, ends, canonical=False))
        unsorted.append(scipy_milliseconds(values, ends, canonical=True))
    ours, peer, unsorted = map(statistics.median, (ours, peer, unsorted))
    print(json.dumps({"name": "graph_conversion", "case": "20M random edges to CSC", "milliseconds": ours,
                      "peer": f"scipy {scipy.__version__} tocsc", "peer_milliseconds": peer, "ratio": peer / ours,
                      "scipy_unsorted_milliseconds": unsorted}))


if __name__ == "__main__":
    main()
