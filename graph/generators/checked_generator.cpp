#include "graph/generators/checked_generator.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include "bough/core/errors.h"

namespace bough {
namespace {

/// Throws an error of the same class with another message.
template <typename... Classes>
[[noreturn]] void throw_like(const Error& error, const std::string& message) {
  ((dynamic_cast<const Classes*>(&error) == nullptr ? void() : throw Classes(message)), ...);
  throw Error(message);
}

/// Where a generator is known by a name, and from which library it comes.
struct PatternName {
  std::string name;
  std::string library = {};  ///< empty: not from a plug-in

  std::string suffix() const { return library.empty() ? "" : fmt::format(" (plug-in {})", library); }
};

/// Rethrows what is being handled as an Error that names the pattern and the task at which it failed. Errors that name
/// their place already pass, except those of the builder, which does not know for whom it builds.
template <typename ForeignError>
[[noreturn]] void rethrow_named(const PatternName& pattern, const std::string& task) {
  constexpr std::string_view builder = "[attention graph] ";
  const auto message = [&](std::string_view reason) {
    return fmt::format("[{}] {}: {}{}", pattern.name, task, reason, pattern.suffix());
  };
  try {
    throw;
  } catch (const Error& error) {
    const std::string_view text = error.what();
    if (text.starts_with('[') && !text.starts_with(builder)) throw;
    throw_like<ShapeError, IndexError, TypeError, GraphError, ConfigError, DeviceError, IoError, AllocationError,
               AutogradError>(error, message(text.starts_with(builder) ? text.substr(builder.size()) : text));
  } catch (const std::bad_alloc&) {
    throw AllocationError(message("it does not fit into memory"));
  } catch (const std::exception& error) {
    throw ForeignError(message(error.what()));
  } catch (...) {
    throw ForeignError(message("it threw something that is no std::exception"));
  }
}

/// "a causal graph of 64 tokens".
std::string asked(const BuildOptions& options) {
  return fmt::format("a {}graph of {} token{}", options.causal ? "causal " : "", options.length,
                     options.length == 1 ? "" : "s");
}

std::int64_t checked_num_relations(const GraphGenerator& generator, const PatternName& pattern, std::int64_t length) {
  std::int64_t relations = 0;
  try {
    relations = generator.num_relations(length);
  } catch (...) {
    rethrow_named<GraphError>(pattern, fmt::format("num_relations({}) failed", length));
  }
  if (relations >= 0) return relations;
  throw GraphError(pattern.name, fmt::format("num_relations({}) is {}; a number of relations is not negative{}", length,
                                             relations, pattern.suffix()));
}

void require_causal_form(bool has_one, const PatternName& pattern, const BuildOptions& options) {
  if (has_one || !options.causal) return;
  throw ConfigError(pattern.name,
                    fmt::format(R"(has no causal form; {{"kind": "causal", "of": {{"kind": "{}", ...}}}} restricts )"
                                "it to edges from the past",
                                pattern.name));
}

/// What validate() cannot know: whether the graph is the one that was asked for.
void require_as_asked(const AttentionGraph& graph, const GraphGenerator& generator, const PatternName& pattern,
                      const BuildOptions& options) {
  if (options.causal && !graph.causal) {
    throw GraphError(pattern.name,
                     fmt::format("was asked for a causal graph and built one that is not; hand the options to "
                                 "AttentionGraphBuilder{}",
                                 pattern.suffix()));
  }
  if (graph.num_tokens() != options.length) {
    throw GraphError(pattern.name, fmt::format("was asked for a graph of {} tokens and built one of {}{}",
                                               options.length, graph.num_tokens(), pattern.suffix()));
  }
  const std::int64_t relations = checked_num_relations(generator, pattern, options.length);
  if (graph.num_relations() <= relations) return;
  throw GraphError(pattern.name,
                   fmt::format("num_relations({0}) is {1}, but its graph of {0} tokens has {2} relations{3}",
                               options.length, relations, graph.num_relations(), pattern.suffix()));
}

AttentionGraph build_and_check(const GraphGenerator& generator, const PatternName& pattern,
                               const BuildOptions& options) {
  AttentionGraph graph;
  try {
    graph = generator.build(options);
    graph.validate();
  } catch (...) {
    rethrow_named<GraphError>(pattern, fmt::format("could not build {}", asked(options)));
  }
  require_as_asked(graph, generator, pattern, options);
  return graph;
}

class CheckedGenerator final : public GraphGenerator {
 public:
  CheckedGenerator(std::unique_ptr<GraphGenerator> generator, PatternName pattern, bool causal)
      : generator_(std::move(generator)),
        pattern_(std::move(pattern)),
        supports_causal_(causal && generator_->supports_causal()) {}

  AttentionGraph build(const BuildOptions& options) const override {
    require_causal_form(supports_causal_, pattern_, options);
    return build_and_check(*generator_, pattern_, options);
  }

  double attention_degree(const BuildOptions& options) const override {
    require_causal_form(supports_causal_, pattern_, options);
    try {
      return generator_->attention_degree(options);
    } catch (...) {
      rethrow_named<GraphError>(pattern_, fmt::format("could not tell the degree of {}", asked(options)));
    }
  }

  std::int64_t num_relations(std::int64_t max_length) const override {
    return checked_num_relations(*generator_, pattern_, max_length);
  }
  bool supports_causal() const override { return supports_causal_; }
  std::optional<std::int64_t> fixed_length() const override { return generator_->fixed_length(); }

 private:
  std::unique_ptr<GraphGenerator> generator_;
  PatternName pattern_;
  bool supports_causal_;
};

PatternName name_of(const GeneratorDescription& description) {
  return {description.name, description.origin == "built in" ? "" : description.origin};
}

}  // namespace

std::unique_ptr<GraphGenerator> checked_generator(std::unique_ptr<GraphGenerator> generator,
                                                  const GeneratorDescription& description) {
  return std::make_unique<CheckedGenerator>(std::move(generator), name_of(description), description.causal);
}

std::unique_ptr<GraphGenerator> make_named(const GeneratorDescription& description,
                                           const std::function<std::unique_ptr<GraphGenerator>()>& factory) {
  std::unique_ptr<GraphGenerator> generator;
  try {
    generator = factory();
  } catch (...) {
    rethrow_named<ConfigError>(name_of(description), "could not be made");
  }
  if (generator == nullptr) throw ConfigError(description.name, "its factory returned nothing");
  return generator;
}

std::unique_ptr<GraphGenerator> make_member(const GeneratorRegistry& registry, const nlohmann::json& specification,
                                            const std::string& place) {
  try {
    return registry.make(specification);
  } catch (const ConfigError& error) {
    const std::string message = error.what();
    const std::size_t end = message.find("] ");
    if (!message.starts_with('[') || end == std::string::npos) throw;
    const std::string where = message.substr(1, end - 1), rest = message.substr(end + 2);
    if (where == "of" || where.starts_with("of[") || where.starts_with("of.")) {
      throw ConfigError(place + "." + where, rest);
    }
    throw ConfigError(place, where + ": " + rest);
  }
}

AttentionGraph build_checked(const GraphGenerator& generator, const BuildOptions& options) {
  if (dynamic_cast<const CheckedGenerator*>(&generator) != nullptr) return generator.build(options);
  const PatternName unnamed{"graph generator"};
  require_causal_form(generator.supports_causal(), unnamed, options);
  return build_and_check(generator, unnamed, options);
}

}  // namespace bough
