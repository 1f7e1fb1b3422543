"""The DGL side of message_passing.py: reads groups to measure from standard input, answers with one JSON line each."""
import functools
import os
import sys

import served
from served import median_of

# As bough has it: a row for each edge, its gradient and as much again.
LARGEST_VALUES = os.sysconf("SC_PHYS_PAGES") // 3 * os.sysconf("SC_PAGESIZE")


@functools.lru_cache(maxsize=1)
def graph_named(bough, name):
    import dgl
    import torch
    src, dst, _, nodes, _ = served.edges_of(bough, name if name in ("random", "power_law") else f"{name} n=8192")
    graph = dgl.graph((torch.from_numpy(src.copy()), torch.from_numpy(dst.copy())), num_nodes=nodes)
    graph.create_formats_()
    return graph


def measure(graph, heads, width, repeats, wanted):
    import dgl.ops as ops
    import torch
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
    os.environ.setdefault("DGLBACKEND", "pytorch")
    with served.orders() as (received, answer):
        import torch
        bough, threads = sys.argv[1], int(sys.argv[2])
        torch.set_num_threads(threads)
        for order in received:
            name, shape = order["group"].split()
            heads, width = map(int, shape.split("x"))
            answer(measure(graph_named(bough, name), heads, width, order["repeats"],
                           lambda case: f"{order['group']} {case}".startswith(order["only"])))


if __name__ == "__main__":
    main()
