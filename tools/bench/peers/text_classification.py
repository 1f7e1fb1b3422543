#!/usr/bin/env python3
"""Training of text classification over partition graphs, documents a second: bough against DGL 2.1, in one run.

    python3 tools/bench/peers/text_classification.py build/release/bin/bough [--only CASE] [--rounds N] [--record]

Texts as long as the reviews of IMDB, BPT k = 4 in both directions, relation keys, read-out at the root, frozen
embeddings of width 100, Adam, 32 texts a step. bough trains by `bough run`, which makes its graphs and batches
while it trains; that is in its time. DGL trains the same model on the same texts in batches of the same rule, and
before anything is timed its weights are set to those that bough has trained and its loss on test texts is compared
with bough's. Both sides take turns; medians count. Installs DGL on first use (see environments.py).

What DGL is given: the graph of each length is built once, batches are joined with dgl.batch and have all their sparse
formats before the clock starts (that time is reported apart), ids are int32, q, k and v are one product, and relation
scores are a small product and a lookup, which is faster there than vectors on edges. One of its two rows also computes
only the roots in the last layer.

Lengths are drawn from the log-normal distribution that fits IMDB; --texts FILE takes real reviews instead. --record
writes tools/bench/results/text_classification.json and its table in tools/bench/README.md.
"""
import argparse
import gzip
import itertools
import json
import math
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile

from workers import Worker

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import measured  # noqa: E402
import readme_table  # noqa: E402

DROPOUT = {"dropout": 0.1, "attention_dropout": 0.3, "input_dropout": 0.5, "output_dropout": 0.5}
SHARED = {"norm": "post", "input_norm": True, "readout": "root"}
SMALL = {**SHARED, "layers": 4, "dim": 96, "heads": 4, "ffn": 192}
CASES = {
    "4 layers of 96": {**SMALL, **DROPOUT},
    "4 layers of 96, no dropout": {**SMALL, **dict.fromkeys(DROPOUT, 0)},
    "5 layers of 300": {**SHARED, **DROPOUT, "layers": 5, "dim": 300, "heads": 6, "ffn": 600},  # the paper's for IMDB
}
PEERS = {"DGL 2.1": False, "DGL 2.1, last layer for roots alone": True}
GRAPH = {"kind": "bpt", "k": 4, "alignment": "pair"}
TRAIN = {"epochs": 1, "texts_per_batch": 32, "evaluate_every": 1_000_000, "optimizer": "adam", "learning_rate": 1e-4,
         "schedule": "constant", "warmup": 0, "clip": 0, "beta1": 0.9, "beta2": 0.98, "epsilon": 1e-9}
# Mean and deviation of the logarithm of the lengths of IMDB's training texts, the shortest and the longest of them.
LENGTH_MEAN, LENGTH_DEVIATION, SHORTEST, LONGEST = 5.3725, 0.6411, 11, 2711
WORDS, EMBEDDING_WIDTH, TEST_TEXTS = 5000, 100, 64
TOLERANCE = 1e-5  # of the losses, a share


def made_texts(count, generator):
    """(class, words) of each text; frequent words as Zipf has it."""
    weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(WORDS)))
    for number in range(count):
        length = math.exp(generator.gauss(LENGTH_MEAN, LENGTH_DEVIATION))
        words = generator.choices(range(WORDS), cum_weights=weights, k=round(min(max(length, SHORTEST), LONGEST)))
        yield number % 2, [f"w{word}" for word in words]


def real_texts(path, count, generator):
    """The same from a file of `label, rating, id, flag, text`, cut so that every tokenizer finds the same words."""
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        lines = generator.sample(file.readlines(), count)
    for line in lines:
        label, _, _, _, text = line.split("\t", 4)
        yield int(label), re.findall(r"[a-z0-9]+|[.,!?]", text.replace("<br />", " ").lower()) or ["."]


