"""The torch side of attention.py: PyG's way on edges, FlexAttention with the graph as a mask, SDPA without a graph."""
import time

import served


def pyg(torch, case, bough):
    """Like PyG's TransformerConv without its projections: relation keys are the features of edges."""
    from torch_geometric.nn import MessagePassing
    from torch_geometric.utils import softmax
    src, dst, relations, nodes, _ = served.edges_of(bough, case)
    edges = torch.stack([torch.from_numpy(src).long(), torch.from_numpy(dst).long()])
    q, k, v, gradient = served.inputs(torch, nodes)
    leaves = [q, k, v]
    if relations is not None:
        types = torch.from_numpy(relations).long()
        table = torch.randn(int(types.max()) + 1, served.WIDTH)
        leaves.append(table)

    class Attention(MessagePassing):
        def __init__(self):
            super().__init__(aggr="add", node_dim=0)

        def forward(self):
            relation_keys = None if relations is None else table[types].unsqueeze(1)
            return self.propagate(edges, q=q, k=k, v=v, relation_keys=relation_keys, size=(nodes, nodes))

        def message(self, q_i, k_j, v_j, relation_keys, index, ptr, size_i):
            if relation_keys is not None:
                k_j = k_j + relation_keys
            weights = softmax((q_i * k_j).sum(-1) * served.WIDTH**-0.5, index, ptr, size_i)
            return v_j * weights.unsqueeze(-1)

    return served.both_passes(torch, Attention(), leaves, gradient)


def heads_first(torch, rows):
    return [x.transpose(0, 1).unsqueeze(0).contiguous() for x in served.inputs(torch, rows)]


def flex(torch, case, bough):
    """Without relations. The mask is made once for each graph, so it is timed apart; compiling is not timed."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    src, dst, _, nodes, _ = served.edges_of(bough, case)
    source, destination = torch.from_numpy(src).long(), torch.from_numpy(dst).long()

    def mask_of(allowed):
        return create_block_mask(lambda b, h, row, column: allowed[row, column], None, None, *allowed.shape, device="cpu")

    mask_of(torch.ones(128, 128, dtype=torch.bool))  # loads what torch loads late
    start = time.perf_counter()
    edges = torch.zeros(nodes, nodes, dtype=torch.bool)
    edges[destination, source] = True
    mask = mask_of(edges)
    preparation = 1e3 * (time.perf_counter() - start)
    q, k, v, gradient = heads_first(torch, nodes)
    compiled = torch.compile(flex_attention)
    passes = served.both_passes(torch, lambda: compiled(q, k, v, block_mask=mask), [q, k, v], gradient)
    passes["forward"]()  # compiles
    return {**passes, "preparation": preparation}


def sdpa(torch, case, bough):
    length = int(case.split(" n=")[1])
    q, k, v, gradient = heads_first(torch, length)
    attend = torch.nn.functional.scaled_dot_product_attention
    return served.both_passes(torch, lambda: attend(q, k, v, is_causal=True), [q, k, v], gradient)


def prepare(peer, case, bough):
    import torch
    return {"pyg": pyg, "flex": flex, "sdpa": sdpa}[peer](torch, case, bough)


served.serve(prepare)
