"""What the sides of the peers share: the graphs of the cases, timing, and answering one order after the other."""
import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HEADS, WIDTH = 8, 64
LARGE_NODES, LARGE_EDGES = 100_000, 2_000_000


def built(bough, specification):
    import numpy
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graph.npz")
        subprocess.run([bough, "graph", json.dumps(specification), "--npz", path], check=True)
        return dict(numpy.load(path))


def edges_of(bough, case):
    """src, dst, relations (or None), number of nodes, number of tokens."""
    import numpy
    if case in ("random", "power_law"):
        random = numpy.random.default_rng(1)
        skew = 1 if case == "random" else 3
        src, dst = ((random.random(LARGE_EDGES) ** skew * LARGE_NODES).astype(numpy.int32) for _ in range(2))
        return src, dst, None, LARGE_NODES, LARGE_NODES
    kind, length = case.split(" n=")
    specification = {"kind": "full", "length": int(length), "causal": True}
    if kind.startswith("bpt_k"):
        specification.update(kind="bpt", k=int(kind.removeprefix("bpt_k")), alignment="slot")
    graph = built(bough, specification)
    relations = graph["edge_types"] if kind.startswith("bpt_k") else None
    return graph["src"], graph["dst"], relations, int(graph["dst"].max()) + 1, int(length)


def median_of(call, repeats):
    """The first call is not counted, unless it shows that the others would take too long."""
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
        if times[0] > 1e4:
            break
    return statistics.median(times[1:] or times)


@contextlib.contextmanager
def orders():
    """Yields the orders of standard input and a function that answers one; whatever libraries print goes elsewhere."""
    answers = os.dup(1)
    os.dup2(2, 1)
    with os.fdopen(answers, "w") as out:
        yield map(json.loads, sys.stdin), lambda answer: print(json.dumps(answer), file=out, flush=True)


def limit_memory(share=0.9):
    """Lets allocations fail that would not fit, before the kernel ends processes of others to make room."""
    with open("/proc/meminfo", encoding="utf-8") as lines:
        available = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    resource.setrlimit(resource.RLIMIT_DATA, (int(share * available),) * 2)


def reason_of(error):
    """Why a peer cannot compute a case, in the words of the tables; None if the error is a mistake of ours."""
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
        return "out of memory"
    return "not supported" if "NotImplementedError" in f"{type(error).__name__} {error}" else None


def serve(prepare):
    """prepare(peer, case, bough) gives {pass: call}, and under "preparation" milliseconds of what is done once for each
    graph, if that is part of the peer's work; the threads come last on the command line. Answers the median of a pass,
    or why there is none.
    """
    with orders() as (received, answer):
        import torch
        peer, case, bough, threads = sys.argv[1:]
        torch.set_num_threads(int(threads))
        torch.manual_seed(1)
        limit_memory()
        calls = {}

        def measured(order):
            if not calls:
                calls.update(prepare(peer, case, bough))
            return {"milliseconds": median_of(calls[order["pass"]], order["repeats"]),
                    "preparation_milliseconds": calls.get("preparation")}

        for order in received:
            try:
                answer(measured(order))
            except (MemoryError, RuntimeError) as error:
                reason = reason_of(error)
                if reason is None:
                    raise
                print(f"{peer}, {case} {order['pass']}: {reason}: {str(error).strip().splitlines()[-1]}", file=sys.stderr)
                answer({"milliseconds": None, "reason": reason})


def inputs(torch, rows):
    """q, k, v and the gradient of the result; sizes of the first two dimensions are swapped by who needs it."""
    return [torch.randn(rows, HEADS, WIDTH) for _ in range(4)]


def both_passes(torch, forward, leaves, gradient):
    def without_tape():
        with torch.no_grad():
            forward()

    def both():
        for leaf in leaves:
            leaf.requires_grad_(True)
        torch.autograd.grad(forward(), leaves, gradient)

    return {"forward": without_tape, "forward+backward": both}
