"""The torch side of attention.py: PyG's way on edges, FlexAttention with the graph as a mask, SDPA without a graph."""
import served


def pyg(torch, case, bough):
    from torch_geometric.utils import scatter, softmax
    src, dst, relations, nodes, _ = served.edges_of(bough, case)
    source, destination = torch.from_numpy(src).long(), torch.from_numpy(dst).long()
    q, k, v, gradient = served.inputs(torch, nodes)
    leaves = [q, k, v]
    if relations is not None:
        types = torch.from_numpy(relations).long()
        table = torch.randn(int(types.max()) + 1, served.WIDTH)
        leaves.append(table)

    def forward():
        keys = k[source]
        if relations is not None:
            keys = keys + table[types].unsqueeze(1)
        scores = (q[destination] * keys).sum(-1) * served.WIDTH**-0.5
        weights = softmax(scores, destination, num_nodes=nodes)
        return scatter(v[source] * weights.unsqueeze(-1), destination, dim=0, dim_size=nodes)

    return served.both_passes(torch, forward, leaves, gradient)


def heads_first(torch, rows):
    return [x.transpose(0, 1).unsqueeze(0).contiguous() for x in served.inputs(torch, rows)]


def flex(torch, case, bough):
    """Forward only: FlexAttention has no backward pass on the CPU."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    src, dst, _, nodes, _ = served.edges_of(bough, case)
    edges = torch.zeros(nodes, nodes, dtype=torch.bool)
    edges[torch.from_numpy(dst).long(), torch.from_numpy(src).long()] = True
    mask = create_block_mask(lambda b, h, row, column: edges[row, column], None, None, nodes, nodes, device="cpu")
    q, k, v, _ = heads_first(torch, nodes)
    compiled = torch.compile(flex_attention)
    forward = served.both_passes(torch, lambda: compiled(q, k, v, block_mask=mask), [], None)["forward"]
    forward()  # compiles
    return {"forward": forward}


def sdpa(torch, case, bough):
    length = int(case.split(" n=")[1])
    q, k, v, gradient = heads_first(torch, length)
    attend = torch.nn.functional.scaled_dot_product_attention
    return served.both_passes(torch, lambda: attend(q, k, v, is_causal=True), [q, k, v], gradient)


def prepare(peer, case, bough):
    import torch
    return {"pyg": pyg, "flex": flex, "sdpa": sdpa}[peer](torch, case, bough)


served.serve(prepare)
