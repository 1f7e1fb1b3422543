"""Pages of attention patterns for tools/docs: what the program says and draws, around what docs/patterns says by hand.

docs/patterns/NAME.md can be read as it is: its title, a command that makes a page of an example, which is the graph to draw
here, then what the pattern is, which nodes a token attends to, what that costs, when to use it and where it comes from.
"""
import json
import re
import shutil
import subprocess

SECTIONS = ("Which nodes", "Cost", "When to use it", "Source")
LENGTHS = (256, 1024, 4096)
WITHOUT_FORMULA = {"remap"}  # it changes no edges


class Mistake(Exception):
    """A page that cannot be made, and why."""


def text_of(folder, name):
    """The graph to draw, the introduction, and the sections by heading."""
    path = folder / f"{name}.md"
    if not path.is_file():
        raise Mistake(f"the pattern {name} has no docs/patterns/{name}.md")
    text = path.read_text()
    example = re.match(rf"# {name}\n\n    bough graph '(\{{.*\}})' --html {name}\.html\n\n", text)
    if not example:
        raise Mistake(f"docs/patterns/{name}.md does not begin with '# {name}' and bough graph 'JSON' --html {name}.html")
    introduction, *rest = re.split(r"^## (.+)\n", text[example.end():], flags=re.MULTILINE)
    sections = dict(zip(rest[::2], rest[1::2]))
    if tuple(sections) != SECTIONS:
        raise Mistake(f"docs/patterns/{name}.md has the sections {', '.join(sections)}; they are {', '.join(SECTIONS)}")
    if "A(i) " not in sections["Which nodes"] and name not in WITHOUT_FORMULA:
        raise Mistake(f"docs/patterns/{name}.md does not say A(i) = ..., the nodes that token i attends to, under Which nodes")
    return json.loads(example.group(1)), introduction.strip(), {head: body.strip() for head, body in sections.items()}


class Program:
    """What bough says about a graph. Relative paths of graphs are those of docs/patterns."""

    def __init__(self, path, folder):
        self.path, self.folder = path, folder

    def __call__(self, *arguments):
        result = subprocess.run([str(self.path), *map(str, arguments)], cwd=self.folder, text=True, capture_output=True,
                                check=False)
        if result.returncode != 0:
            raise Mistake(f"bough {' '.join(map(str, arguments))}: {result.stderr.strip()}")
        return result.stdout

    def generators(self):
        return json.loads(self("generators", "--json"))

    def figures(self, graph):
        return json.loads(self("graph", json.dumps(graph), "--json"))

    def edges(self, graph):
        return json.loads(self("graph", json.dumps(graph), "--edges"))


def matrix_svg(graph):
    """Rows are the nodes that attend, columns those that are attended to; tokens come first on both sides."""
    cell, tokens = 12, graph["num_tokens"]
    rows, columns = graph["num_nodes"], graph.get("num_sources", graph["num_nodes"])
    bipartite = "num_sources" in graph
    width, height = columns * cell + 2, rows * cell + 2
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-1 -1 {width} {height}" width="{width}" height="{height}">',
             f'<rect width="{columns * cell}" height="{rows * cell}" fill="#fff" stroke="#888"/>']
    for source, destination, _ in graph["edges"]:
        near = destination < tokens and (bipartite or source < tokens)
        parts.append(f'<rect x="{source * cell + 1}" y="{destination * cell + 1}" width="{cell - 2}" height="{cell - 2}" '
                     f'fill="{"#2c7a4b" if near else "#d08a2e"}"/>')
    if not bipartite and tokens < rows:  # tokens end here
        end = tokens * cell
        parts.append(f'<path d="M{end} 0V{rows * cell}M0 {end}H{columns * cell}" stroke="#888"/>')
    return "\n".join(parts + ["</svg>\n"])


def in_table(value):
    return str(value).replace("|", "\\|")


def degree_row(generator):
    """What stands for a wanted attention degree, where the pattern has a parameter that can be solved for it."""
    solved = generator["degree_parameter"]
    how = "; a parameter of the pattern in `of` is solved for it" if solved == "of" else f", instead of `{solved}`, which is solved for it"
    return f"| `degree` | the attention degree to have, above 0{how} | a number of at least 0 | |"


