#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "bough/graph/draw.h"
#include "bough/graph/graph_generator.h"
#include "bough/graph/io.h"
#include "bough/graph/plugin.h"
#include "bough/graph/statistics.h"
#include "bough/ops/attention_plan.h"
#include "src/core/files.h"
#include "tools/bough/commands.h"
#include "tools/bough/output_files.h"
#include "tools/bough/short_form.h"

namespace bough::cli {
namespace {

struct BuiltGraph {
  AttentionGraph graph;
  double milliseconds = 0;  ///< of the edges and both formats
};

BuiltGraph build(const GraphRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  BuiltGraph built{request.build()};
  built.graph.graph.csc(EdgeIds::implied);
  built.graph.graph.csr();
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  built.milliseconds = time.count();
  return built;
}

std::string kind_of(const nlohmann::json& specification) {
  return (specification.is_string() ? specification : specification.at("kind")).get<std::string>();
}

/// What a layer has to know beside the edges; nullptr if nothing. Bipartite graphs are as complete as others: their
/// counts of nodes are saved with them, and `{"kind": "file"}` refuses them.
const char* beyond_edges(const AttentionGraph& graph) {
  if (!graph.stages.empty()) return "a layer applies them in stages, one after the other";
  if (!graph.head_groups.empty()) return "each group of heads follows its own share of them";
  if (graph.soft_span) return "each head learns how far along them it sees";
  if (std::ranges::find(graph.kinds, NodeKind::input) != graph.kinds.end())
    return "some of its nodes are read and never updated";
  return nullptr;
}

/// A file of the edges would train as another pattern without a word; printed edges come with a note that says so.
void check_edges_are_all(const GraphCommand& command, const nlohmann::json& specification,
                         const AttentionGraph& graph) {
  const char* reason = beyond_edges(graph);
  if (reason == nullptr) return;
  const std::string sentence = fmt::format(
      "the edges of '{}' are not the whole pattern: {}; give an experiment the pattern itself as its \"graph\", not a "
      "file of them",
      kind_of(specification), reason);
  if (!command.npz.empty()) throw ConfigError("graph", "--npz cannot save this: " + sentence);
  if (command.edges) fmt::print(stderr, "note: {}\n", sentence);
}

void print_edges(const AttentionGraph& graph) {
  const nlohmann::json root = graph.root < 0 ? nlohmann::json() : nlohmann::json(graph.root);
  fmt::print("{{\"num_nodes\":{},", graph.graph.num_dst());
  if (graph.graph.is_bipartite()) fmt::print("\"num_sources\":{},", graph.graph.num_src());
  fmt::print("\"num_tokens\":{},\"root\":{},\"edges\":[", graph.num_tokens(), root.dump());
  const CooView edges = graph.graph.coo();
  const std::span<const std::int32_t> relations = graph.graph.edge_types();
  fmt::memory_buffer text;
  for (std::size_t e = 0; e < edges.src.size(); ++e) {
    fmt::format_to(std::back_inserter(text), "{}[{},{},{}]", e == 0 ? "" : ",", edges.src[e], edges.dst[e],
                   relations[e]);
    if (text.size() < 60000 && e + 1 < edges.src.size()) continue;
    std::fwrite(text.data(), 1, text.size(), stdout);
    text.clear();
  }
  fmt::print("]}}\n");
}

nlohmann::ordered_json statistics_of(const BuiltGraph& built) {
  const AttentionGraph& graph = built.graph;
  const DegreeRange degrees = token_degrees(graph);
  const TokenDistances distances = token_distances(graph);
  nlohmann::ordered_json result = {
      {"num_nodes", graph.graph.num_dst()},
      {"num_tokens", graph.num_tokens()},
      {"num_edges", graph.graph.num_edges()},
      {"causal", graph.causal},
      {"attention_degree", attention_degree(graph)},
      {"token_degree", {{"mean", degrees.mean}, {"min", degrees.least}, {"max", degrees.most}}},
      {"levels", *std::ranges::max_element(graph.levels) + 1},
      {"relations", graph.num_relations()},
      {"longest_path",
       {{"steps", distances.longest},
        {"exact", distances.exact},
        {"first_tokens", distances.first_tokens},
        {"all_connected", distances.all_connected}}},
      {"bytes", graph.graph.memory_bytes()},
      {"build_milliseconds", built.milliseconds}};
  if (graph.graph.is_bipartite()) result["num_sources"] = graph.graph.num_src();
  if (!graph.head_groups.empty()) result["head_groups"] = graph.head_groups.size();
  if (!graph.stages.empty()) result["stages"] = graph.stages.size();
  return result;
}

std::string describe_paths(const nlohmann::ordered_json& paths) {
  const bool exact = paths["exact"];
  std::string text = fmt::format("{}{}", exact ? "" : "at least ", paths["steps"].get<std::int64_t>());
  if (!exact)
    text += fmt::format(", looking at paths from {} of the tokens", paths["first_tokens"].get<std::int64_t>());
  if (!paths["all_connected"]) text += "; some tokens never reach some others";
  return text;
}

void print_statistics(const BuiltGraph& built, const std::optional<DegreeChoice>& choice, bool json) {
  nlohmann::ordered_json values = statistics_of(built);
  if (choice) values["chosen"] = {{"wanted_degree", choice->wanted}, {"parameters", choice->parameters}};
  if (json) {
    fmt::print("{}\n", values.dump());
    return;
  }
  const auto number = [&](const char* name) { return values[name].get<std::int64_t>(); };
  const auto& degree = values["token_degree"];
  if (choice) fmt::print("chosen        {}\n", to_string(*choice));
  fmt::print("nodes         {} ({} tokens)\n", number("num_nodes"), number("num_tokens"));
  if (values.contains("num_sources")) fmt::print("sources       {}\n", number("num_sources"));
  fmt::print("edges         {}\n", number("num_edges"));
  fmt::print("causal        {}\n", built.graph.causal ? "yes" : "no");
  fmt::print("token degree  mean {:.2f}, min {}, max {}\n", degree["mean"].get<double>(),
             degree["min"].get<std::int64_t>(), degree["max"].get<std::int64_t>());
  if (values.contains("head_groups")) {
    fmt::print("head groups   {}, each head sees {:.2f} on average\n", number("head_groups"),
               values["attention_degree"].get<double>());
  }
  if (values.contains("stages")) fmt::print("stages        {}\n", number("stages"));
  fmt::print("levels        {}\n", number("levels"));
  fmt::print("relations     {}\n", number("relations"));
  fmt::print("longest path  {}\n", describe_paths(values["longest_path"]));
  fmt::print("bytes         {}\n", number("bytes"));
  fmt::print("build time    {:.3f} ms with both formats\n", built.milliseconds);
}

/// How attention will walk over the graph, or over each of its head groups: one summary or JSON line each.
void print_plan(const AttentionGraph& graph, bool json) {
  std::vector<Graph> parts(graph.head_groups.begin(), graph.head_groups.end());
  if (parts.empty()) parts.push_back(graph.graph);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const AttentionPlanSummary plan = attention_plan_summary(parts[i], !parts[i].edge_types().empty());
    if (json) {
      nlohmann::ordered_json values = {{"tiles", plan.tiles},
                                       {"segment_tiles", plan.segment_tiles},
                                       {"columns", plan.columns},
                                       {"fill", plan.fill()},
                                       {"tile_edges", plan.tile_edges},
                                       {"tiled_share", plan.tiled_share()},
                                       {"rows_left", plan.rows_left},
                                       {"row_edges", plan.row_edges},
                                       {"split_rows", plan.split_rows},
                                       {"staged_blocks", plan.staged_blocks},
                                       {"partitions", plan.partitions},
                                       {"bytes", plan.bytes},
                                       {"plan_milliseconds", plan.milliseconds}};
      values["tile_options"] = {"relation_keys", "dropout"};  // a call with any other runs by rows
      fmt::print("{}\n", values.dump());
      continue;
    }
    if (parts.size() > 1) fmt::print("head group {}\n", i);
    fmt::print("{}", to_string(plan));
  }
}

void write_file(const std::string& path, const std::string& text) {
  AtomicFileWriter writer(path);
  writer.write(text.data(), text.size());
  writer.commit();
}

/// "bpt (alignment=pair, k=4), 64 tokens, causal": the parameters that the specification has, and the defaults of the
/// others.
std::string title_of(const nlohmann::json& specification, const AttentionGraph& graph) {
  const std::string kind = kind_of(specification);
  nlohmann::json parameters = specification.is_object() ? specification : nlohmann::json::object();
  for (const char* key : {"kind", "length", "causal"}) parameters.erase(key);
  for (const GeneratorDescription& description : generators().list()) {
    // Plug-ins may read their JSON themselves; then only what was given is known.
    if (description.name != kind || description.parameters.parameters().empty()) continue;
    parameters = description.parameters.read(kind, parameters).values();
  }
  std::vector<std::string> given;
  for (const auto& [name, value] : parameters.items()) {
    if (!value.is_null())
      given.push_back(fmt::format("{}={}", name, value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return fmt::format("{}{}, {} token{}{}", kind, given.empty() ? "" : fmt::format(" ({})", fmt::join(given, ", ")),
                     graph.num_tokens(), graph.num_tokens() == 1 ? "" : "s", graph.causal ? ", causal" : "");
}

/// An option that says something else than the specification would win without a word.
void set_option(nlohmann::json& specification, const std::string& key, const nlohmann::json& value) {
  if (value.is_null()) return;
  if (const auto given = specification.find(key); given != specification.end() && *given != value) {
    throw ConfigError("graph", fmt::format("{0} is {1} in the graph, but --{0} says {2}; leave one out", key,
                                           json_excerpt(*given), value.dump()));
  }
  specification[key] = value;
}

GraphRequest request_for(const nlohmann::json& specification) {
  try {
    return read_graph_request(specification);
  } catch (const ConfigError& error) {
    if (!std::string_view(error.what()).starts_with("[graph] length is missing")) throw;
    throw ConfigError(std::string(error.what()) + "; --length N says how many tokens");
  }
}

/// The file that says which graph, and that of its edges.
std::vector<std::string> files_read(const GraphCommand& command, const nlohmann::json& specification) {
  std::vector<std::string> files;
  std::error_code not_there;  // JSON may be longer than any name of a file
  if (std::filesystem::is_regular_file(command.specification, not_there)) files.push_back(command.specification);
  if (specification.is_object() && specification.value("kind", nlohmann::json()) == "file") {
    const nlohmann::json path = specification.value("path", nlohmann::json());
    if (path.is_string()) files.push_back(path.get<std::string>());
  }
  return files;
}

DrawOptions drawing(const GraphCommand& command, const nlohmann::json& specification, const AttentionGraph& graph) {
  const std::string title = title_of(specification, graph);
  if (command.token < 0) return {.title = title};
  if (command.token >= graph.num_tokens()) {
    throw ConfigError("graph",
                      fmt::format("--token must be from 0 to {}, not {}", graph.num_tokens() - 1, command.token));
  }
  return {.node = graph.tokens[static_cast<std::size_t>(command.token)], .title = title};
}

}  // namespace

void run_graph(const GraphCommand& command) {
  for (const std::string& word : command.parameters) {
    if (word.empty() || word.find_first_not_of("0123456789") != std::string::npos) continue;
    throw ConfigError(
        "graph",
        fmt::format("expects parameters like k=4, not '{0}'; --length {0} says how many tokens there are", word));
  }
  if (!command.npz.empty() && !command.npz.ends_with(".npz")) {
    throw ConfigError("graph", fmt::format("--npz needs a file name that ends in .npz, not '{}'", command.npz));
  }
  for (const std::string& library : command.plugins) load_plugin(library);
  nlohmann::json specification = graph_from_argument(command.specification);
  require_separate_files({{"--svg", command.svg}, {"--html", command.html}, {"--npz", command.npz}},
                         files_read(command, specification));
  if (specification.is_object()) {
    set_keys(specification, command.parameters, "graph");
    set_option(specification, "length", command.length ? nlohmann::json(*command.length) : nlohmann::json());
    set_option(specification, "causal", command.causal ? nlohmann::json(true) : nlohmann::json());
  }
  const GraphRequest request = request_for(specification);
  const BuiltGraph built = build(request);
  check_edges_are_all(command, specification, built.graph);
  const bool writes = !command.svg.empty() || !command.html.empty() || !command.npz.empty();
  if (!command.svg.empty() || !command.html.empty()) {
    const DrawOptions options = drawing(command, specification, built.graph);
    if (!command.svg.empty()) write_file(command.svg, draw_svg(built.graph, options));
    if (!command.html.empty()) write_file(command.html, draw_html(built.graph, options));
  }
  if (!command.npz.empty()) save_graph(command.npz, built.graph.graph);
  const bool figures = command.stats || (!command.edges && !command.plan && (command.json || !writes));
  if (request.choice && !figures) fmt::print(stderr, "{}\n", to_string(*request.choice));
  if (command.edges) print_edges(built.graph);
  if (command.plan) print_plan(built.graph, command.json);
  if (figures) print_statistics(built, request.choice, command.json);
}

}  // namespace bough::cli
