#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/files.h"

namespace bough::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(GraphCommand, PrintsTheEdgesOfTheSpecification) {
  const ProgramResult result =
      run_bough({"graph", R"({"kind":"bpt","k":1,"length":4,"causal":true,"alignment":"slot"})", "--edges"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output,
            "{\"num_nodes\":7,\"num_tokens\":4,\"root\":6,\"edges\":[[0,0,0],[0,1,1],[1,1,0],[0,2,4],[1,2,1],[2,2,0],"
            "[2,3,1],[3,3,0],[4,3,4],[0,4,3],[1,4,3],[2,5,3],[3,5,3],[0,6,6],[1,6,6],[2,6,6],[3,6,6]]}\n");
}

TEST(GraphCommand, SortsEdgesByDestinationThenSource) {
  const ProgramResult result = run_bough({"graph", R"({"kind":"bigbird","width":3,"length":700})", "--edges"});
  const json graph = json::parse(result.output);
  EXPECT_EQ(graph["num_tokens"], 700);
  EXPECT_TRUE(graph["root"].is_null());
  std::vector<std::pair<int, int>> edges;
  for (const json& edge : graph["edges"]) edges.emplace_back(edge[1], edge[0]);
  EXPECT_TRUE(std::ranges::is_sorted(edges));
  EXPECT_GT(edges.size(), 7000u);
}

TEST(GraphCommand, PrintsFigures) {
  const std::string specification = R"({"kind":"bpt","k":4,"length":64,"causal":true})";
  const ProgramResult text = run_bough({"graph", specification});
  EXPECT_EQ(text.exit_code, 0) << text.errors;
  EXPECT_THAT(text.output, AllOf(StartsWith("nodes         127 (64 tokens)\n"), HasSubstr("longest path  2\n")));
  const json values = json::parse(run_bough({"graph", specification, "--stats", "--json"}).output);
  EXPECT_EQ(values["num_nodes"], 127);
  EXPECT_EQ(values["num_edges"], 1218);
  EXPECT_EQ(values["levels"], 7);
  EXPECT_EQ(values["relations"], 77);
  EXPECT_EQ(values["token_degree"]["min"], 1);
  EXPECT_EQ(values["longest_path"]["steps"], 2);
  EXPECT_EQ(values["longest_path"]["exact"], true);
  EXPECT_GT(values["bytes"], 1218 * 12);
}

TEST(GraphCommand, TakesTheNameOfAPatternWithItsParameters) {
  const std::string json_form =
      run_bough({"graph", R"({"kind":"bpt","k":2,"alignment":"slot","length":20,"causal":true})", "--edges"}).output;
  const ProgramResult result =
      run_bough({"graph", "bpt", "--length", "20", "k=2", "alignment=slot", "--causal", "--edges"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output, json_form);
  EXPECT_EQ(run_bough({"graph", R"({"kind":"bpt","length":4})", "length=20", "k=2", "alignment=slot", "causal=true",
                       "--edges"})
                .output,
            json_form);
  EXPECT_THAT(run_bough({"graph", "btp", "--length", "4"}).errors, HasSubstr("did you mean \"bpt\"?"));
  EXPECT_THAT(run_bough({"graph", "bpt", "--length", "4", "k"}).errors, HasSubstr("parameters like k=4, not 'k'"));
  EXPECT_EQ(run_bough({"graph", "bpt"}).exit_code, 2);
}

TEST(GraphCommand, SaysWhichParameterGivesAWantedDegree) {
  const std::vector<std::string> window = {"graph", "window", "degree=14", "--length", "512", "--causal"};
  const auto with = [&](const char* option) {
    std::vector<std::string> arguments = window;
    arguments.emplace_back(option);
    return run_bough(arguments);
  };
  EXPECT_THAT(run_bough(window).output, StartsWith("chosen        width 13 gives degree 13.82 (wanted: 14)\nnodes "));
  EXPECT_EQ(json::parse(with("--json").output)["chosen"], json({{"wanted_degree", 14}, {"parameters", "width 13"}}));
  const ProgramResult edges = with("--edges");
  EXPECT_EQ(json::parse(edges.output)["num_nodes"], 512);
  EXPECT_EQ(edges.errors, "width 13 gives degree 13.82 (wanted: 14)\n");
}

TEST(GraphCommand, SaysWhenThePathsWereSampled) {
  const ProgramResult result = run_bough({"graph", R"({"kind":"window","width":1,"length":30000})"});
  EXPECT_THAT(result.output, AllOf(HasSubstr("longest path  at least "), HasSubstr("of the tokens")));
}

TEST(GraphCommand, ReadsASpecificationFromAFile) {
  const auto path = std::filesystem::temp_directory_path() / "bough_graph_test.json";
  std::ofstream(path) << R"({"kind": "window", "width": 1, "length": 3})";
  EXPECT_THAT(run_bough({"graph", path.string(), "--edges"}).output, HasSubstr("\"num_nodes\":3,"));
  std::filesystem::remove(path);
  EXPECT_EQ(run_bough({"graph", path.string()}).exit_code, 1);
}

TEST(GraphCommand, DrawsIntoFiles) {
  const auto folder = std::filesystem::temp_directory_path();
  const auto svg = folder / "bough_graph_test.svg";
  const auto html = folder / "bough_graph_test.html";
  const ProgramResult result = run_bough(
      {"graph", R"({"kind":"bpt","k":1,"length":16})", "--svg", svg.string(), "--html", html.string(), "--token", "3"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output, "");
  EXPECT_GT(std::filesystem::file_size(svg), 500u);
  EXPECT_GT(std::filesystem::file_size(html), 500u);
  std::filesystem::remove(svg);
  std::filesystem::remove(html);
  EXPECT_EQ(run_bough({"graph", R"({"kind":"bpt","length":4})", "--svg", svg.string(), "--token", "4"}).exit_code, 2);
}

TEST(GraphCommand, NamesThePatternAndItsParametersInPictures) {
  const TemporaryFolder folder;
  const auto drawn = [&](const std::string& specification) {
    const ProgramResult result =
        run_bough({"graph", specification, "--svg", folder.file("a.svg"), "--html", folder.file("a.html")});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return file_content(folder.file("a.svg")) + file_content(folder.file("a.html"));
  };
  EXPECT_THAT(drawn(R"({"kind":"bpt","k":2,"length":16,"causal":true})"),
              AllOf(HasSubstr("<title>bpt (alignment=pair, k=2), 16 tokens, causal: token 8 attends to "),
                    HasSubstr("<h1>bpt (alignment=pair, k=2), 16 tokens, causal</h1>")));
  EXPECT_THAT(drawn(R"({"kind":"star","length":5})"), HasSubstr("<h1>star, 5 tokens</h1>"));
}

TEST(GraphCommand, AnswersMistakesWithOneSentence) {
  const auto error_of = [](const std::string& specification) {
    const ProgramResult result = run_bough({"graph", specification});
    EXPECT_EQ(result.exit_code, 2) << specification;
    EXPECT_EQ(result.output, "");
    EXPECT_EQ(std::ranges::count(result.errors, '\n'), 1) << result.errors;
    return result.errors;
  };
  EXPECT_THAT(error_of(R"({"kind":"bpt","k":0,"length":4})"),
              HasSubstr("k must be a whole number from 1 to 65536, not 0"));
  EXPECT_THAT(error_of(R"({"kind":"bpt","length":0})"), HasSubstr("length must be"));
  EXPECT_THAT(error_of(R"({"kind":"bpt","length":3e9})"), HasSubstr("length must be"));
  EXPECT_THAT(error_of(R"({"kind":"bpt"})"), HasSubstr("length is missing"));
  EXPECT_THAT(error_of(R"({"kind":"window","width":-1,"length":4})"), HasSubstr("width must be"));
  EXPECT_THAT(error_of(R"({"kind":"widnow","length":4})"), HasSubstr("did you mean \"window\"?"));
  EXPECT_THAT(error_of(R"({"kind":"bpt","length":4,"k":NaN})"), HasSubstr("line 1, column"));
  EXPECT_THAT(error_of(R"({"kind":"star","length":4,"causal":true})"), HasSubstr("has no causal form"));
  EXPECT_THAT(error_of(std::string(100'000, '[')), HasSubstr("nest deeper"));
  EXPECT_EQ(run_bough({"graph", R"({"kind":"full","length":1000000})"}).exit_code, 1);
}

TEST(GraphCommand, SavesForNumPyAndReadsItBack) {
  const auto path = std::filesystem::temp_directory_path() / ("bough_graph_test_" + std::to_string(getpid()) + ".npz");
  const std::string specification = R"({"kind":"bpt","k":2,"length":20,"causal":true})";
  const ProgramResult saved = run_bough({"graph", specification, "--npz", path.string()});
  EXPECT_EQ(saved.exit_code, 0) << saved.errors;
  EXPECT_EQ(saved.output, "");
  const json from_file = {{"kind", "file"}, {"path", path.string()}, {"tokens", 20}, {"root", 40}};
  const json read = json::parse(run_bough({"graph", from_file.dump(), "--edges"}).output);
  EXPECT_EQ(read, json::parse(run_bough({"graph", specification, "--edges"}).output));
  std::filesystem::remove(path);
  EXPECT_EQ(run_bough({"graph", from_file.dump()}).exit_code, 1);
  EXPECT_EQ(run_bough({"graph", specification, "--npz", "graph.txt"}).exit_code, 2);
}

TEST(GraphCommand, RefusesToSaveEdgesThatAreNotTheWholePattern) {
  const TemporaryFolder folder;
  const std::string file = folder.file("graph.npz");
  const std::string star = R"({"kind":"star","length":8})";
  for (const auto& [specification, reason] : std::vector<std::pair<std::string, std::string>>{
           {star, "in stages, one after the other"},
           {R"({"kind":"sparse_strided","stride":4,"split_heads":true,"length":16})", "each group of heads"},
           {R"({"kind":"causal","of":{"kind":"sparse_strided","stride":4,"split_heads":true},"length":16})",
            "the edges of 'causal' are not the whole pattern: each group of heads"},
           {R"({"kind":"adaptive_span","max_span":4,"length":16})", "each head learns"}}) {
    const ProgramResult saved = run_bough({"graph", specification, "--npz", file, "--svg", folder.file("graph.svg")});
    EXPECT_EQ(saved.exit_code, 2) << specification;
    EXPECT_THAT(saved.errors, AllOf(HasSubstr("--npz cannot save this: "), HasSubstr(reason),
                                    HasSubstr("give an experiment the pattern itself")));
    EXPECT_EQ(std::ranges::count(saved.errors, '\n'), 1) << saved.errors;
    EXPECT_EQ(folder.num_files(), 0);
    const ProgramResult edges = run_bough({"graph", specification, "--edges"});
    EXPECT_EQ(edges.exit_code, 0) << edges.errors;
    EXPECT_THAT(edges.errors, AllOf(StartsWith("note: the edges of "), HasSubstr(reason)));
    EXPECT_TRUE(json::parse(edges.output).contains("edges"));
  }
  EXPECT_EQ(run_bough({"graph", star}).errors, "");
  // Its counts of sources and destinations are saved, and no experiment takes it for a pattern.
  EXPECT_EQ(run_bough({"graph", R"({"kind":"memory","length":8})", "--npz", file}).exit_code, 0);
  EXPECT_THAT(run_bough({"graph", json({{"kind", "file"}, {"path", file}}).dump()}).errors, HasSubstr("is bipartite"));
}

TEST(GraphCommand, ShowsHowAttentionWillComputeOnIt) {
  const std::string specification = R"({"kind":"bpt","k":4,"length":512,"causal":true})";
  const ProgramResult text = run_bough({"graph", specification, "--plan"});
  EXPECT_EQ(text.exit_code, 0) << text.errors;
  EXPECT_THAT(text.output,
              AllOf(HasSubstr("tiles "), HasSubstr("fill "), HasSubstr("edges in tiles"), HasSubstr("left to rows"),
                    HasSubstr("tiles take relation keys and dropout"), HasSubstr("bytes"), HasSubstr("milliseconds")));
  const json plan = json::parse(run_bough({"graph", specification, "--plan", "--json"}).output);
  const json figures = json::parse(run_bough({"graph", specification, "--json"}).output);
  EXPECT_GT(plan.at("tiled_share"), 0.9);
  EXPECT_EQ(plan.at("tile_edges").get<int>() + plan.at("row_edges").get<int>(), figures.at("num_edges"));
  EXPECT_GT(plan.at("bytes"), 0);
  EXPECT_EQ(plan.at("tile_options"), json({"relation_keys", "dropout"}));
}

TEST(GraphCommand, ShowsThePlanOfEachHeadGroup) {
  const std::string specification = R"({"kind":"sparse_strided","stride":8,"split_heads":true,"length":64})";
  const ProgramResult result = run_bough({"graph", specification, "--plan", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(std::ranges::count(result.output, '\n'), 2);
}

TEST(GraphCommand, AnswersWhatIsGivenTwiceOrNotAtAll) {
  const auto error = [](const std::vector<std::string>& arguments) {
    const ProgramResult result = run_bough(arguments);
    EXPECT_EQ(result.exit_code, 2);
    return result.errors;
  };
  EXPECT_THAT(error({"graph", "bpt", "k=4", "k=5", "--length", "8"}), HasSubstr("k is given twice"));
  EXPECT_THAT(error({"graph", R"({"kind":"window","length":16})", "--length", "8"}),
              HasSubstr("length is 16 in the graph, but --length says 8"));
  EXPECT_EQ(run_bough({"graph", R"({"kind":"window","length":8})", "--length", "8"}).exit_code, 0);
  EXPECT_THAT(error({"graph", "window"}), HasSubstr("--length N"));
}

TEST(GeneratorsCommand, AlignsTheDegreeWithTheOtherParameters) {
  const std::string text = run_bough({"generators"}).output;
  EXPECT_THAT(text, HasSubstr("\n  width   "));
  EXPECT_THAT(text, HasSubstr("\n  degree  the attention degree to have, above 0, instead of width (a number"));
}

TEST(GeneratorsCommand, ListsPatternsWithParameters) {
  const ProgramResult text = run_bough({"generators"});
  EXPECT_EQ(text.exit_code, 0) << text.errors;
  EXPECT_THAT(text.output, AllOf(HasSubstr("bpt: binary partition tree"), HasSubstr("default \"pair\""),
                                 HasSubstr("star: "), HasSubstr("not for causal use")));
  const json list = json::parse(run_bough({"generators", "--json"}).output);
  std::vector<std::string> names;
  for (const json& entry : list) names.push_back(entry["name"]);
  EXPECT_THAT(names, testing::IsSupersetOf({"adaptive_span", "bigbird",      "blocks",         "bpt",        "causal",
                                            "cross",         "dilated",      "file",           "expander",   "full",
                                            "hierarchical",  "kary",         "logsparse",      "longformer", "memory",
                                            "remap",         "sparse_fixed", "sparse_strided", "star",       "union",
                                            "window"}));
  for (const json& entry : list) {
    EXPECT_EQ(entry["origin"], "built in");
    if (entry["name"] != "bpt") continue;
    EXPECT_EQ(entry["parameters"][0]["name"], "k");
    EXPECT_EQ(entry["parameters"][0]["default"], 4);
  }
}

}  // namespace
}  // namespace bough::test
