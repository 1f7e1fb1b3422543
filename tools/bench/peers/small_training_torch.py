"""The torch side of small_training.py: the same character model with dense attention masked by the graph."""
import json
import sys
import time

import served


def build(torch, graph, model, vocabulary, relations, scored):
    """A module: characters [batch, length] -> scores [batch, length, vocabulary]. Relations count only if `scored`."""
    from torch import nn
    from torch.nn import functional
    dim, heads = model["dim"], model["heads"]
    source, destination, types, nodes, length = graph
    allowed = torch.zeros(nodes, nodes, dtype=torch.bool)
    allowed[destination, source] = True
    relation = torch.zeros(nodes, nodes, dtype=torch.long)
    relation[destination, source] = types
    minus_infinity = torch.zeros(nodes, nodes).masked_fill(~allowed, float("-inf"))

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.project = nn.Linear(dim, 3 * dim, bias=False)
            self.join = nn.Linear(dim, dim, bias=False)
            self.relation_keys = nn.Parameter(0.1 * torch.randn(relations, dim // heads))
            self.inner, self.outer = nn.Linear(dim, model["ffn"]), nn.Linear(model["ffn"], dim)
            self.first_norm, self.second_norm = nn.LayerNorm(dim), nn.LayerNorm(dim)

        def forward(self, x):
            batch = x.shape[0]
            rows = self.project(self.first_norm(x)).view(batch, nodes, 3, heads, dim // heads)
            q, k, v = rows.permute(2, 0, 3, 1, 4)
            if scored:
                by_relation = (q @ self.relation_keys.T).gather(-1, relation.expand(batch, heads, nodes, nodes))
                scores = (q @ k.transpose(-1, -2) + by_relation) * (dim // heads) ** -0.5
                attended = functional.softmax(scores + minus_infinity, -1) @ v
            else:
                attended = functional.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
            x = x + self.join(attended.transpose(1, 2).reshape(batch, nodes, dim))
            return x + self.outer(functional.relu(self.inner(self.second_norm(x))))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(vocabulary, dim)
            # With torch's own start the tied scores are so large that gradients are denormal and ten times slower.
            nn.init.normal_(self.embedding.weight, std=dim ** -0.5)
            self.layers = nn.ModuleList(Layer() for _ in range(model["layers"]))
            self.norm = nn.LayerNorm(dim)

        def forward(self, characters):
            tokens = self.embedding(characters) * dim ** 0.5
            x = torch.cat([tokens, tokens.new_zeros(tokens.shape[0], nodes - length, dim)], 1)
            for layer in self.layers:
                x = layer(x)
            return self.norm(x[:, :length]) @ self.embedding.weight.T

    return Model()


def main():
    with served.orders() as (received, answer):
        import torch
        bough, threads, shape = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
        torch.set_num_threads(threads)
        torch.manual_seed(1)
        edges = served.built(bough, shape["graph"])
        source, destination, types = (torch.from_numpy(edges[name]).long() for name in ("src", "dst", "edge_types"))
        nodes, length, batch = int(destination.max()) + 1, shape["graph"]["length"], shape["batch"]
        relations = int(types.max()) + 1
        graph = (source, destination, types, nodes, length)
        without = sum(p.numel() for p in build(torch, graph, shape["model"], 0, relations, True).parameters())
        models = {}
        for order in received:
            scored = order["relations"]
            if scored not in models:
                # What is left are the embeddings.
                vocabulary, rest = divmod(order["parameters"] - without, shape["model"]["dim"])
                if rest != 0 or not 0 < vocabulary <= 256:
                    sys.exit(f"the models differ: {order['parameters']} parameters, here {without} and embeddings")
                model = build(torch, graph, shape["model"], vocabulary, relations, scored)
                models[scored] = (model, torch.optim.Adam(model.parameters(), lr=1e-3))
                characters = torch.randint(vocabulary, (batch, length))
            model, optimizer = models[scored]

            def step():
                scores = model(characters)
                loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), characters.flatten())
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()

            step()
            start = time.perf_counter()
            for _ in range(order["steps"]):
                step()
            answer({"tokens_per_second": order["steps"] * batch * length / (time.perf_counter() - start)})


if __name__ == "__main__":
    main()
