#include "tasks/runner/key_reference.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "graph/generators/wanted_degree.h"
#include "tasks/registry.h"
#include "tasks/runner/experiment.h"
#include "tasks/task.h"

namespace bough::runner {
namespace {

using nlohmann::json;

constexpr const char* reference_introduction = R"(# Experiments in JSON

What `bough run FILE` reads, key by key; `bough run --keys` prints this page, and `bough run --schema` the same as a JSON
Schema for editors. Unknown keys are errors that name the nearest known one. `--set train.steps=50` changes one value, and
`--dry-run` checks everything and shows the runs.

```json
{
  "name": "small",
  "task": {"kind": "char_lm", "corpus": {"kind": "text", "path": "my.txt"}, "length": 512},
  "model": {"layers": 4, "dim": 128, "heads": 4},
  "graph": {"kind": "bpt", "k": 4},
  "train": {"steps": 2000, "tokens_per_batch": 8192},
  "sweep": {"graph": [{"kind": "bpt", "k": 4}, {"kind": "window", "width": 21}], "train.seed": [1, 2, 3]}
}
```

Files are looked up under `--data DIR`, then beside the experiment.

## Sweeps

`sweep` maps dotted paths to lists of values; every combination is one run. Lists inside `zip` are walked through together:

```json
"sweep": {"zip": {"task.length": [512, 8192], "train.learning_rate": [4.1e-4, 5.8e-4]}, "train.seed": [1, 2, 3]}
```

has six runs, and each length its own learning rate. Lists of one zip are equally long; several zips stand in a list,
`"zip": [{…}, {…}]`, and are combined with each other. Runs and reports are named by what tells the rows of a zip apart, the
graph or the length if they do. `--set` of a path ends its sweep; of a zip it takes that list out, and the others stay.

## Experiments that extend others

`"extends": "base.json"` takes everything from another experiment, which may extend a third one, and changes it. The file is
looked up beside the one that names it, then under `--data DIR`; an experiment that is in no file looks in the current folder
first.

- Objects are merged key by key, `"train": {"steps": 50}` changes the steps alone. An object that names another `kind` than
  that of the base replaces it as a whole: a graph of another pattern, another corpus, another task. A task or a model
  that names no kind is of the default one.
- Everything else replaces what the base has: numbers, texts, lists, and a graph that is given by its bare name.
- `null` takes a key away, so that its default holds.
- `sweep` is replaced as a whole. Where it is not given, that of the base stays, without the paths that the experiment
  itself sets.

`experiment.json` in the folder of results is the merged experiment: resuming and reports need no other file. Data is looked
up beside the extended files too, last.
)";

/// A vertical bar would end the cell.
std::string table_cell(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) text.insert(at, 1, '\\');
  return text;
}

/// "| `key` | meaning | allowed | default |", in the words of ParameterTable::to_json.
std::string key_row(const std::string& prefix, const json& parameter) {
  const json initial = parameter.value("default", json());
  const std::string text = parameter.contains("required") ? "required"
                           : initial.is_null()            ? ""
                                                          : "`" + initial.dump() + "`";
  return fmt::format("| `{}{}` | {} | {} | {} |\n", prefix, parameter["name"].get<std::string>(),
                     table_cell(parameter["help"]), table_cell(parameter["allowed"]), table_cell(text));
}

/// Objects are followed by what is in them, with a dot in between.
void add_key_rows(std::string& page, const std::string& prefix, const json& parameters) {
  for (const json& parameter : parameters) {
    page += key_row(prefix, parameter);
    const std::string inside = prefix + parameter["name"].get<std::string>() + ".";
    if (parameter.contains("parameters")) add_key_rows(page, inside, parameter["parameters"]);
  }
}

void add_key_table(std::string& page, const ParameterTable& table) {
  if (table.parameters().empty()) return;
  page += "\n| key | meaning | allowed | default |\n|---|---|---|---|\n";
  add_key_rows(page, "", table.to_json());
}

/// The sections of an experiment have headings of their own.
void add_top_level_keys(std::string& page, const std::vector<Parameter>& parameters) {
  page += "\n## The experiment\n";
  std::vector<Parameter> flat = parameters;
  for (Parameter& parameter : flat) parameter.fields.clear();
  add_key_table(page, flat);
}

void add_task_keys(std::string& page, const tasks::Task& task, const std::vector<Parameter>& experiment) {
  const auto kinds = task.object_kinds();
  for (const Parameter& section : experiment) {
    if (section.fields.empty()) continue;
    page += fmt::format("\n## {} of {}\n", section.name, task.name());
    add_key_table(page, section.fields);
    if (section.name != "task") continue;
    for (const auto& [name, choices] : kinds) {
      for (const tasks::ObjectKind& kind : choices) {
        page += fmt::format("\n### {} of kind {}\n\n`{{\"kind\": \"{}\", …}}`: {}.\n", name, kind.name, kind.name,
                            kind.summary);
        add_key_table(page, kind.parameters);
      }
    }
  }
}

void add_graph_keys(std::string& page) {
  page +=
      "\n## graph\n\nThe same object that `bough graph` takes, without `length`, or the bare name of a pattern. `bough "
      "generators` lists\npatterns of plug-ins too. A `degree` is the attention degree that is wanted at the length of "
      "the task; the parameter\nthat it stands for is solved for it.\n";
  for (const GeneratorDescription& generator : generators().list()) {
    if (generator.origin != "built in") continue;
    page +=
        fmt::format("\n### {}\n\n`{{\"kind\": \"{}\", …}}`: {}.\n", generator.name, generator.name, generator.summary);
    add_key_table(page, specification_keys(generator));
  }
}

}  // namespace

std::string key_reference() {
  std::string page = reference_introduction;
  const auto& tasks = tasks::all_tasks();
  add_top_level_keys(page, experiment_parameters(*tasks.front()).parameters());
  for (const tasks::Task* task : tasks) add_task_keys(page, *task, experiment_parameters(*task).parameters());
  add_graph_keys(page);
  return page;
}

ParameterTable specification_keys(const GeneratorDescription& generator) {
  std::vector<Parameter> keys = generator.parameters.parameters();
  if (const std::string solved = degree_parameter(generator); !solved.empty()) {
    keys.push_back(number_parameter("degree",
                                    solved == "of"
                                        ? "the attention degree to have, above 0; a parameter of the pattern in of "
                                          "is solved for it"
                                        : "the attention degree to have, above 0, instead of " + solved,
                                    {.minimum = 0}));
  }
  return ParameterTable(std::move(keys));
}

}  // namespace bough::runner
