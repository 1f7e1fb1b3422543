#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bough/core/config.h"
#include "bough/graph/attention_graph.h"

namespace bough {

/// The longest sequence that generators take.
inline constexpr std::int64_t max_sequence_length = std::int64_t{1} << 25;

/// What to build a graph for.
struct BuildOptions {
  std::int64_t length = 0;  ///< tokens of the sequence, from 1 to max_sequence_length
  bool causal = false;      ///< nothing that reaches token i may depend on tokens after i
  /// Read by patterns between two sequences: lengths of the sentences, whose sum is the length, and of the sentences of
  /// the other sequence that they are aligned with. Empty: what the pattern's parameters say.
  std::vector<std::int64_t> sentences = {};
  std::vector<std::int64_t> source_sentences = {};
  /// Read by patterns that read states of tokens before the sequence: how many of these there are, so that a pattern
  /// reads no more. Default: as many as it would read.
  std::optional<std::int64_t> past = {};
};

/// An attention pattern: everything a plug-in author implements.
///
/// Immutable once made; build may be called from several threads. The same parameters and options give the same graph
/// on every machine and for any number of threads.
class GraphGenerator {
 public:
  virtual ~GraphGenerator() = default;

  /// A graph of options.length tokens, causal if that is asked for: AttentionGraphBuilder(options) does nearly all of
  /// the work and makes sure of both. GraphError if the length is out of range or the graph would be too large,
  /// ConfigError if parameters and options do not fit each other. Generators from a registry check what this returns,
  /// see build_checked; what it throws leaves them as an Error that names the pattern.
  virtual AttentionGraph build(const BuildOptions& options) const = 0;

  /// Mean number of in-edges of token nodes that the graph has. The search for a wanted degree asks for it again and
  /// again; without a formula or AttentionGraphBuilder::attention_degree, which counts, it builds the graph.
  virtual double attention_degree(const BuildOptions& options) const;

  /// Size of the relation table that serves every sequence of up to max_length tokens. Never falls when max_length
  /// grows, and a relation has the same id for every length: graph.num_edge_types() <= num_relations(length).
  virtual std::int64_t num_relations(std::int64_t max_length) const = 0;

  /// False if it depends on the parameters whether there is a causal form, and with these there is none. A generator
  /// from a registry answers false too if its description says so (GeneratorDescription::causal), and then refuses
  /// causal = true with a ConfigError; build need not look.
  virtual bool supports_causal() const { return true; }

  /// The only length that build takes, for patterns that have one.
  virtual std::optional<std::int64_t> fixed_length() const { return {}; }
};

class GeneratorRegistry;
/// Makes a generator from JSON that it reads itself, or from settings that a table has checked.
using GeneratorFactory = std::function<std::unique_ptr<GraphGenerator>(const nlohmann::json& parameters)>;
using CheckedFactory = std::function<std::unique_ptr<GraphGenerator>(const Settings& settings)>;
/// Makes a pattern of other patterns, which it asks the registry for.
using CombinatorFactory =
    std::function<std::unique_ptr<GraphGenerator>(const Settings& settings, const GeneratorRegistry& registry)>;

/// How a pattern is given a wanted attention degree, {"kind": "window", "degree": 14}: by one of its parameters.
struct DegreeRule {
  /// A whole number, or a number that has a minimum and a maximum. Where it is large, more of it means a higher degree;
  /// below that the degree may fall once. Empty: the degree of the pattern cannot be chosen.
  std::string parameter = {};
  /// A second parameter, and the whole number that suits a length where it is not given. Empty: none.
  std::string companion = {};
  std::function<std::int64_t(std::int64_t length)> companion_value = {};
};

/// What the registry knows of a generator without making one.
struct GeneratorDescription {
  std::string name;                 ///< the "kind" in JSON
  std::string summary;              ///< one line
  ParameterTable parameters = {};   ///< what it takes
  bool causal = true;               ///< has a causal form; false is enough, supports_causal need not say it again
  DegreeRule degree = {};           ///< not for patterns that have a parameter of their own called "degree"
  std::string origin = "built in";  ///< set by the registry: "built in", "this program", or a plug-in's path
};

/// The version of GraphGenerator, GeneratorRegistry, AttentionGraph and AttentionGraphBuilder as compiled code sees
/// them. Raised whenever a plug-in has to be built anew; a plug-in of another version is refused.
inline constexpr int generator_interface_version = 2;

/// Generators by name. Copyable; all calls are safe from several threads.
class GeneratorRegistry {
 public:
  GeneratorRegistry();
  /// Copies the entries.
  GeneratorRegistry(const GeneratorRegistry& other);
  GeneratorRegistry& operator=(const GeneratorRegistry& other);
  ~GeneratorRegistry();

  /// Adds a generator that reads its JSON itself. ConfigError if the name is taken or has other characters than
  /// letters, digits, '_', '-' and '.'; below also if a parameter is called kind, length or causal, which every graph
  /// has.
  template <int version = generator_interface_version>
  void add(std::string name, GeneratorFactory factory) {
    require_interface(version);
    add_plain({.name = std::move(name), .summary = ""}, std::move(factory));
  }

  /// Adds a generator whose parameters are checked against the table before the factory sees them, defaults included.
  template <int version = generator_interface_version>
  void add(GeneratorDescription description, CheckedFactory factory) {
    require_interface(version);
    add_checked(
        std::move(description),
        [make = std::move(factory)](const Settings& settings, const GeneratorRegistry&) { return make(settings); });
  }
  template <int version = generator_interface_version>
  void add(GeneratorDescription description, CombinatorFactory factory) {
    require_interface(version);
    add_checked(std::move(description), std::move(factory));
  }

