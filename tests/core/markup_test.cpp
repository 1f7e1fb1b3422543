#include "src/core/markup.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace bough {
namespace {

TEST(EscapeXml, LeavesNothingThatEndsATextOrAnAttribute) {
  EXPECT_EQ(escape_xml(R"(a<b & "c" > d)"), "a&lt;b &amp; &quot;c&quot; &gt; d");
  EXPECT_EQ(escape_xml(""), "");
}

TEST(JsonForScript, CannotCloseTheElementAndReadsBackTheSame) {
  const nlohmann::json data = {{"text", "</script><b>"}, {"n", 1}};
  const std::string text = json_for_script(data);
  EXPECT_EQ(text.find('<'), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(text), data);
  EXPECT_EQ(json_for_script("\xff"), "\"\xef\xbf\xbd\"");
}

TEST(FillPage, LooksAtNothingItPutIn) {
  EXPECT_EQ(fill_page("<@A@|@B@|@A@|@C@ x@y>", {{"@A@", "@B@"}, {"@B@", "2"}}), "<@B@|2|@B@|@C@ x@y>");
}

}  // namespace
}  // namespace bough
