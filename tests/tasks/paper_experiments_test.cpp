// The experiments in the settings of BP-Transformer's authors: graphs and models, without data and without training.
// Edges of bpt were counted by a program of its own that walks through the rule "slot" token by token.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "bough/core/json.h"
#include "tasks/language_model/char_lm.h"
#include "tasks/runner/experiment.h"
#include "tasks/transformer_settings.h"
#include "tasks/translation/translation.h"

namespace bough::runner {
namespace {

using nlohmann::json;

constexpr std::int64_t dim = 512, hidden = 2048, layers = 12, head_dim = 64;

Experiment shipped(const std::string& name) {
  const std::string file = std::string(BOUGH_EXPERIMENTS) + "/" + name + ".json";
  return read_experiment(read_json_file(file), {.file = file});
}

std::int64_t length_of(const PlannedRun& run) { return run.checked.task.integer("length"); }

struct Expected {
  std::int64_t nodes, edges, relations, tables;  ///< tables: rows of positions that are trained
};

/// Counts of a run against those expected, and the parameters against a sum over what the model is made of.
void expect_counts(const PlannedRun& run, std::int64_t vocabulary, const Expected& expected) {
  SCOPED_TRACE(run.config.dump());
  const auto generator = generators().make(run.checked.graph);
  const AttentionGraph graph = window_graph(*generator, length_of(run));
  EXPECT_EQ(graph.graph.num_nodes(), expected.nodes);
  EXPECT_EQ(graph.graph.num_edges(), expected.edges);

  const CharacterModelOptions options =
      character_model_options(run.checked.model, vocabulary, *generator, length_of(run));
  EXPECT_EQ(options.transformer.layer.num_relations, expected.relations);
  EXPECT_EQ(options.transformer.layers, layers);
  // All layers are alike: a model of one tells how many parameters twelve have.
  CharacterModelOptions one = options;
  one.transformer.layers = 1;
  const CharacterModel model(one);
  const std::int64_t layer = model.transformer().layer(0).parameter_count();
  const std::int64_t projections = 4 * dim * dim, norms = 4 * dim;
  EXPECT_EQ(layer, projections + 2 * dim * hidden + hidden + dim + norms + expected.relations * head_dim);
  const std::int64_t parameters = model.parameter_count() + (layers - 1) * layer;
  EXPECT_EQ(parameters, (vocabulary + 2 + expected.tables) * dim + layers * layer) << "tied; one norm of the inputs";
  EXPECT_NEAR(static_cast<double>(parameters), 38e6, 1.5e6);
}

TEST(PaperExperiments, HaveTheAuthorsModelAndTraining) {
  for (const std::string corpus : {"enwik8", "text8"}) {
    for (const std::string& name : {corpus, "context_length_" + corpus, "attention_degree_" + corpus}) {
      for (const PlannedRun& run : shipped(name).runs) {
        SCOPED_TRACE(name + " " + run.name);
        const Settings &model = run.checked.model, &train = run.checked.train;
        EXPECT_EQ(run.config["task"]["corpus"]["path"], corpus + "/" + corpus + ".gz");
        EXPECT_EQ(model.string("norm"), "post");
        EXPECT_TRUE(model.boolean("tied"));
        EXPECT_TRUE(model.boolean("input_norm"));
        EXPECT_TRUE(model.boolean("bias"));
        EXPECT_FALSE(model.boolean("attention_bias"));
        EXPECT_EQ(model.integer("layers"), layers);
        EXPECT_EQ(model.integer("dim"), dim);
        EXPECT_EQ(model.integer("heads"), dim / head_dim);
        EXPECT_EQ(model.integer("ffn"), hidden);
        EXPECT_DOUBLE_EQ(model.number("input_scale") * std::sqrt(static_cast<double>(dim)), 1)
            << "norm(dropout(embedding + position)) has no factor";
        for (const char* dropout : {"dropout", "attention_dropout", "input_dropout", "output_dropout"}) {
          EXPECT_EQ(model.number(dropout), 0.1) << dropout;
        }
        EXPECT_EQ(train.string("optimizer"), "adam");
        EXPECT_EQ(train.number("beta1"), 0.9);
        EXPECT_EQ(train.number("beta2"), 0.98);
        EXPECT_EQ(train.number("epsilon"), 1e-8);
        EXPECT_EQ(train.number("weight_decay"), 0);
        EXPECT_EQ(train.number("clip"), 0.25);
        EXPECT_EQ(train.string("schedule"), "cosine");
        EXPECT_EQ(train.integer("warmup"), 4000);
        EXPECT_EQ(train.number("final_fraction"), 0);
        if (!name.starts_with("context_length")) {
          EXPECT_EQ(train.integer("steps"), 400'000);
        }
        EXPECT_EQ(train.string("auxiliary"), "fade_by_layer");
        const bool longest = length_of(run) == 8192;
        EXPECT_EQ(train.number("learning_rate"), longest ? 5.8e-4 : 4.1e-4);
        EXPECT_EQ(train.integer("tokens_per_batch") / length_of(run), longest ? 8 : 32768 / length_of(run));
        const bool bpt = run.checked.graph["kind"] == "bpt";
        EXPECT_EQ(model.string("positions"), bpt ? "relations" : "sinusoidal");
        EXPECT_TRUE(!bpt || run.checked.graph["alignment"] == "slot");
        if (run.checked.graph["kind"] == "sparse_fixed") {
          EXPECT_EQ(run.checked.graph, json({{"kind", "sparse_fixed"}, {"stride", 128}, {"c", 8}}));
          EXPECT_EQ(model.integer("block_positions"), 128);
        }
        const std::int64_t evaluated = run.checked.task.optional_integer("evaluation_length").value();
        EXPECT_EQ(evaluated, bpt && !longest ? 2 * length_of(run) : length_of(run));
      }
    }
  }
}

TEST(PaperExperiments, CiteWhatWasPublishedOfTheSameText) {
  const std::map<std::string, std::map<std::string, double>> published{
      {"enwik8", {{"HM-LSTM", 1.32}, {"BPT, context 512", 1.07}, {"BPT, context 8192", 1.02}}},
      {"text8", {{"HM-LSTM", 1.29}, {"BPT, context 512", 1.16}, {"BPT, context 8192", 1.11}}}};
  const auto cited_in = [](const Experiment& experiment, const std::string& system) {
    const auto cited = std::ranges::find(experiment.references, system + " (published)", &Reference::name);
    return cited == experiment.references.end() ? std::nullopt : std::optional(cited->value);
  };
  for (const auto& [corpus, figures] : published) {
    for (const std::string& name : {corpus, "context_length_" + corpus, "attention_degree_" + corpus}) {
      const Experiment experiment = shipped(name);
      for (const auto& [system, value] : figures) {
        SCOPED_TRACE(name + " " + system);
        const bool has_its_length = system != "BPT, context 8192" || name.starts_with("context_length");
        EXPECT_EQ(cited_in(experiment, system), has_its_length ? std::optional(value) : std::nullopt);
      }
    }
  }
  const std::map<std::string, std::map<std::string, double>> of_texts{
      {"sst5", {{"BPT", 0.5271}, {"Star-Transformer", 0.529}, {"Transformer", 0.504}, {"BCN+CoVe", 0.537}}},
      {"imdb", {{"BPT", 0.9212}, {"Star-Transformer", 0.905}, {"Transformer", 0.8924}, {"BCN+CoVe", 0.918}}}};
  for (const auto& [corpus, figures] : of_texts) {
    for (const std::string& name : {corpus, corpus + "_k", corpus + "_patterns"}) {
      const Experiment experiment = shipped(name);
      EXPECT_EQ(experiment.references.size(), figures.size());
      for (const auto& [system, value] : figures) EXPECT_EQ(cited_in(experiment, system), value) << name << system;
    }
  }
}

TEST(PaperExperiments, OfEveryContextLengthHaveTheGraphAndTheParametersOfThePaper) {
  const std::map<std::int64_t, std::int64_t> edges{
      {512, 73016}, {1024, 198012}, {2048, 510718}, {4096, 1265311}, {8192, 3036767}};
  for (const auto& [corpus, vocabulary] : std::map<std::string, std::int64_t>{{"enwik8", 205}, {"text8", 27}}) {
    const Experiment experiment = shipped("context_length_" + corpus);
    ASSERT_EQ(experiment.runs.size(), edges.size());
    for (const PlannedRun& run : experiment.runs) {
      const std::int64_t length = length_of(run), levels = run.checked.graph["clip_levels"];
      EXPECT_EQ(length, 512 << (levels - 2));
      expect_counts(run, vocabulary, {2 * length - 1, edges.at(length), (2 * 64 + 1) * (levels + 1), 0});
      const bool ends = length == 512 || length == 8192;
      EXPECT_EQ(run.checked.train.integer("steps"), corpus == "text8" ? (ends ? 400'000 : 600'000)
                                                    : length == 8192  ? 200'000
                                                                      : 400'000);
    }
    const Experiment shortest = shipped(corpus);
    ASSERT_EQ(shortest.runs.size(), 1u);
    expect_counts(shortest.runs.front(), vocabulary, {1023, edges.at(512), (2 * 64 + 1) * 3, 0});
  }
}

TEST(PaperExperiments, OfAttentionDegreesHaveTheirGraphsAndPositions) {
  const std::map<std::int64_t, std::int64_t> edges{{1, 9217},   {2, 12054},  {4, 16749},  {8, 24243},
                                                   {16, 35639}, {32, 51870}, {64, 73016}, {128, 97248}};
  for (const auto& [corpus, vocabulary] : std::map<std::string, std::int64_t>{{"enwik8", 205}, {"text8", 27}}) {
    const Experiment experiment = shipped("attention_degree_" + corpus);
    std::map<std::string, int> kinds;
    for (const PlannedRun& run : experiment.runs) {
      const json& graph = run.checked.graph;
      ++kinds[graph["kind"]];
      std::int64_t count = 0;
      if (graph["kind"] == "bpt") {
        const std::int64_t k = graph["k"];
        expect_counts(run, vocabulary, {1023, edges.at(k), (2 * k + 1) * 7, 0});
      } else if (graph["kind"] == "window") {
        for (std::int64_t i = 0; i < 512; ++i) count += std::min<std::int64_t>(i, graph["width"]) + 1;
        expect_counts(run, vocabulary, {512, count, 0, 0});
      } else {
        for (std::int64_t i = 0; i < 512; ++i) count += i % 128 + 1 + 8 * (i / 128);
        // Tables of 4 blocks and of 128 places in a block.
        expect_counts(run, vocabulary, {512, count, 0, 4 + 128});
      }
    }
    EXPECT_EQ(kinds, (std::map<std::string, int>{{"bpt", 8}, {"sparse_fixed", 1}, {"window", 5}}));
  }
}

/// p_i, p_h, p_a, p_c.
std::vector<double> dropouts(const Settings& model) {
  return {model.number("input_dropout"), model.number("dropout"), model.number("attention_dropout"),
          model.number("output_dropout")};
}

TEST(PaperExperiments, OfClassificationHaveTheAuthorsModelAndTraining) {
  for (const std::string name : {"sst5", "sst5_k", "sst5_patterns", "imdb", "imdb_k", "imdb_patterns"}) {
    const bool sst = name.starts_with("sst5");
    for (const PlannedRun& run : shipped(name).runs) {
      SCOPED_TRACE(name + " " + run.name);
      const Settings &model = run.checked.model, &train = run.checked.train;
      EXPECT_EQ(model.integer("layers"), sst ? 4 : 5);
      EXPECT_EQ(model.integer("dim"), 300);
      EXPECT_EQ(model.integer("ffn"), 600);
      EXPECT_EQ(model.integer("heads"), 6);
      EXPECT_EQ(model.string("norm"), "post");
      EXPECT_TRUE(model.boolean("input_norm"));
      EXPECT_TRUE(model.boolean("freeze_embeddings"));
      EXPECT_EQ(dropouts(model), sst ? (std::vector{0.4, 0.1, 0.3, 0.4}) : (std::vector{0.5, 0.1, 0.3, 0.5}));
      EXPECT_EQ(train.integer("texts_per_batch"), sst ? 1024 : 32);
      EXPECT_EQ(train.number("epochs"), sst ? 40 : 60);
      EXPECT_EQ(train.number("learning_rate"), sst ? 2.5e-4 : 1e-4);
      EXPECT_EQ(train.string("schedule"), sst ? "exponential" : "constant");
      if (sst) {
        EXPECT_EQ(train.number("epoch_factor"), 0.98);
        EXPECT_EQ(train.string("weight_decay_of"), "matrices");
      }
      EXPECT_EQ(train.number("weight_decay"), sst ? 5e-5 : 0);
      EXPECT_EQ(train.string("best_by"), "loss");
      if (run.checked.graph["kind"] != "bpt") continue;
      EXPECT_EQ(model.string("positions"), "relations");
      EXPECT_EQ(run.checked.graph["alignment"], "slot");
      EXPECT_EQ(run.checked.graph["clip_levels"], sst ? 2 : 5);
    }
  }
  const auto ks = [](const std::string& name) {
    std::set<std::int64_t> found;
    for (const PlannedRun& run : shipped(name).runs) found.insert(run.checked.graph["k"].get<std::int64_t>());
    return found;
  };
  EXPECT_EQ(ks("sst5"), (std::set<std::int64_t>{2}));
  EXPECT_EQ(ks("imdb"), (std::set<std::int64_t>{4}));
  EXPECT_EQ(ks("sst5_k"), (std::set<std::int64_t>{1, 2, 4, 8, 16}));
  EXPECT_EQ(ks("imdb_k"), (std::set<std::int64_t>{1, 2, 4, 8, 16, 32, 64}));
  EXPECT_EQ(shipped("sst5_k").runs.front().checked.task.integer("shifts"), 7);
}

TEST(PaperExperiments, OfPatternsGiveSinusoidsToThoseThatHaveNoRelationsInThePaper) {
  for (const std::string corpus : {"sst5", "imdb"}) {
    const Experiment experiment = shipped(corpus + "_patterns");
    const json published = shipped(corpus).runs.front().checked.graph;
    std::map<std::string, int> seeds;
    std::map<std::string, double> degree;
    for (const PlannedRun& run : experiment.runs) {
      const json& graph = run.checked.graph;
      const std::string kind = graph["kind"];
      ++seeds[kind];
      if (kind == "bpt") {
        EXPECT_EQ(graph, published);
      }
      const bool by_relations = kind == "bpt" || kind == "star";
      EXPECT_EQ(run.checked.model.string("positions"), by_relations ? "relations" : "sinusoidal") << kind;
      degree[kind] =
          attention_degree(generators().make(graph)->build({.length = run.checked.task.integer("degree_length")}));
    }
    EXPECT_EQ(seeds, (std::map<std::string, int>{{"bpt", 5}, {"full", 5}, {"star", 5}, {"window", 5}}));
    EXPECT_NEAR(degree["window"] / degree["bpt"], 1, 0.05) << "findings compare patterns of about equal degree";
  }
  EXPECT_EQ(shipped("sst5_patterns").runs.front().checked.task.integer("shifts"), 7);
}

TEST(PaperExperiments, OfInferenceHaveThreeLayersOverEachSentenceAndThreeAcross) {
  const Experiment experiment = shipped("snli");
  EXPECT_EQ(experiment.runs.size(), 3u) << "seeds";
  for (const PlannedRun& run : experiment.runs) {
    const Settings &model = run.checked.model, &train = run.checked.train;
    EXPECT_EQ(model.integer("layers"), 3);
    EXPECT_TRUE(model.boolean("cross"));
    EXPECT_EQ(model.integer("dim"), 300);
    EXPECT_EQ(model.integer("ffn"), 600);
    EXPECT_EQ(model.integer("heads"), 6);
    EXPECT_EQ(model.integer("hidden"), 600);
    EXPECT_EQ(model.string("norm"), "post");
    EXPECT_TRUE(model.boolean("input_norm"));
    EXPECT_TRUE(model.boolean("freeze_embeddings"));
    EXPECT_EQ(dropouts(model), (std::vector{0.0, 0.1, 0.1, 0.1}));
    EXPECT_EQ(run.checked.graph, json({{"kind", "bpt"}, {"k", 4}, {"alignment", "slot"}, {"clip_levels", 2}}));
    EXPECT_EQ(train.integer("texts_per_batch"), 128);
    EXPECT_EQ(train.string("optimizer"), "adam");
    EXPECT_EQ(train.number("learning_rate"), 2.5e-4);
    EXPECT_EQ(train.string("schedule"), "exponential");
    EXPECT_EQ(train.integer("warmup"), 0);
    EXPECT_EQ(train.number("epochs"), 40);
    EXPECT_NEAR(train.number("final_fraction"), std::pow(0.98, 40), 1e-4) << "a factor of 0.98 an epoch";
    EXPECT_EQ(train.number("clip"), 0);
    EXPECT_EQ(train.string("best_by"), "loss");
  }
}

TEST(PaperExperiments, OfThroughputHaveTheModelAndThePatternsOfThePaper) {
  const Experiment experiment = shipped("throughput");
  std::map<std::int64_t, std::set<std::string>> patterns;
  for (const PlannedRun& run : experiment.runs) {
    EXPECT_EQ(run.checked.model.integer("layers"), 6);
    EXPECT_EQ(run.checked.model.integer("dim"), 512);
    EXPECT_EQ(run.checked.model.integer("ffn"), 2048);
    EXPECT_EQ(run.checked.model.integer("heads"), 8);
    EXPECT_EQ(run.checked.train.integer("tokens_per_batch"), 8192);
    const json& graph = run.checked.graph;
    patterns[length_of(run)].insert(graph["kind"] == "bpt" ? "k" + graph["k"].dump()
                                                           : graph["kind"].get<std::string>());
  }
  const std::set<std::string> all{"full", "k1", "k4", "k16", "k64"};
  EXPECT_EQ(patterns, (std::map<std::int64_t, std::set<std::string>>{
                          {512, all}, {1024, all}, {2048, all}, {4096, all}, {8192, all}}));
}

/// 1 / sqrt(512 warmup), times the factor: the highest rate of the schedule.
double noam_peak(double factor, double warmup) { return factor / std::sqrt(static_cast<double>(dim) * warmup); }

TEST(PaperExperiments, OfTranslationHaveTheAuthorsModelAndTraining) {
  for (const std::string name : {"iwslt15_zh_en", "wmt14_en_de"}) {
    const bool documents = name == "iwslt15_zh_en";
    for (const PlannedRun& run : shipped(name).runs) {
      SCOPED_TRACE(name + " " + run.name);
      const Settings &task = run.checked.task, &model = run.checked.model, &train = run.checked.train;
      EXPECT_EQ(model.integer("layers"), 6);
      EXPECT_FALSE(model.has("decoder_layers"));
      EXPECT_EQ(model.integer("dim"), dim);
      EXPECT_EQ(model.integer("heads"), dim / head_dim);
      EXPECT_EQ(model.integer("ffn"), hidden);
      EXPECT_EQ(model.string("norm"), "post");
      EXPECT_TRUE(model.boolean("input_norm"));
      EXPECT_TRUE(model.boolean("tied"));
      EXPECT_DOUBLE_EQ(model.number("input_scale") * std::sqrt(static_cast<double>(dim)), 1);
      EXPECT_EQ(train.string("schedule"), "noam");
      EXPECT_EQ(train.integer("warmup"), documents ? 8000 : 4000);
      EXPECT_NEAR(train.number("learning_rate"), documents ? noam_peak(1, 8000) : noam_peak(2, 4000), 1e-7);
      EXPECT_EQ(train.string("optimizer"), "adam");
      EXPECT_EQ(train.number("beta1"), 0.9);
      EXPECT_EQ(train.number("beta2"), 0.98);
      EXPECT_EQ(train.number("label_smoothing"), 0.1);
      EXPECT_EQ(train.integer("average_checkpoints"), 10);
      EXPECT_EQ(train.integer("gradient_accumulation"), documents ? 1 : 2);
      EXPECT_EQ(task.integer("beam"), 5);
      EXPECT_EQ(task.string("tokenize"), documents ? "13a" : "intl");
      const Settings vocabulary = task.object("vocabulary");
      EXPECT_EQ(vocabulary.boolean("joint"), !documents);
      if (documents) {
        EXPECT_EQ(vocabulary.integer("size"), 30'000);
      }
      const bool bpt = run.checked.graph["kind"] == "bpt";
      EXPECT_EQ(model.string("positions"), bpt ? "relations" : "sinusoidal");
      EXPECT_TRUE(!bpt || run.checked.graph["alignment"] == "slot");
      EXPECT_TRUE(!bpt || run.checked.graph["clip_levels"] == (documents ? 3 : 2));
    }
  }
}

TEST(PaperExperiments, OfTranslationSweepContextsOrDensities) {
  std::map<std::string, std::set<std::int64_t>> contexts;
  for (const PlannedRun& run : shipped("iwslt15_zh_en").runs) {
    const json& graph = run.checked.graph;
    const std::string pattern = graph["kind"] == "bpt" ? "bpt " + graph["k"].dump() : graph["kind"].get<std::string>();
    contexts[pattern].insert(run.checked.task.integer("context"));
  }
  const std::set<std::int64_t> all{0, 32, 64, 128};
  EXPECT_EQ(contexts, (std::map<std::string, std::set<std::int64_t>>{{"bpt 4", all}, {"bpt 8", all}, {"full", all}}));

  std::set<std::string> patterns;
  for (const PlannedRun& run : shipped("wmt14_en_de").runs) {
    const json& graph = run.checked.graph;
    patterns.insert(graph["kind"] == "bpt" ? "bpt " + graph["k"].dump() : graph["kind"].get<std::string>());
    EXPECT_EQ(run.checked.task.integer("context"), 0);
  }
  EXPECT_EQ(patterns, (std::set<std::string>{"bpt 1", "bpt 2", "bpt 4", "bpt 8", "full"}));
}

TEST(PaperExperiments, OfTranslationCiteWhatWasPublished) {
  const std::map<std::string, std::map<std::string, double>> published{
      {"iwslt15_zh_en",
       {{"Transformer", 18.85},
        {"BPT, no context", 19.19},
        {"BPT, context 32", 19.84},
        {"Transformer+cache", 17.32},
        {"HAN-NMT", 17.79}}},
      {"wmt14_en_de",
       {{"ByteNet", 23.75}, {"GNMT", 24.6}, {"ConvS2S", 25.16}, {"Transformer", 27.2}, {"BPT, k = 4", 27.6}}}};
  for (const auto& [name, figures] : published) {
    const Experiment experiment = shipped(name);
    EXPECT_EQ(experiment.references.size(), figures.size());
    for (const auto& [system, value] : figures) {
      SCOPED_TRACE(name + " " + system);
      const auto cited = std::ranges::find(experiment.references, system + " (published)", &Reference::name);
      ASSERT_NE(cited, experiment.references.end());
      EXPECT_EQ(cited->value, value);
    }
  }
}

/// A layer of the encoder has 4 projections, of the decoder 8; the relations of a tree with 6 + 1 levels, the upper
/// ones clipped.
TEST(PaperExperiments, OfTranslationHaveTheParametersOfThePaper) {
  for (const PlannedRun& run : shipped("wmt14_en_de").runs) {
    SCOPED_TRACE(run.name);
    const tasks::TranslationPatterns patterns = tasks::translation_patterns(run.checked.model, run.checked.graph);
    const std::int64_t longest = tasks::longest_sequence(run.checked.task);
    nn::GraphTransformerOptions encoder = tasks::transformer_options(run.checked.model, *patterns.encoder, longest);
    const bool bpt = run.checked.graph["kind"] == "bpt";
    const std::int64_t relations = bpt ? (2 * run.checked.graph["k"].get<std::int64_t>() + 1) * 3 : 0;
    EXPECT_EQ(encoder.layer.num_relations, relations);
    constexpr std::int64_t vocabulary = 37000;
    const TranslationModel model({.source_vocabulary = vocabulary,
                                  .target_vocabulary = vocabulary,
                                  .encoder = encoder,
                                  .decoder = {.layers = 6, .layer = encoder.layer},
                                  .input = tasks::input_layer_options(run.checked.model, longest),
                                  .shared_embeddings = true});
    const std::int64_t feed_forward = 2 * dim * hidden + hidden + dim, norm = 2 * dim;
    const std::int64_t encoder_layer = 4 * dim * dim + feed_forward + 2 * norm + relations * head_dim;
    const std::int64_t decoder_layer = 8 * dim * dim + feed_forward + 3 * norm + relations * head_dim;
    EXPECT_EQ(model.parameter_count(), vocabulary * dim + norm + 6 * (encoder_layer + decoder_layer));
    EXPECT_NEAR(static_cast<double>(model.parameter_count()), 63e6, 1.5e6);
  }
}

}  // namespace
}  // namespace bough::runner
