#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/graph/plugin.h"
#include "tests/graph/generators/edge_list.h"

namespace bough {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string error_of(const std::filesystem::path& library, GeneratorRegistry& registry) {
  try {
    load_plugin(library, registry);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// Loads what must not load, and checks that nothing has changed.
std::string refusal_of(const std::filesystem::path& library) {
  GeneratorRegistry registry = generators();
  const std::string message = error_of(library, registry);
  EXPECT_EQ(registry.list().size(), generators().list().size());
  EXPECT_FALSE(registry.contains("added_before_the_clash"));
  EXPECT_FALSE(registry.contains("added_before_the_throw"));
  EXPECT_EQ(registry.make("bpt")->build({.length = 4}).graph.num_nodes(), 7);
  return message;
}

TEST(LoadPlugin, AddsTheGeneratorsOfALibrary) {
  GeneratorRegistry registry = generators();
  load_plugin(PLUGIN_good, registry);
  const AttentionGraph graph = registry.make("every_second")->build({.length = 4, .causal = true});
  EXPECT_EQ(test::rows_of(graph.graph), (std::vector<std::vector<std::int32_t>>{{0}, {1}, {0, 2}, {1, 3}}));
  EXPECT_FALSE(generators().contains("every_second"));
  for (const GeneratorDescription& description : registry.list()) {
    EXPECT_EQ(description.origin == "built in", description.name != "every_second");
  }
}

TEST(LoadPlugin, WorksInsideCombinators) {
  GeneratorRegistry registry = generators();
  load_plugin(PLUGIN_good, registry);
  const auto both = registry.make({{"kind", "union"}, {"of", {"every_second", {{"kind", "window"}, {"width", 1}}}}});
  EXPECT_EQ(both->build({.length = 4, .causal = true}).graph.num_edges(), 4 + 2 + 3);
}

TEST(LoadPlugin, DoesNothingTheSecondTime) {
  GeneratorRegistry registry = generators();
  load_plugin(PLUGIN_good, registry);
  EXPECT_NO_THROW(load_plugin(PLUGIN_good, registry));
  EXPECT_EQ(registry.list().size(), generators().list().size() + 1);
}

TEST(LoadPlugin, RefusesAnotherVersionOfTheInterface) {
  EXPECT_THAT(refusal_of(PLUGIN_other_version),
              AllOf(HasSubstr("other_version"), HasSubstr("of the generator interface"), HasSubstr("build it anew")));
}

TEST(LoadPlugin, RefusesALibraryWithoutTheEntry) {
  EXPECT_THAT(refusal_of(PLUGIN_no_entry), HasSubstr("extern \"C\" void bough_register"));
}

TEST(LoadPlugin, RefusesALibraryThatNeedsWhatIsNotThere) {
  EXPECT_THAT(refusal_of(PLUGIN_missing_symbol), AllOf(HasSubstr("it needs bough::function_of_another_version(int)"),
                                                       HasSubstr("another version of bough")));
  EXPECT_THAT(refusal_of(PLUGIN_missing_object),
              AllOf(HasSubstr("it needs left_out(double)"), Not(HasSubstr("another version of bough"))));
}

TEST(LoadPlugin, LeavesNothingBehindWhenANameIsTaken) {
  EXPECT_THAT(refusal_of(PLUGIN_name_taken), HasSubstr("there is already a generator called 'bpt' (built in)"));
}

TEST(LoadPlugin, LeavesNothingBehindWhenTheLibraryThrows) {
  EXPECT_THAT(refusal_of(PLUGIN_throws), HasSubstr("the licence server is asleep"));
  EXPECT_THAT(refusal_of(PLUGIN_throws_number), HasSubstr("no std::exception"));
}

TEST(LoadPlugin, RefusesALibraryThatAddsNothing) {
  EXPECT_THAT(refusal_of(PLUGIN_adds_nothing), HasSubstr("registered no generators"));
}

TEST(LoadPlugin, RefusesFilesThatAreNoLibraries) {
  EXPECT_THAT(refusal_of("no/such/library.so"), HasSubstr("there is no file 'no/such/library.so'"));
  EXPECT_THAT(refusal_of("libbough_no_such_library.so"), HasSubstr("no library of that name where the system"));
  EXPECT_THAT(refusal_of(""), HasSubstr("there is no file"));
  EXPECT_THAT(refusal_of(std::filesystem::temp_directory_path()), HasSubstr("is a folder, not a shared library"));
  const auto text = std::filesystem::temp_directory_path() / "bough_plugin_test.so";
  std::ofstream(text) << "not a library";
  EXPECT_THAT(refusal_of(text), HasSubstr("is no shared library"));
  std::filesystem::remove(text);
}

// The system maps a library without looking at its size, and a part that is not there is a bus error.
TEST(LoadPlugin, RefusesALibraryOfAnyShorterLength) {
  std::ifstream good(PLUGIN_good, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(good)), {});
  const auto cut = std::filesystem::temp_directory_path() / "bough_plugin_test_cut.so";
  for (const std::size_t size : {std::size_t{0}, std::size_t{3}, std::size_t{20}, std::size_t{64}, std::size_t{200},
                                 std::size_t{4096}, content.size() / 4, content.size() / 3}) {
    std::ofstream(cut, std::ios::binary) << content.substr(0, size);
    EXPECT_THAT(refusal_of(cut), testing::AnyOf(HasSubstr("is empty"), HasSubstr("is no shared library"),
                                                HasSubstr("is cut short: it has " + std::to_string(size) + " bytes")));
  }
  std::filesystem::remove(cut);
}

}  // namespace
}  // namespace bough
