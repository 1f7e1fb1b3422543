"""The DGL side of text_classification.py: the same model with operations on edges, trained with torch."""
import dataclasses
import json
import os
import random
import sys
import time

import served

os.environ.setdefault("DGLBACKEND", "pytorch")
BUCKET_BATCHES, MOST_BUCKETS = 8, 64  # of bough's order of batches
UNKNOWN, FIRST_WORD = 0, 2  # numbers of words


def read_texts(path):
    """(class, words) of each text."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            label, words = line.rstrip("\n").split("\t", 1)
            yield label, words.split(" ")


def read_weights(torch, path):
    """Tensors by name, and the notes beside them, of a safetensors file."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        content = bytearray(file.read())
    notes = header.pop("__metadata__", {})
    types = {"F32": torch.float32, "I32": torch.int32, "I64": torch.int64}

    def tensor(entry):
        begin, end = entry["data_offsets"]
        kind = types[entry["dtype"]]
        return torch.frombuffer(content, dtype=kind, offset=begin, count=(end - begin) // kind.itemsize).view(entry["shape"])

    return {name: tensor(entry) for name, entry in header.items()}, notes


def batches_of(lengths, size):
    """Texts of each step by bough's rule: buckets of texts of about equal length, shuffled, and batches of a bucket."""
    shuffle = random.Random(1).shuffle
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    buckets = min(max(-(-len(order) // size) // BUCKET_BATCHES, 1), MOST_BUCKETS)
    batches = []
    for bucket in range(buckets):
        texts = order[len(order) * bucket // buckets:len(order) * (bucket + 1) // buckets]
        shuffle(texts)
        batches += [texts[begin:begin + size] for begin in range(0, len(texts), size)]
    shuffle(batches)
    return batches


@dataclasses.dataclass
class Edges:
    """Edges of a batch, and where the score of each stands in a table of destinations times relations."""
    graph: object
    places: object


@dataclasses.dataclass
class Batch:
    edges: Edges
    edges_to_roots: Edges  # from tokens
    token_rows: object
    root_rows: object
    words: object = None
    labels: object = None


class Graphs:
    """Graphs of single texts, each built once, and batches of them."""

    def __init__(self, bough, pattern):
        self.bough, self.pattern, self.known, self.num_relations = bough, pattern, {}, None

    def of_length(self, length):
        """All edges, and those of the root from the tokens; with relations."""
        import dgl
        import torch
        if length not in self.known:
            edges = served.built(self.bough, {**self.pattern, "length": length})
            src, dst, types = (torch.from_numpy(edges[name]).int() for name in ("src", "dst", "edge_types"))
            root = int(dst.max())
            whole = dgl.graph((src, dst), num_nodes=root + 1, idtype=torch.int32)
            whole.edata["relation"] = types
            last = dst == root
            to_root = dgl.heterograph({("token", "to", "root"): (src[last], torch.zeros_like(src[last]))},
                                      {"token": length, "root": 1}, idtype=torch.int32)
            to_root.edata["relation"] = types[last]
            self.known[length] = whole, to_root
        return self.known[length]

    def edges(self, graphs):
        import dgl
        graph = dgl.batch(graphs)
        graph.create_formats_()
        places = graph.edges()[1].long() * self.num_relations + graph.edata.pop("relation").long()
        return Edges(graph, places)

    def joined(self, lengths):
        """The batch of texts of these lengths, without words and labels."""
        import torch
        edges, edges_to_roots = map(self.edges, zip(*(self.of_length(length) for length in lengths)))
        ends = edges.graph.batch_num_nodes().long().cumsum(0)
        begins = [0, *ends[:-1].tolist()]
        token_rows = torch.cat([torch.arange(begin, begin + length) for begin, length in zip(begins, lengths)])
        return Batch(edges, edges_to_roots, token_rows, ends - 1)


def build(weights, model):
    """The classifier with bough's names of its parts, so that it takes these weights: (batch, only_roots) -> scores."""
    import dgl.ops as ops
    import torch
    from torch import nn
    from torch.nn import functional
    dim, heads = model["dim"], model["heads"]

    class Attention(nn.Module):
        def __init__(self, num_relations):
            super().__init__()
            self.query, self.key, self.value, self.output = (nn.Linear(dim, dim, bias=False) for _ in range(4))
            self.relation_keys = nn.Parameter(torch.zeros(num_relations, dim // heads))
            self.drop = nn.Dropout(model["attention_dropout"])

        def project(self, x, *parts):
            """One product for all parts."""
            return functional.linear(x, torch.cat([part.weight for part in parts])).chunk(len(parts), 1)

        def attend(self, edges, q, k, v):
            q, k, v = (x.reshape(-1, heads, dim // heads) for x in (q, k, v))
            by_relation = (q @ self.relation_keys.T).transpose(1, 2).reshape(-1, heads)
            scores = ops.u_dot_v(edges.graph, k, q) + by_relation.index_select(0, edges.places).unsqueeze(-1)
            shares = ops.edge_softmax(edges.graph, scores * (dim // heads) ** -0.5)
            return self.output(ops.u_mul_e_sum(edges.graph, v, self.drop(shares)).flatten(1))

    class FeedForward(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.outer = nn.Linear(dim, model["ffn"]), nn.Linear(model["ffn"], dim)
            self.drop = nn.Dropout(model["dropout"])

        def forward(self, x):
            return self.outer(self.drop(functional.relu(self.inner(x))))

    class Layer(nn.Module):
        def __init__(self, num_relations):
            super().__init__()
            self.attention, self.feed_forward = Attention(num_relations), FeedForward()
            self.attention_norm, self.feed_forward_norm = nn.LayerNorm(dim), nn.LayerNorm(dim)
            self.drop = nn.Dropout(model["dropout"])

        def update(self, x, attended):
            z = self.attention_norm(x + self.drop(attended))
            return self.feed_forward_norm(z + self.drop(self.feed_forward(z)))

        def forward(self, batch, x):
            own = self.attention
            return self.update(x, own.attend(batch.edges, *own.project(x, own.query, own.key, own.value)))

        def at_roots(self, batch, x):
            own, roots = self.attention, x[batch.root_rows]
            k, v = own.project(x[batch.token_rows], own.key, own.value)
            return self.update(roots, own.attend(batch.edges_to_roots, own.query(roots), k, v))

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("embeddings", torch.zeros_like(weights["embeddings"]))
            self.projection = nn.Linear(self.embeddings.shape[1], dim)
            self.input = nn.ModuleDict({"norm": nn.LayerNorm(dim)})
            relations = weights["transformer.layer0.attention.relation_keys"].shape[0]
            self.transformer = nn.ModuleDict({f"layer{i}": Layer(relations) for i in range(model["layers"])})
            self.output = nn.Linear(dim, weights["output.weight"].shape[0])
            self.drop_input, self.drop_output = nn.Dropout(model["input_dropout"]), nn.Dropout(model["output_dropout"])

        def forward(self, batch, only_roots):
            tokens = self.input["norm"](self.drop_input(self.projection(self.embeddings[batch.words])))
            x = tokens.new_zeros(batch.edges.graph.num_nodes(), dim).index_copy(0, batch.token_rows, tokens)
            *layers, last = self.transformer.values()
            for layer in layers:
                x = layer(batch, x)
            roots = last.at_roots(batch, x) if only_roots else last(batch, x)[batch.root_rows]
            return self.output(self.drop_output(roots))

    classifier = Classifier()
    classifier.load_state_dict(weights)
    return classifier


class Side:
    """Texts, model and batches."""

    def __init__(self, bough, folder, settings):
        self.settings = settings
        self.graphs = Graphs(bough, settings["graph"])
        self.texts = {name: list(read_texts(f"{folder}/{name}.tsv")) for name in ("train", "test")}
        self.batches, self.batching_milliseconds = None, None

    def load(self, path):
        """Takes the weights and says how good they are."""
        import torch
        weights, notes = read_weights(torch, path)
        self.classes = json.loads(notes["labels"])
        self.numbers = {word: number for number, word in enumerate(notes["words"].splitlines(), FIRST_WORD)}
        self.model = build(weights, self.settings["model"])
        if self.batches is None:
            self.graphs.num_relations = weights["transformer.layer0.attention.relation_keys"].shape[0]
            self.make_batches()

    def make_batches(self):
        """Of the training texts. Graphs of single texts, which training needs once, are not in the time."""
        texts = self.texts["train"]
        lengths = [len(words) for _, words in texts]
        for length in lengths:
            self.graphs.of_length(length)
        start = time.perf_counter()
        self.batches = [self.batch([texts[text] for text in chosen])
                        for chosen in batches_of(lengths, self.settings["train"]["texts_per_batch"])]
        self.batching_milliseconds = 1e3 * (time.perf_counter() - start) / len(self.batches)

    def batch(self, texts):
        import torch
        batch = self.graphs.joined([len(words) for _, words in texts])
        batch.words = torch.tensor([self.numbers.get(word, UNKNOWN) for _, words in texts for word in words])
        batch.labels = torch.tensor([self.classes.index(label) for label, _ in texts])
        return batch

    def loss(self, batch, only_roots):
        import torch
        return torch.nn.functional.cross_entropy(self.model(batch, only_roots), batch.labels)

    def score(self, only_roots):
        """Mean loss of the test texts."""
        import torch
        self.model.eval()
        with torch.no_grad():
            loss = self.loss(self.batch(self.texts["test"]), only_roots).item()
        self.model.train()
        return {"loss": loss, "parameters": sum(parameter.numel() for parameter in self.model.parameters())}

    def train(self, only_roots):
        """Reads every training text once, after a first step that is not counted."""
        import torch
        train = self.settings["train"]
        optimizer = torch.optim.Adam(self.model.parameters(), lr=train["learning_rate"],
                                     betas=(train["beta1"], train["beta2"]), eps=train["epsilon"])

        def step(batch):
            loss = self.loss(batch, only_roots)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss.item()

        step(self.batches[0])
        start = time.perf_counter()
        for batch in self.batches:
            step(batch)
        seconds = time.perf_counter() - start
        return {"documents_per_second": len(self.texts["train"]) / seconds,
                "batching_milliseconds": self.batching_milliseconds}


def main():
    with served.orders() as (received, answer):
        import torch
        bough, threads, folder, settings = sys.argv[1:]
        torch.set_num_threads(int(threads))
        torch.manual_seed(1)
        side = Side(bough, folder, json.loads(settings))
        for order in received:
            if "weights" in order:
                side.load(order["weights"])
                answer(side.score(order["only_roots"]))
            else:
                answer(side.train(order["only_roots"]))


if __name__ == "__main__":
    main()