def write_texts(folder, documents, path):
    """train.tsv, valid.tsv, test.tsv and vectors.txt."""
    generator = random.Random(1)
    count = documents + 2 * TEST_TEXTS
    texts = list(real_texts(path, count, generator) if path else made_texts(count, generator))
    files = (("valid", texts[:TEST_TEXTS]), ("test", texts[TEST_TEXTS:2 * TEST_TEXTS]), ("train", texts[2 * TEST_TEXTS:]))
    for name, part in files:
        lines = (f"{label}\t{' '.join(words)}\n" for label, words in part)
        (folder / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
    with open(folder / "vectors.txt", "w", encoding="utf-8") as file:
        for word in sorted({word for _, words in texts for word in words}):
            vector = " ".join(f"{generator.gauss(0, 0.4):.4f}" for _ in range(EMBEDDING_WIDTH))
            file.write(f"{word} {vector}\n")


def bough_run(arguments, folder, model):
    """What results.json has of the run, and the file with its weights."""
    files = {name: f"{name}.tsv" for name in ("train", "valid", "test")}
    task = {"kind": "text_classification", "format": "tsv", **files, "embeddings": "vectors.txt"}
    experiment = {"name": "peer", "task": task, "model": model, "graph": GRAPH, "train": TRAIN}
    out = pathlib.Path(tempfile.mkdtemp(dir=folder))
    command = [arguments.bough, "--threads", str(arguments.threads), "run", json.dumps(experiment), "--jobs", "1",
               "--data", str(folder), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"bough failed: {done.stderr}")
    [weights] = out.glob("runs/*/best.safetensors")
    return json.loads((out / "results.json").read_text())["runs"][0], weights


def require_same_model(run, answer):
    """Ends the program if the models differ."""
    if run["parameters"] != answer["parameters"]:
        sys.exit(f"bough has {run['parameters']} parameters, DGL {answer['parameters']}")
    ours, theirs = run["metrics"]["loss"], answer["loss"]
    if not abs(ours - theirs) <= TOLERANCE * abs(ours):
        sys.exit(f"with the same weights bough has a loss of {ours}, DGL of {theirs}")


def measure(case, folder, arguments):
    """A row for each way of writing the model with DGL."""
    worker = Worker("dgl", "text_classification_dgl.py", arguments.bough, arguments.threads, folder,
                    json.dumps({"graph": GRAPH, "model": CASES[case], "train": TRAIN}))
    ours, theirs = [], {peer: [] for peer in PEERS}
    for _ in range(arguments.rounds):
        run, weights = bough_run(arguments, folder, CASES[case])
        ours.append(arguments.documents / run["train_seconds"])
        for peer, only_roots in PEERS.items():
            require_same_model(run, worker.ask(weights=str(weights), only_roots=only_roots))
            theirs[peer].append(worker.ask(only_roots=only_roots))
    worker.close()
    mine = statistics.median(ours)
    for peer, answers in theirs.items():
        speed = statistics.median(answer["documents_per_second"] for answer in answers)
        yield {"name": "text_classification", "case": case, "peer": peer, "documents_per_second": mine,
               "peer_documents_per_second": speed, "ratio": mine / speed,
               "peer_batching_milliseconds": answers[0]["batching_milliseconds"],
               "texts": "real" if arguments.texts else "made up"}


def report(row, as_json):
    if as_json:
        print(json.dumps(row), flush=True)
    else:
        print(f"{row['case']:<28}{row['documents_per_second']:>9.1f} documents/s"
              f"{row['peer_documents_per_second']:>9.2f} documents/s {row['peer']:<36}{row['ratio']:>6.1f}x, "
              f"and {row['peer_batching_milliseconds']:.0f} ms a batch to join graphs", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bough", help="the program")
    parser.add_argument("--rounds", type=int, default=3, help="turns of both sides")
    parser.add_argument("--documents", type=int, default=512, help="texts of a turn, each of which is read once")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--texts", type=pathlib.Path, help="file of reviews in the format imdb, plain or .gz")
    parser.add_argument("--only", default="", help="cases whose name begins with this: " + "; ".join(CASES))
    parser.add_argument("--record", action="store_true", help="keep the results and write the README's table from them")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    arguments = parser.parse_args()
    if not any(case.startswith(arguments.only) for case in CASES):
        parser.error(f"cases are {'; '.join(CASES)}")
    if arguments.record and arguments.texts:
        parser.error("the table is of made-up texts; leave out --record or --texts")

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_texts(folder, arguments.documents, arguments.texts)
        for case in (case for case in CASES if case.startswith(arguments.only)):
            for row in measure(case, folder, arguments):
                report(row, arguments.json)
                if arguments.record:
                    measured.record("text_classification",
                                    "python3 tools/bench/peers/text_classification.py build/release/bin/bough --record",
                                    arguments.threads, [row], identity=("case", "peer"))
    if arguments.record:
        readme_table.write_all()


if __name__ == "__main__":
    main()
