"""The DGL side of attention.py: scores, softmax and weighted sum as operations on edges."""
import os

import served

os.environ.setdefault("DGLBACKEND", "pytorch")


def prepare(peer, case, bough):
    import dgl
    import dgl.ops as ops
    import torch
    src, dst, relations, nodes, _ = served.edges_of(bough, case)
    graph = dgl.graph((torch.from_numpy(src.copy()), torch.from_numpy(dst.copy())), num_nodes=nodes)
    graph.create_formats_()
    q, k, v, gradient = served.inputs(torch, nodes)
    leaves = [q, k, v]
    if relations is not None:
        types = torch.from_numpy(relations.copy()).long()
        table = torch.randn(int(types.max()) + 1, served.WIDTH)
        leaves.append(table)

    def forward():
        scores = ops.u_dot_v(graph, k, q)
        if relations is not None:
            # One vector of an edge for all heads.
            scores = scores + ops.e_dot_v(graph, table[types].unsqueeze(1), q)
        weights = ops.edge_softmax(graph, scores * served.WIDTH**-0.5)
        return ops.u_mul_e_sum(graph, v, weights)

    return served.both_passes(torch, forward, leaves, gradient)


served.serve(prepare)