  /// Adds a class that has `static GeneratorDescription description()` and a constructor that takes Settings.
  template <typename Generator, int version = generator_interface_version>
  void add() {
    add<version>(Generator::description(),
                 [](const Settings& settings) { return std::make_unique<Generator>(settings); });
  }

  /// Makes a generator. ConfigError if the name is unknown (names the nearest and lists all) or the parameters are
  /// wrong; what else the factory throws becomes a ConfigError that names the pattern. The generator checks each graph
  /// that it builds, see build_checked. The parameters may contain "kind" if it is the same name. They may not ask for
  /// a "degree", which needs a length: see choose_degree.
  std::unique_ptr<GraphGenerator> make(const std::string& name, const nlohmann::json& parameters) const;

  /// Makes a generator from a specification, {"kind": "bpt", "k": 4}, or from a name alone, "bpt".
  std::unique_ptr<GraphGenerator> make(const nlohmann::json& specification) const;

  /// Whether there is a generator of that name.
  bool contains(const std::string& name) const;
  /// ConfigError as make if there is none of that name.
  GeneratorDescription describe(const std::string& name) const;
  /// Sorted by name.
  std::vector<GeneratorDescription> list() const;

  /// Where generators added from now on come from, as list() shows it.
  void set_origin(std::string origin);
  /// Adds all generators of that origin from another registry, or none: ConfigError if a name is taken. Returns how
  /// many.
  std::int64_t take(const GeneratorRegistry& other, const std::string& origin);

 private:
  struct Entry;
  using RegistryFactory =
      std::function<std::unique_ptr<GraphGenerator>(const nlohmann::json&, const GeneratorRegistry&)>;

  // The version is a template argument of add, so it is the one that the caller was compiled with, not the one of
  // whichever copy of an inline function the linker kept.
  static void require_interface(int version);
  void add_plain(GeneratorDescription description, GeneratorFactory factory);
  void add_checked(GeneratorDescription description, CombinatorFactory factory);
  void add_entry(GeneratorDescription description, RegistryFactory factory);
  static void insert(std::vector<std::shared_ptr<const Entry>>& entries, std::shared_ptr<const Entry> entry);
  std::shared_ptr<const Entry> find(const std::string& name) const;

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const Entry>> entries_;  ///< sorted by name
  std::string origin_ = "built in";
};

/// The registry of the process, with everything that is built in.
GeneratorRegistry& generators();

/// What stands for the "degree" of a specification.
struct DegreeChoice {
  double wanted = 0;       ///< what the specification asks for
  std::string parameters;  ///< "width 13", "stride 16, c 2"
  double degree = 0;       ///< what they give
};
/// "width 13 gives degree 13.6 (wanted: 14)".
std::string to_string(const DegreeChoice& choice);

/// Degrees whose ratio is at most this count as about the same.
inline constexpr double same_degree = 1.25;

/// Replaces "degree" in {"kind": "window", "degree": 14} by the value of the pattern's parameter whose graph, built
/// with these options, comes nearest to that attention degree. Nothing if there is no "degree" or it is a parameter of
/// the pattern itself (expander). Around one other pattern, {"kind": "causal", "of": "bpt", "degree": 14}, it is the
/// degree of the whole, and the parameter is that of the pattern within. Looks at about twice as many graphs as the
/// value has binary digits, none of which is much larger than the one found; most built-in patterns count edges without
/// making them. The same choice on every machine. ConfigError if the pattern has no such parameter, if that is given
/// too, or if no value comes within the factor same_degree of the wanted degree: then with what can be reached.
std::optional<DegreeChoice> choose_degree(nlohmann::json& specification, const BuildOptions& options,
                                          const GeneratorRegistry& registry = generators());

/// Builds a graph and checks it: validate(), as many tokens as asked for, causal if that was asked for, and no more
/// relations than num_relations(length). GraphError if the generator breaks one of these rules or throws something that
/// is no Error; ConfigError if there is no causal form. Generators from a registry do it by themselves; this is for
/// those of a program's own. The check reads each edge once, in parallel.
AttentionGraph build_checked(const GraphGenerator& generator, const BuildOptions& options);

/// A graph specification as `bough graph` takes it: a generator, and what to build.
struct GraphRequest {
  std::unique_ptr<GraphGenerator> generator;  ///< the pattern
  BuildOptions options;                       ///< length, causality and the like
  std::optional<DegreeChoice> choice = {};    ///< for a "degree" in the specification

  /// The graph.
  AttentionGraph build() const { return build_checked(*generator, options); }
};

/// Reads {"kind": ..., parameters or "degree", "length": ..., "causal": ...}; "length" is required unless the
/// pattern has but one. ConfigError as for make and choose_degree.
GraphRequest read_graph_request(const nlohmann::json& specification, const GeneratorRegistry& registry = generators());

/// One graph of disjoint sequences, in the given order; each different length is built once and then pasted, so the
/// number of allocations grows with the different lengths, not with the sequences. O(nodes + edges).
/// Positions (AttentionGraph::covers) count through the batch. Graphs that exist already: see batch.
AttentionGraph build_batch(const GraphGenerator& generator, std::span<const std::int64_t> lengths, bool causal);
/// The same for options that differ in more than the length.
AttentionGraph build_batch(const GraphGenerator& generator, std::span<const BuildOptions> options);

}  // namespace bough
