"""The DGL side of message_passing.py: reads groups to measure from standard input, answers with one JSON line each."""
import functools
import json
import os
import statistics
import subprocess
import sys
import time

os.environ.setdefault("DGLBACKEND", "pytorch")
answers = os.dup(1)  # DGL prints hints to standard output
os.dup2(2, 1)

import dgl  # noqa: E402
import dgl.ops as ops  # noqa: E402
import numpy  # noqa: E402
import torch  # noqa: E402

LARGE_NODES, LARGE_EDGES = 100_000, 2_000_000
LARGEST_VALUES = 5 << 29


def bpt(bough, k):
    spec = json.dumps({"kind": "bpt", "k": k, "alignment": "slot", "length": 8192, "causal": True})
    graph = json.loads(subprocess.run([bough, "graph", spec, "--edges"], check=True, capture_output=True).stdout)
    edges = numpy.array(graph["edges"], dtype=numpy.int32)
    return edges[:, 0], edges[:, 1], graph["num_nodes"]


def drawn(skew):
    random = numpy.random.default_rng(1)
    src, dst = ((random.random(LARGE_EDGES) ** skew * LARGE_NODES).astype(numpy.int32) for _ in range(2))
    return src, dst, LARGE_NODES


@functools.lru_cache(maxsize=1)
def graph_named(bough, name):
    src, dst, nodes = bpt(bough, int(name.removeprefix("bpt_k"))) if name.startswith("bpt") else drawn(
        1 if name == "random" else 3)
    graph = dgl.graph((torch.from_numpy(src.copy()), torch.from_numpy(dst.copy())), num_nodes=nodes)
    graph.create_formats_()
    return graph


def median_of(call, repeats):
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def measure(graph, heads, width, repeats, wanted):
    nodes, edges = graph.num_nodes(), graph.num_edges()
    u, v = torch.randn(nodes, heads, width), torch.randn(nodes, heads, width)
    e = torch.rand(edges, heads, 1) + 0.5
    cases = {
        "u_dot_v": (lambda: ops.u_dot_v(graph, u, v), [u, v]),
        "copy_u_sum": (lambda: ops.copy_u_sum(graph, u), [u]),
        "u_mul_e_sum": (lambda: ops.u_mul_e_sum(graph, u, e), [u, e]),
        "copy_u_max": (lambda: ops.copy_u_max(graph, u), [u]),
        "edge_softmax": (lambda: ops.edge_softmax(graph, e), [e]),
    }
    if edges * heads * width * 4 <= LARGEST_VALUES and (wanted("segment_sum") or wanted("segment_sum_backward")):
        values, sizes = torch.randn(edges, heads, width), graph.in_degrees()
        cases["segment_sum"] = (lambda: ops.segment_reduce(sizes, values, "sum"), [values])
    times = {}
    for name, (forward, inputs) in cases.items():
        if wanted(name):
            times[name] = median_of(forward, repeats)
        if not wanted(name + "_backward"):
            continue
        for tensor in inputs:
            tensor.requires_grad_(True)
        result = forward()
        gradient = torch.ones_like(result)
        times[name + "_backward"] = median_of(
            lambda: torch.autograd.grad(result, inputs, gradient, retain_graph=True), repeats)
        for tensor in inputs:
            tensor.requires_grad_(False)
    return times


def main():
    bough, threads = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(threads)
    with os.fdopen(answers, "w") as out:
        for line in sys.stdin:
            order = json.loads(line)
            name, shape = order["group"].split()
            heads, width = map(int, shape.split("x"))
            times = measure(graph_named(bough, name), heads, width, order["repeats"],
                            lambda case: f"{order['group']} {case}".startswith(order["only"]))
            print(json.dumps(times), file=out, flush=True)


if __name__ == "__main__":
    main()
