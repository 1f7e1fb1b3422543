"""The README says what the program does: its examples, numbers, picture and table. BOUGH is the program to ask."""
import csv
import json
import os
import pathlib
import re
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
