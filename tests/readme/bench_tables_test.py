"""Tables that scripts write from recorded measurements say what was measured, and why something was not."""
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "bench"))
import measured  # noqa: E402
import readme_table  # noqa: E402


def row(case, peer, ours=None, theirs=None, **more):
    times = {} if ours is None else {"milliseconds": ours, "peer_milliseconds": theirs, "ratio": theirs / ours}
    return {"case": case, "peer": peer, **times, **more}


class PeersTable(unittest.TestCase):
    def line_of(self, *rows):
        return readme_table.peers_table({"machine": "a machine", "results": list(rows)}).splitlines()[2]

    def test_a_cell_has_both_passes(self):
        line = self.line_of(row("random forward", "DGL 2.1", 10, 58), row("random forward+backward", "DGL 2.1", 20, 320))
        self.assertIn("| 10 / 20 | 5.8 / 16 |", line)

    def test_a_pass_without_a_time_says_why(self):
        line = self.line_of(row("random forward", "PyG 2.8", 10, 50),
                            row("random forward+backward", "PyG 2.8", reason="out of memory"))
        self.assertIn("| 5 / out of memory |", line)

    def test_two_passes_without_a_time_say_it_once(self):
        line = self.line_of(*(row(f"random {which}", "PyG 2.8", reason="out of memory") for which in measured.PASSES))
        self.assertIn("| – | – | out of memory | – | – |", line)

    def test_two_equal_times_stay_two(self):
        line = self.line_of(*(row(f"random {which}", "DGL 2.1", 10, 20) for which in measured.PASSES))
        self.assertIn("| 10 / 10 | 2 / 2 |", line)

    def test_it_names_the_machine_and_what_masks_cost(self):
        text = readme_table.peers_table({"machine": "a machine", "results": [
            row("random forward", "FlexAttention", 1, 2, peer_preparation_milliseconds=2300)]})
        self.assertIn("Measured on a machine.", text)
        self.assertIn("(in the order of rows: 2.3 s)", text)


class AblationTable(unittest.TestCase):
    def test_it_has_a_row_for_each_refinement_in_the_order_measured(self):
        rows = [row(f"random {name} {which}", f"without {name}", 10, theirs) for name, which, theirs in (
            ("tiles", "forward", 20), ("tiles", "forward+backward", 30), ("folding", "forward", 10))]
        lines = readme_table.ablation_table({"machine": "a machine", "results": rows}).splitlines()
        self.assertTrue(lines[2].startswith("| tiles |") and lines[2].endswith("| 2.00 / 3.00 |"))
        self.assertTrue(lines[3].startswith("| folding |") and lines[3].endswith("| 1.00 / – |"))


class TrainingTable(unittest.TestCase):
    def test_it_has_a_row_for_each_model_and_a_column_for_each_peer(self):
        def trained(case, peer, ours, theirs):
            return {"case": case, "peer": peer, "documents_per_second": ours, "peer_documents_per_second": theirs,
                    "ratio": ours / theirs}

        text = readme_table.training_table({"machine": "a machine", "results": [
            trained("small", "DGL 2.1", 120, 10), trained("small", "another", 120, 40), trained("large", "DGL 2.1", 36, 8)]})
        lines = text.splitlines()
        self.assertEqual(lines[0], "| model | bough, documents/s | DGL 2.1 | another |")
        self.assertEqual(lines[2:4], ["| small | 120 | 12 | 3 |", "| large | 36 | 4.5 | – |"])
        self.assertIn("Measured on a machine.", text)


class Record(unittest.TestCase):
    def recorded(self, *runs):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(measured, "RESULTS", pathlib.Path(folder)):
            for machine, rows in runs:
                with mock.patch.object(measured, "machine", lambda threads, name=machine: name):
                    measured.record("test", "a command", 2, rows, identity=("case", "peer"))
            return json.loads((pathlib.Path(folder) / "test.json").read_text())

    def test_a_case_measured_again_takes_the_place_of_the_old_line(self):
        first, second, again = row("a", "p", 1, 2), row("b", "p", 1, 3), row("a", "p", 1, 4)
        self.assertEqual(self.recorded(("m", [first, second]), ("m", [again]))["results"], [again, second])

    def test_lines_of_another_machine_are_dropped(self):
        result = self.recorded(("m", [row("a", "p", 1, 2)]), ("other", [row("b", "p", 1, 3)]))
        self.assertEqual((result["machine"], [line["case"] for line in result["results"]]), ("other", ["b"]))


if __name__ == "__main__":
    unittest.main()
