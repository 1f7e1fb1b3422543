"""Pages of docs/ are what the program says, and comments reach the declarations they stand for. BOUGH is the program."""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True


def bough(*arguments):
    return subprocess.run([os.environ["BOUGH"], *arguments], check=True, capture_output=True, text=True).stdout


def tools_docs():
    loader = importlib.machinery.SourceFileLoader("tools_docs", str(ROOT / "tools/docs"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tools_docs", loader))
    loader.exec_module(module)
    return module


def sources_in_tree(token, length, k, arity, causal):
    """Ids of what docs/patterns/bpt.md and kary.md say that a token attends to."""
    sources, first, size, left, right = [token], 0, length, token, token + 1
    while True:
        next_left, next_right = max(0, (left - k) // arity), -((right + k) // -arity)
        sources += range(first + arity * next_left, first + left)
        if not causal:
            sources += range(first + right, first + min(size, arity * next_right))
        if size == 1:
            return sorted(sources)
        first, size, left, right = first + size, -(size // -arity), next_left, next_right


class Docs(unittest.TestCase):
    def test_the_keys_of_experiments_are_those_of_the_program(self):
        # Mended by: bough run --keys > docs/experiments.md
        self.assertEqual((ROOT / "docs/experiments.md").read_text(), bough("run", "--keys"))

    def test_the_keys_are_all_that_the_schema_has(self):
        def names(schema):
            for name, inside in schema.get("properties", {}).items():
                yield name
                if inside is not True:
                    yield from names(inside)
            for part in ("oneOf", "anyOf", "allOf"):
                for inside in schema.get(part, []):
                    yield from names(inside)
            if "then" in schema:  # the keys that a kind has
                yield from names(schema["then"])

        page = bough("run", "--keys")
        # What a sweep sets is named by its path.
        for name in {name.split(".")[-1] for name in names(json.loads(bough("run", "--schema")))}:
            self.assertRegex(page, rf'`([\w.]+\.)?{name.replace("$", "[$]")}`|"{name}"')

    def test_the_keys_of_a_pattern_have_the_degree_that_can_be_wanted(self):
        sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^### |\Z)", bough("run", "--keys"), re.DOTALL | re.MULTILINE))
        solved = {entry["name"]: entry["degree_parameter"] for entry in json.loads(bough("generators", "--json"))}
        self.assertIn("width", solved.values())
        for name, parameter in solved.items():
            how = "; a parameter of the pattern in of is solved for it" if parameter == "of" else f", instead of {parameter}"
            row = f"| `degree` | the attention degree to have, above 0{how} |"
            self.assertEqual(row in sections[name], parameter is not None, name)
        self.assertEqual([name for name, parameter in solved.items() if parameter == "of"], ["causal", "remap"])

    def test_the_page_of_a_pattern_has_the_degree_that_can_be_wanted(self):
        pages = tools_docs().pattern_pages
        generators = json.loads(bough("generators", "--json"))
        overview = pages.overview(generators)
        for generator in generators:
            solved = generator["degree_parameter"]
            how = "; a parameter of the pattern in `of`" if solved == "of" else f", instead of `{solved}`"
            row = f"| `degree` | the attention degree to have, above 0{how}"
            self.assertEqual(row in pages.parameters_table(generator), solved is not None, generator["name"])
            line = next(line for line in overview.splitlines() if f"@subpage pattern_{generator['name']} " in line)
            has_degree = solved is not None or any(p["name"] == "degree" for p in generator["parameters"])
            self.assertEqual("`degree`" in line, has_degree, line)

    def test_every_pattern_has_a_page_and_no_page_lacks_a_pattern(self):
        patterns = [entry["name"] for entry in json.loads(bough("generators", "--json"))]
        self.assertEqual(sorted(path.stem for path in (ROOT / "docs/patterns").glob("*.md")), sorted(patterns))
        pages = tools_docs().pattern_pages
        for name in patterns:
            example, introduction, _ = pages.text_of(ROOT / "docs/patterns", name)
            self.assertEqual(example["kind"], name)
            self.assertNotIn("bough graph '", introduction)
            self.assertNotIn("'", json.dumps(example), "the command below the title can be typed")

    def test_a_page_without_the_formula_of_its_nodes_is_refused(self):
        pages = tools_docs().pattern_pages
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "window.md"
            text = (ROOT / "docs/patterns/window.md").read_text()
            copy.write_text(text)
            pages.text_of(copy.parent, "window")
            copy.write_text(text.replace("A(i) =", "Nodes are"))
            with self.assertRaisesRegex(pages.Mistake, r"does not say A\(i\) ="):
                pages.text_of(copy.parent, "window")

    def test_the_formulas_of_the_trees_give_their_edges(self):
        for name, arity, a in (("bpt", 2, "2"), ("kary", 3, "a")):
            page = (ROOT / f"docs/patterns/{name}.md").read_text()
            for line in (f"A(i) = {{ i }} ∪ {{ (l, m) : {a}·q(l+1) ≤ m < q(l) }} ∪ {{ (l, m) : p(l) ≤ m < {a}·p(l+1) }}",
                         f"q(0) = i        q(l+1) = max(0, ⌊(q(l) − k) / {a}⌋)", f"p(0) = i + 1    p(l+1) = ⌈(p(l) + k) / {a}⌉"):
                self.assertIn(line, page)
            for length, k, causal in ((23, 1, False), (64, 2, False), (50, 3, True)):
                graph = {"kind": name, "k": k, "length": length, "causal": causal} | ({} if arity == 2 else {"arity": arity})
                edges = json.loads(bough("graph", json.dumps(graph), "--edges"))["edges"]
                for token in range(length):
                    self.assertEqual(sorted(source for source, node, _ in edges if node == token),
                                     sources_in_tree(token, length, k, arity, causal), (graph, token))

    def test_the_gallery_shows_every_example(self):
        gallery = (ROOT / "docs/gallery.md").read_text()
        for example in (ROOT / "tools/examples").rglob("*.c*"):
            if example.suffix in (".cpp", ".cu"):
                self.assertIn(f"(../{example.relative_to(ROOT)})", gallery)

    def test_the_guide_shows_pieces_of_the_program_that_the_tests_run(self):
        def lines(text):
            return [line.strip() for line in text.strip().splitlines()]

        program = "\n".join(lines((ROOT / "tools/examples/guide.cpp").read_text()))
        blocks = re.findall(r"```cpp\n(.*?)```", (ROOT / "docs/guide.md").read_text(), re.DOTALL)
        self.assertGreater(len(blocks), 5)
        for block in blocks:
            self.assertIn("\n".join(lines(block)), program)

    def test_a_comment_stands_for_declarations_up_to_a_blank_line(self):
        header = "/// Both.\nint a();\nint b();\n\nint c();\n"
        marked = tools_docs().with_groups(header).splitlines()
        self.assertEqual(len(marked), 5)
        self.assertIn("@{", marked[0])
        self.assertIn("@}", marked[3])
        self.assertNotIn("@", marked[4])

    def test_a_comment_of_one_declaration_stays_as_it_is(self):
        header = "\n/// One.\nint a(int x = 0,\n      int y = 0);\n/// Two.\nstruct B {\n  int c;  ///< c\n};\n"
        self.assertEqual(tools_docs().with_groups(header), "/** @file */ " + header)


if __name__ == "__main__":
    unittest.main()
