#include <gtest/gtest.h>
#include <stdio.h>

#include <algorithm>
#include <memory>

#include "tests/report/results_sample.h"
#include "tests/support/files.h"
#include "tools/report/report.h"

namespace bough::report {
namespace {

using nlohmann::json;

/// What a script says at the end of the page, in a real browser without a network.
json asked_in_browser(std::string page, const std::string& script, const std::string& options = "") {
  const test::TemporaryFolder folder;
  const std::string probe = "<script>document.body.innerHTML = \"<pre id='seen'>\" + JSON.stringify((() => {" + script +
                            "})()).replaceAll(\"<\", \"\\\\u003c\") + \"</pre>\";</script></body>";
  page.replace(page.rfind("</body>"), 7, probe);
  test::write_file(folder.file("page.html"), page);
  const std::string command = "timeout 120 " BOUGH_CHROMIUM " --headless --no-sandbox --disable-gpu " + options +
                              " --user-data-dir=" + folder.file("profile") + " --dump-dom file://" +
                              folder.file("page.html") + " 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> browser(::popen(command.c_str(), "r"), ::pclose);
  std::string dom;
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof(buffer), browser.get())) dom.append(buffer, got);
  const std::string begin = "<pre id=\"seen\">";
  const std::size_t from = dom.find(begin), to = dom.find("</pre>", from);
  if (from == dom.npos || to == dom.npos) {
    ADD_FAILURE() << "the browser showed: " << dom.substr(0, 2000);
    return {};
  }
  return json::parse(dom.substr(from + begin.size(), to - from - begin.size()));
}

TEST(ReportPage, ThePointsInTheBrowserAreTheNumbersOfTheResults) {
  const Summary summary = summarize(runner::sample_results());
  const json shown = asked_in_browser(to_html(summary), R"(
    const points = (id, scale) => Chart.getChart(id).data.datasets.filter((set) => !set.isBound)
      .flatMap((set) => set.data.map((point) => [point.label, point.x, point.y * scale, point.deviation * scale]));
    const quality = Chart.getChart("quality");
    return {quality: points("quality", 1), speed: points("speed", 1), memory: points("memory", 1e6),
            bounds: quality.data.datasets.filter((set) => set.isBound).map((set) => set.data[0].y),
            dashes: quality.data.datasets.map((set) => [set.borderColor, String(set.borderDash), set.pointStyle]),
            curves: Chart.getChart("curves").data.datasets.map((set) => [set.label, set.data.map((point) => [point.x, point.y])])};)");
  ASSERT_TRUE(shown.is_object());
  ASSERT_EQ(shown["quality"].size(), summary.points.size());
  for (const Point& point : summary.points) {
    const auto find = [&](const char* plot) {
      for (const json& entry : shown[plot]) {
        if (entry[0] == point.label) return entry;
      }
      return json();
    };
    EXPECT_EQ(find("quality")[1], point.degree);
    EXPECT_EQ(find("quality")[2], point.metric.mean);
    EXPECT_EQ(find("quality")[3], point.metric.deviation);
    EXPECT_EQ(find("speed")[2], point.tokens_per_second.mean);
    EXPECT_NEAR(find("memory")[2].get<double>(), point.memory_bytes.mean, 1);
  }
  EXPECT_EQ(shown["bounds"], json::array({0.425}));
  EXPECT_NE(shown["dashes"][0][1], shown["dashes"][1][1]) << "lines must differ in more than colour";
  EXPECT_NE(shown["dashes"][0][2], shown["dashes"][1][2]);
  ASSERT_EQ(shown["curves"].size(), 6u);
  EXPECT_EQ(shown["curves"][0][1][1], json::array({10, 0.68 + 0.01}));
}