def parameters_table(generator):
    parameters = generator["parameters"]
    if not parameters:
        return "None but `length` and `causal`, which every pattern has."
    lines = ["| key | meaning | allowed | default |", "|---|---|---|---|"]
    for parameter in parameters:
        initial = parameter.get("default")
        default = "required" if "required" in parameter else "" if initial is None else f"`{json.dumps(initial)}`"
        lines.append(f"| `{parameter['name']}` | {in_table(parameter['help'])} | {in_table(parameter['allowed'])} | {default} |")
    if generator["degree_parameter"]:
        lines.append(degree_row(generator))
    return "\n".join(lines)


def figures_table(program, generator, example):
    """Edges at several lengths, with default parameters where the pattern has them, and beside full attention."""
    needs_more = generator["name"] == "file" or any(p.get("required") or p["name"] == "of" for p in generator["parameters"])
    graph = dict(example) if needs_more else {"kind": generator["name"]}
    graph["causal"] = generator["causal"]
    lengths = (example["length"],) if generator["name"] == "file" else LENGTHS
    lines = ["| tokens | nodes | edges | of full attention | attention degree | relations | longest path |",
             "|---|---|---|---|---|---|---|"]
    for length in lengths:
        figures = program.figures({**graph, "length": length})
        every = length * (length + 1) // 2 if graph["causal"] else length * length
        path = figures["longest_path"]
        steps = f"{'' if path['exact'] else '≥ '}{path['steps']}" + ("" if path["all_connected"] else ", not all")
        lines.append(f"| {length} | {figures['num_nodes']} | {figures['num_edges']} | {figures['num_edges'] / every:.1%} | "
                     f"{figures['attention_degree']:.1f} | {figures['relations']} | {steps} |")
    shown = {key: value for key, value in graph.items() if key != "length"}
    return f"Figures of `{json.dumps(shown)}`:\n\n" + "\n".join(lines)


def page(program, generator, folder, out):
    name = generator["name"]
    example, introduction, text = text_of(folder, name)
    specification = json.dumps(example)
    program("graph", specification, "--svg", out / f"pattern_{name}.svg")
    (out / f"matrix_{name}.svg").write_text(matrix_svg(program.edges(example)))
    return f"""# {name} {{#pattern_{name}}}

{generator["summary"][0].upper() + generator["summary"][1:]}.

{introduction}

    bough graph '{specification}' --svg picture.svg

What one token attends to (`--token` chooses another; `--html` writes a page to explore them all):

![what a token attends to in {name}](pattern_{name}.svg)

The same graph as a matrix. A row is a node that attends, a column a node that is attended to; tokens are first, and
edges from or into other nodes are orange:

![the matrix of {name}](matrix_{name}.svg)

## Which nodes

{text["Which nodes"]}

## Parameters

{parameters_table(generator)}

## Cost

{text["Cost"]}

{figures_table(program, generator, example)}

## When to use it

{text["When to use it"]}

## Source

{text["Source"]}
"""


def overview(generators):
    lines = ["# Attention patterns {#patterns}", "",
             "A pattern is a rule that makes the attention graph of any length: an edge from v to u means that u attends to v.",
             "Each of these is a `\"kind\"` of graph in experiments and for `bough graph`. A pattern of your own is a plug-in: see",
             "the gallery of examples.", "", "| pattern | what a token attends to | parameters |", "|---|---|---|"]
    for generator in generators:
        known = [parameter["name"] for parameter in generator["parameters"]]
        names = ", ".join(f"`{name}`" for name in known + ["degree"] * bool(generator["degree_parameter"]))
        lines.append(f"| @subpage pattern_{generator['name']} | {in_table(generator['summary'])} | {names} |")
    lines += ["", "Every graph also takes `length` (the number of tokens) and `causal` (no token depends on later ones). Given a",
              "`degree`, the mean number of nodes that a token attends to, a pattern is solved for it: the parameter that its page",
              "names follows. The expander's own `degree` counts neighbours."]
    return "\n".join(lines) + "\n"


def write(path, folder, out):
    """Writes the pages and pictures of all patterns that the program has."""
    program = Program(path, folder)
    generators = [generator for generator in program.generators() if generator["origin"] == "built in"]
    unknown = {file.stem for file in folder.glob("*.md")} - {generator["name"] for generator in generators}
    if unknown:
        raise Mistake(f"docs/patterns/{min(unknown)}.md is about a pattern that the program does not have")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    (out / "patterns.md").write_text(overview(generators))
    for generator in generators:
        (out / f"pattern_{generator['name']}.md").write_text(page(program, generator, folder, out))
