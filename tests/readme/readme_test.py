"""The README says what the program does: its examples, numbers, picture and table. BOUGH is the program to ask."""
import csv
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
BENCH_README = (ROOT / "tools" / "bench" / "README.md").read_text()
GRAPH_README = (ROOT / "graph" / "README.md").read_text()


def bough(*arguments):
    return subprocess.run([os.environ["BOUGH"], *arguments], check=True, capture_output=True, text=True).stdout


def committed_scores():
    """Mean and deviation by label, as texts show them."""
    with open(ROOT / "tasks/results/default/summary.csv", encoding="utf-8") as file:
        return {row["label"]: (f"{float(row['bpc']):.3f}", f"{float(row['bpc_deviation']):.3f}")
                for row in csv.DictReader(file)}


def in_words(p):
    """As reports show p values."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def differences_from_findings(text, summary):
    """What a text like "ahead in all four comparisons (p = 0.040 at degree 14, 0.002 at 21 against window, 0.003 at the others)"
    says otherwise than the findings do. P values are corrected ones; a degree is that of the nearest point."""
    numbers = {word: number for number, word in enumerate("zero one two three four five six seven eight".split())}
    points = {point["name"]: point for point in summary["points"]}
    left = list(summary["findings"])
    wrong = []
    for word in re.findall(r"ahead in all\s+(\w+)\s+comparisons", text):
        ahead = [finding for finding in left if finding["verdict"] == "ahead"]
        if numbers.get(word) != len(left) or len(ahead) < len(left):
            wrong.append(f"ahead in all {word}: {len(ahead)} of {len(left)}")
    said = re.search(r"p = ((?:(?:< )?0\.\d+\s+at\s+(?:degree\s+)?(?:\d+|the\s+others)(?:\s+against\s+\w+)?(?:,\s+|\s+and\s+)?)+)", text)
    for p, degree, other in re.findall(r"((?:< )?0\.\d+)\s+at\s+(?:degree\s+)?(\d+|the\s+others)(?:\s+against\s+(\w+))?",
                                       said.group(1) if said else ""):
        def is_meant(finding):
            one, kind = points[finding["one"]], points[finding["other"]]["kind"]
            near = not degree.isdigit() or abs(one["degree"] - int(degree)) < 1
            return near and other in ("", kind)

        meant = [finding for finding in left if is_meant(finding)]
        left = [finding for finding in left if finding not in meant]
        wrong += [f"{p} at {degree}: {in_words(finding['corrected_p'])}" for finding in meant if in_words(finding["corrected_p"]) != p]
        if not meant:
            wrong.append(f"{p} at {degree}: there is no such finding")
    return wrong + [f"nothing is said of {finding['one']} against {finding['other']}" for finding in left]


def mean_and_deviation(values):
    return f"{statistics.mean(values):.3f}", f"{statistics.stdev(values):.3f}"


def scores_of_runs(results):
    """Mean and deviation by kind of graph, its number and the length."""
    values = {}
    for run in results["runs"]:
        graph = run["graph"]
        number = {"bpt": "k", "window": "width", "sparse_fixed": "c"}.get(graph["kind"])
        values.setdefault((graph["kind"], graph.get(number), run["length"]), []).append(run["metrics"]["bpc"])
    return {setting: mean_and_deviation(scores) for setting, scores in values.items()}


def scores_of_table(section, length):
    """The same of a table: a column for each pattern, its number there or in the cell, rows by length or by degree."""
    header, *rows = re.findall(r"^\| (.*) \|$", section, re.MULTILINE)
    kinds = {"partition tree": "bpt", "window": "window", "sparse_fixed": "sparse_fixed"}
    scores = {}
    by_length = header.startswith("length")
    columns = [re.fullmatch(r"([a-z_ ]+?)(?: \(.*\)|, (?:k=)?(\d+))?", column).groups() for column in header.split(" | ")[1:]]
    for row in rows:
        first, *cells = (cell.strip() for cell in row.split("|"))
        for (kind, number), cell in zip(columns, cells):
            found = re.fullmatch(r"(?:(full)|(?:k=|c=)?(\d+):?)?\s*(\d\.\d+) ± (\d\.\d+)", cell)
            if not found:
                continue
            full, own, mean, deviation = found.groups()
            own = own or number
            setting = ("full", None) if full else (kinds[kind], int(own))
            scores[(*setting, int(first) if by_length else length)] = (mean, deviation)
    return scores


def without_times(lines):
    return [line for line in lines if "time" not in line]


class Readme(unittest.TestCase):
    def test_commands_print_what_it_shows(self):
        blocks = re.findall(r"```console\n\$ bough (\w+) '([^']+)'\n(.*?)```", README + GRAPH_README, re.DOTALL)
        self.assertTrue(blocks)
        for command, argument, shown in blocks:
            printed = bough(command, argument).splitlines()
            self.assertEqual(without_times(printed), without_times(shown.splitlines()))

    def test_it_opens_with_the_edges_of_the_graph_it_shows(self):
        edges, full = re.search(r"Over 1024 tokens that is ([\d,]+) edges instead of ([\d,]+)\.", README).groups()
        for kind, shown in (("bpt", edges), ("full", full)):
            figures = json.loads(bough("graph", json.dumps({"kind": kind, "length": 1024, "causal": True}), "--json"))
            self.assertEqual(f"{figures['num_edges']:,}", shown)

    def test_tokens_a_second_are_those_of_the_measured_table(self):
        rows = re.findall(r"^\| ?(\d*) ?\| (\w+) \| ([\d.]+), \d+ \| [\d.]+, \d+ \| ([\d.]+), \d+ \|$", BENCH_README, re.MULTILINE)
        lengths = [length for length, _, _, _ in rows]
        _, what, tree, torch = rows[lengths.index("8192") + 1]
        self.assertEqual(what, "training")
        shown = re.search(r"train on (\d+) tokens a\s+second on two cores, where torch with full attention does (\d+)", README)
        self.assertEqual(shown.groups(), (f"{1000 * float(tree):.0f}", f"{1000 * float(torch):.0f}"))

    def test_it_counts_the_built_in_patterns(self):
        shown = re.search(r"the (\d+) built-in attention patterns", README)
        self.assertEqual(int(shown.group(1)), len(json.loads(bough("generators", "--json"))))

    def test_it_lists_every_command(self):
        listed = re.findall(r"^    bough ([\w-]+)", README, re.MULTILINE)
        for command in listed:
            self.assertIn(command, bough("--help"))

    def test_scores_are_those_of_the_committed_run(self):
        scores = committed_scores()
        shown = re.findall(r"\(`([\w-]+)`\)\s+(?:reaches\s+)?(\d\.\d+) ± (\d\.\d+)", README)
        self.assertEqual(len(shown), 2)
        for label, mean, deviation in shown:
            self.assertEqual((mean, deviation), scores[label])

    def test_the_results_list_all_scores_of_the_committed_run(self):
        text = (ROOT / "tasks/results/README.md").read_text()
        section = text[text.index("## default"):text.index("## attention_degree_small")]
        shown = re.findall(r"`([\w-]+)` (\d\.\d+) ± (\d\.\d+)", section)
        self.assertEqual({label: tuple(numbers) for label, *numbers in shown}, committed_scores())

    def test_the_results_say_what_was_found_in_the_committed_run(self):
        summary = ROOT / "tasks/results/default/summary.json"
        if not summary.exists():
            self.skipTest("tasks/results/default has no summary.json")
        text = (ROOT / "tasks/results/README.md").read_text()
        section = text[text.index("## default"):text.index("## attention_degree_small")]
        self.assertEqual(differences_from_findings(section, json.loads(summary.read_text())), [])

    def test_what_is_said_of_findings_is_compared_with_each_of_them(self):
        def finding(one, other, p, verdict="ahead"):
            return {"one": one, "other": other, "corrected_p": p, "verdict": verdict}

        summary = {"points": [{"name": name, "kind": name.partition("-")[0], "degree": degree} for name, degree in (
            ("bpt-k2", 14.1), ("bpt-k4", 21.0), ("bpt-k8", 31.2), ("window-width14", 14.6), ("window-width21", 20.9),
            ("window-width32", 31.9), ("sparse_fixed-c2", 22.4))], "findings": [
                finding("bpt-k2", "window-width14", 0.0399), finding("bpt-k4", "window-width21", 0.0021),
                finding("bpt-k4", "sparse_fixed-c2", 0.0004), finding("bpt-k8", "window-width32", 0.002)]}
        right = ("the tree is ahead in all four comparisons (p = 0.040 at degree 14, < 0.001 at 21 against sparse_fixed, "
                 "0.002 at the others)")
        self.assertEqual(differences_from_findings(right, summary), [])
        for old, new in (("0.040", "0.041"), ("at the others", "at 31"), ("four", "three"), ("< 0.001", "0.002"),
                         ("at degree 14", "at degree 64"), ("p = ", "")):
            self.assertNotEqual(differences_from_findings(right.replace(old, new), summary), [], (old, new))
        summary["findings"][3]["verdict"] = "cannot tell"
        self.assertNotEqual(differences_from_findings(right, summary), [])

    def test_the_tables_of_the_small_studies_are_those_of_their_runs(self):
        text = (ROOT / "tasks/results/README.md").read_text()
        sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE))
        for name, settings in (("attention_degree_small", 8), ("context_length_small", 8)):
            results = json.loads((ROOT / f"tasks/results/{name}/results.json").read_text())
            measured = scores_of_runs(results)
            shown = scores_of_table(sections[name], min(run["length"] for run in results["runs"]))
            self.assertEqual(len(shown), settings)
            self.assertEqual(shown, measured)

    def test_the_table_is_made_of_the_committed_measurements(self):
        subprocess.run([sys.executable, ROOT / "tools/bench/readme_table.py", "--check"], check=True)

    def test_the_picture_is_what_bough_draws(self):
        shown = re.search(r"bough graph '([^']+)' --token (\d+) --svg graph/bpt.svg", GRAPH_README)
        with tempfile.TemporaryDirectory() as folder:
            drawn = pathlib.Path(folder) / "bpt.svg"
            bough("graph", shown.group(1), "--token", shown.group(2), "--svg", str(drawn))
            self.assertEqual(drawn.read_text(), (ROOT / "graph" / "bpt.svg").read_text())

    def test_it_stays_a_page(self):
        self.assertLessEqual(len(README.splitlines()), 122)


if __name__ == "__main__":
    unittest.main()