TEST(ReportPage, PlotsAgainstTheLengthAppearWhereThereAreSeveral) {
  const std::string question = R"(
    const chart = Chart.getChart("speed-by-length");
    return {shown: getComputedStyle(document.getElementById("length-part")).display !== "none",
            points: chart ? chart.data.datasets.map((set) => [set.label, set.data.map((point) => [point.x, point.y])]) : []};)";
  const json without = asked_in_browser(to_html(summarize(runner::sample_results())), question);
  EXPECT_EQ(without["shown"], false);
  const json with = asked_in_browser(to_html(summarize(runner::sample_of_two_lengths())), question);
  EXPECT_EQ(with["shown"], true);
  ASSERT_EQ(with["points"].size(), 3u);
  EXPECT_EQ(with["points"][0], json::parse(R"(["window-width20", [[256, 30015], [512, 30015]]])"));
}

TEST(ReportPage, FitsAPhoneAndAnswersTheArrowKeys) {
  const json shown = asked_in_browser(to_html(summarize(runner::sample_results())), R"(
    const canvas = document.getElementById("quality");
    canvas.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
    return {wide: document.documentElement.scrollWidth > window.innerWidth,
            spoken: document.getElementById("quality-spoken").textContent, tabs: canvas.tabIndex};)",
                                      "--window-size=360,740");
  EXPECT_EQ(shown["wide"], false);
  EXPECT_NE(shown["spoken"], "");
  EXPECT_EQ(shown["tabs"], 0);
}

TEST(ReportPage, AnArrowKeyGoesOnePointFurtherAlsoAfterTheColoursHaveChanged) {
  const json spoken = asked_in_browser(to_html(summarize(runner::sample_results())), R"(
    drawAll();
    const canvas = document.getElementById("quality");
    return [1, 2, 3].map(() => {
      canvas.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
      return document.getElementById("quality-spoken").textContent;
    });)");
  ASSERT_EQ(spoken.size(), 3u);
  EXPECT_TRUE(spoken[0].get<std::string>().starts_with("window-width20")) << spoken;
  EXPECT_TRUE(spoken[1].get<std::string>().starts_with("window-width64")) << spoken;
  EXPECT_TRUE(spoken[2].get<std::string>().starts_with("bpt-k4")) << spoken;
}

TEST(ReportPage, HasAxesThatHoldTheErrorBarsAndSeveralTicks) {
  const json seen = asked_in_browser(to_html(summarize(runner::sample_results())), R"(
    return charts.slice(0, 1).map((chart) => ({
      low: chart.scales.y.min, high: chart.scales.y.max, ticks: chart.scales.x.ticks.length,
      ends: data.points.flatMap((point) => [point.metric.mean - point.metric.deviation, point.metric.mean + point.metric.deviation])}));)")
      [0];
  for (const double end : seen["ends"]) {
    EXPECT_LE(seen["low"].get<double>(), end);
    EXPECT_GE(seen["high"].get<double>(), end);
  }
  EXPECT_GE(seen["ticks"], 3);
}

TEST(ReportPage, MarksPowersOfTwoExactlyAndLeavesTheScatterOfOneSeedEmpty) {
  const json seen = asked_in_browser(to_html(summarize(runner::sample_of_two_lengths())), R"(
    const axis = {min: 500, max: 8192};
    powersOfTwo(axis);
    return {ticks: axis.ticks.map((tick) => tick.value),
            rows: [...document.querySelectorAll("tbody tr")].map((row) => [row.cells[4].textContent, row.cells[5].textContent])};)");
  EXPECT_EQ(seen["ticks"], json::parse("[512, 1024, 2048, 4096, 8192]"));
  for (const json& row : seen["rows"]) EXPECT_EQ(row[0] == "", row[1] == "1") << row;
}

TEST(ReportPage, TellsMoreLinesApartThanThereAreColours) {
  const json different = asked_in_browser(to_html(summarize(runner::sample_results())), R"(
    const looks = Array.from({length: 24}, (_, index) => JSON.stringify(look(index)));
    return new Set(looks).size;)");
  EXPECT_EQ(different, 24);
}

}  // namespace
}  // namespace bough::report
