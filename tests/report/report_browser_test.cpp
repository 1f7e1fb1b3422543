#include <gtest/gtest.h>

#include <algorithm>

#include "tests/report/results_sample.h"
#include "tests/support/browser.h"
#include "tools/report/report.h"

namespace bough::report {
namespace {

using nlohmann::json;
using test::asked_in_browser;

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
    const chart = Chart.getChart("speed_by_length");
    return {shown: document.getElementById("speed_by_length") !== null,
            points: chart ? chart.data.datasets.map((set) => [set.label, set.data.map((point) => [point.x, point.y])]) : []};)";
  const json without = asked_in_browser(to_html(summarize(runner::sample_results())), question);
  EXPECT_EQ(without["shown"], false);
  const json with = asked_in_browser(to_html(summarize(runner::sample_of_two_lengths())), question);
  EXPECT_EQ(with["shown"], true);
  ASSERT_EQ(with["points"].size(), 3u);
  EXPECT_EQ(with["points"][1], json::parse(R"(["window-width20", [[256, 30015], [512, 30015]]])"));
}

TEST(ReportPage, FitsAPhoneAndAnswersTheArrowKeys) {
  const json shown = asked_in_browser(to_html(summarize(runner::sample_results())), R"(
    const canvas = document.getElementById("quality");
    canvas.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
    return {screen: innerWidth, wide: document.documentElement.scrollWidth > window.innerWidth,
            spoken: document.getElementById("quality-spoken").textContent, tabs: canvas.tabIndex};)",
                                      {.width = 360});
  EXPECT_EQ(shown["screen"], 360);
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
  EXPECT_TRUE(spoken[0].get<std::string>().starts_with("bpt-k4")) << spoken;
  EXPECT_TRUE(spoken[1].get<std::string>().starts_with("window-width20")) << spoken;
  EXPECT_TRUE(spoken[2].get<std::string>().starts_with("window-width64")) << spoken;
}

TEST(ReportPage, HasAxesThatBeginWithTheDataHoldTheErrorBarsAndHaveSeveralTicks) {
  const json seen = asked_in_browser(to_html(summarize(runner::sample_results())), R"(
    const chart = Chart.getChart("quality");
    return {low: chart.scales.y.min, high: chart.scales.y.max, ticks: chart.scales.x.ticks.length,
            left: chart.scales.x.min, right: chart.scales.x.max,
            ends: data.points.flatMap((point) => [point.metric.mean - point.metric.deviation, point.metric.mean + point.metric.deviation])};)");
  EXPECT_NEAR(seen["left"].get<double>(), 20.1796875 / 1.1, 0.1);
  EXPECT_NEAR(seen["right"].get<double>(), 56.75 * 1.1, 0.1);
  for (const double end : seen["ends"]) {
    EXPECT_LE(seen["low"].get<double>(), end);
    EXPECT_GE(seen["high"].get<double>(), end);
  }
  EXPECT_GE(seen["ticks"], 3);
}

TEST(ReportPage, HasTheSameColoursInEveryPlotAndTellsCurvesOfOnePatternApart) {
  const json seen = asked_in_browser(to_html(summarize(runner::sample_of_two_lengths())), R"(
    const colours = {}, names = {}, groups = new Map();
    for (const canvas of document.querySelectorAll("main canvas")) {
      const sets = Chart.getChart(canvas).data.datasets.filter((set) => !set.isBound);
      names[canvas.id] = sets.map((set) => set.label);
      if (["curves", "losses"].includes(canvas.id)) {
        for (const set of sets.filter((set) => set.group)) groups.set(set.group, [set.borderColor, String(set.borderDash), set.pointStyle].join());
      } else {
        for (const set of sets) (colours[data.points[set.data[0].point].kind] ??= new Set()).add(set.borderColor.slice(0, 7));
      }
    }
    return {kinds: Object.fromEntries(Object.entries(colours).map(([kind, all]) => [kind, [...all]])), names,
            groups: groups.size, looks: new Set(groups.values()).size, plain: data.points.map((point) => [point.kind, point.style.colour])};)");
  EXPECT_EQ(seen["names"].size(), 8u) << seen["names"];
  for (const json& names : seen["names"]) EXPECT_TRUE(names[0].get<std::string>().starts_with("bpt")) << names;
  EXPECT_EQ(seen["groups"], 6) << "seeds of one setting share a line's look, lengths and widths do not";
  EXPECT_EQ(seen["looks"], 6);
  for (const json& point : seen["plain"]) EXPECT_EQ(seen["kinds"][point[0].get<std::string>()][0], point[1]);
}

TEST(ReportPage, ShowsRunsCurvesAndConfigurationOfThePointThatIsClicked) {
  const json seen = asked_in_browser(to_html(summarize(runner::sample_results())), R"(
    const state = () => ({open: document.getElementById("point").open, name: document.getElementById("point-name").textContent,
      runs: [...document.querySelectorAll("#point-runs tr")].map((row) => [row.cells[0].textContent, row.cells[1].textContent]),
      curves: Chart.getChart("point-curves")?.data.datasets.map((set) => set.label) ?? [],
      config: document.getElementById("point-config").textContent});
    const before = state().open;
    const chart = Chart.getChart("quality"), place = chart.canvas.getBoundingClientRect();
    const target = chart.getDatasetMeta(1).data[0];
    chart.canvas.dispatchEvent(new MouseEvent("click", {bubbles: true, clientX: place.left + target.x, clientY: place.top + target.y}));
    await new Promise((done) => setTimeout(done, 300));
    const clicked = state();
    document.getElementById("point").close();
    const canvas = document.getElementById("memory");
    for (const key of ["ArrowRight", "Enter"]) canvas.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
    const entered = state();
    document.getElementById("point").close();
    document.querySelectorAll("#settings [data-point]")[2].click();
    return {before, clicked, entered, row: state()};)");
  EXPECT_EQ(seen["before"], false);
  EXPECT_EQ(seen["clicked"]["open"], true);
  EXPECT_EQ(seen["clicked"]["name"], "window-width20");
  EXPECT_EQ(seen["clicked"]["runs"],
            json::parse(R"([["window-width20-seed1", "0.9"], ["window-width20-seed2", "0.91"]])"));
  EXPECT_EQ(seen["clicked"]["curves"], json::parse(R"(["window-width20-seed1", "window-width20-seed2"])"));
  EXPECT_EQ(json::parse(seen["clicked"]["config"].get<std::string>())["graph"]["width"], 20);
  EXPECT_EQ(seen["entered"]["name"], "bpt-k4");
  EXPECT_EQ(seen["row"]["name"], "window-width64");
}

TEST(ReportPage, ShowsScatterBesideTheMeanAndTimesThatCannotBeComparedWithAMark) {
  runner::Results results = runner::sample_results();
  results.runs[4].waited_share = 0.5;
  const json seen = asked_in_browser(to_html(summarize(results)), R"(
    return {cells: [...document.querySelectorAll("#settings tbody tr")].map((row) => [...row.cells].map((cell) => cell.textContent.replaceAll("\u00a0", " "))),
            speeds: Chart.getChart("speed").data.datasets.flatMap((set) => set.data.map((point) => point.label))};)");
  EXPECT_EQ(seen["cells"][1][3], "0.7000 ± 0.0283");
  EXPECT_EQ(seen["cells"][2][3], "0.6100") << "one seed has no scatter";
  EXPECT_EQ(seen["cells"][1][9], "30015 ± 7");
  EXPECT_EQ(seen["cells"][2][9], "30010 *");
  EXPECT_EQ(seen["speeds"], json::parse(R"(["bpt-k4", "window-width20"])"));
}

TEST(ReportPage, ScrollsTablesInThemselvesAndDrawsPicturesLargeEnough) {
  const json seen = asked_in_browser(to_html(summarize(runner::sample_results())), R"(
    await Promise.all([...document.images].map((image) => image.decode()));
    const [table, findings] = ["settings", "findings"].map((id) => document.getElementById(id).parentElement);
    document.querySelector("[data-point]").click();
    const dialog = document.getElementById("point").getBoundingClientRect();
    return {page: document.documentElement.scrollWidth, column: table.querySelector("td").clientWidth, table: table.scrollWidth, shown: table.clientWidth, screen: innerWidth,
            findings: [findings.scrollWidth, findings.clientWidth],
            dialog: [dialog.left, dialog.right],
            pictures: [...document.images].map((image) => image.getBoundingClientRect().width),
            different: new Set([...document.images].map((image) => image.src.replace(/title.*title/, ""))).size};)",
                                     {.width = 400});
  EXPECT_EQ(seen["screen"], 400);
  EXPECT_LE(seen["page"], seen["screen"]);
  EXPECT_GT(seen["table"], seen["shown"]);
  EXPECT_GT(seen["findings"][0], seen["findings"][1]);
  EXPECT_GE(seen["column"], 100) << "names are not broken into letters";
  EXPECT_GE(seen["dialog"][0], 0);
  EXPECT_LE(seen["dialog"][1], seen["screen"]);
  ASSERT_EQ(seen["pictures"].size(), 3u);
  for (const json& width : seen["pictures"]) EXPECT_GE(width, 250);
  EXPECT_EQ(seen["different"], 3);
}

/// The colour of the middle of a picture's right upper half, where causal attention has nothing but paper.
json paper_of_pictures(const test::Screen& screen) {
  return asked_in_browser(to_html(summarize(runner::sample_results())), R"(
    await Promise.all([...document.images].map((image) => image.decode()));
    return [...document.images].map((image) => {
      const canvas = document.createElement("canvas");
      canvas.width = canvas.height = 100;
      const context = canvas.getContext("2d");
      context.drawImage(image, 0, 0, 100, 100);
      return [...context.getImageData(90, 10, 1, 1).data].slice(0, 3);
    });)",
                          screen);
}

TEST(ReportPage, DrawsPicturesOnDarkPaperWhereThePageIsDark) {
  const json light = paper_of_pictures({}),
             dark = paper_of_pictures({.options = "--blink-settings=preferredColorScheme=0"});
  ASSERT_EQ(dark.size(), 3u);
  for (const json& colour : light) EXPECT_EQ(colour, json({255, 255, 255}));
  for (const json& colour : dark) EXPECT_LT(colour[0], 64) << colour;
}

/// The sample with three seeds of the two patterns that are near in degree, and the best step of each run.
runner::Results sample_of_three_seeds() {
  runner::Results results = runner::sample_results();
  results.runs.push_back(runner::sample_run({{"kind", "bpt"}, {"k", 4}}, 3, 21.0078125, 0.71));
  results.runs.push_back(runner::sample_run({{"kind", "window"}, {"width", 20}}, 3, 20.1796875, 0.905));
  for (runner::RunResult& run : results.runs) {
    run.best_step = 5;
    run.last_metrics = {{"bpc", 0.95}};
  }
  return results;
}

TEST(ReportPage, ShowsValidationAndTrainingLossWithARingAtTheBestStep) {
  const json seen = asked_in_browser(to_html(summarize(sample_of_three_seeds())), R"(
    const rings = (id) => Chart.getChart(id).data.datasets.map((set) => [set.label, set.data.map((point) => [point.x, point.y]),
      set.data.filter((point) => point.best).map((point) => point.x), Math.max(...set.radius) > Math.min(...set.radius)]);
    document.querySelector("#settings [data-point]").click();
    return {losses: rings("losses"), curves: rings("curves"), of_point: [rings("point-curves"), rings("point-losses")],
            axis: Chart.getChart("losses").options.scales.y.title.text,
            rows: [...document.querySelectorAll("#point-runs tr")].map((row) => [row.cells[3].textContent, row.cells[4].textContent])};)");
  EXPECT_EQ(seen["losses"].size(), 8u);
  EXPECT_EQ(seen["losses"][0], json::parse(R"(["bpt-k4-seed1", [[5, 1.5], [10, 1.2]], [5], true])"));
  EXPECT_EQ(seen["curves"][0][2], json::array({5}));
  EXPECT_EQ(seen["axis"], "training loss");
  for (const json& plot : seen["of_point"]) {
    ASSERT_EQ(plot.size(), 3u) << plot;
    for (const json& line : plot) EXPECT_EQ(line[2], json::array({5}));
  }
  EXPECT_EQ(seen["rows"], json::parse(R"([["5", "0.95"], ["5", "0.95"], ["5", "0.95"]])"));
}

TEST(ReportPage, HasATableOfFindingsWithSignsTestsAndWhatTheyMean) {
  const std::string question = R"(
    const text = (element) => element.textContent.replaceAll("\u00a0", " ").trim();
    const rows = [...document.querySelectorAll("#findings tbody tr")].map((row) => [...row.cells].map(text));
    document.querySelector("#findings [data-point]").click();
    return {rows, head: [...document.querySelectorAll("#findings th")].map(text), method: text(document.querySelector(".method")),
            opened: document.getElementById("point-name").textContent};)";
  const json seen = asked_in_browser(to_html(summarize(sample_of_three_seeds())), question);
  ASSERT_EQ(seen["rows"].size(), 1u);
  const json& row = seen["rows"][0];
  EXPECT_EQ(row[0], "bpt-k4degree 21.0");
  EXPECT_EQ(row[1], "▲ ahead");
  EXPECT_EQ(row[2], "0.703 ± 0.021");
  EXPECT_EQ(row[3], "window-width20degree 20.2");
  EXPECT_EQ(row.size(), seen["head"].size());
  EXPECT_EQ(row[row.size() - 1], "3");
  EXPECT_EQ(seen["opened"], "bpt-k4");
  const std::string method = seen["method"];
  for (const char* word : {"standard deviation", "paired t-test", "0.05", "other seeds"}) {
    EXPECT_NE(method.find(word), std::string::npos) << word << " in: " << method;
  }
  const json few = asked_in_browser(to_html(summarize(runner::sample_results())), question);
  EXPECT_EQ(few["rows"][0][1], "? cannot tellat least 3 are needed");
}

TEST(ReportPage, MarksTimesOfSingleRunsThatCannotBeCompared) {
  runner::Results results = runner::sample_results();
  results.runs[0].waited_share = 0.5;
  const json seen = asked_in_browser(to_html(summarize(results)), R"(
    document.querySelectorAll("#settings [data-point]")[1].click();
    return {runs: [...document.querySelectorAll("#point-runs tr")].map((row) => [row.cells[6].textContent, row.cells[7].textContent]),
            bars: Chart.getChart("speed").data.datasets.flatMap((set) => set.data).filter((point) => point.label === "bpt-k4").map((point) => [point.y, point.deviation])};)");
  EXPECT_EQ(seen["runs"], json::parse(R"([["2 *", "30010 *"], ["2", "30020"]])"));
  EXPECT_EQ(seen["bars"], json::parse("[[30020, 0]]")) << "the disturbed seed is in no mean and no error bar";
}

TEST(ReportPage, ListsTheMachineInATable) {
  runner::Results results = runner::sample_results();
  results.host = {{"processor", "<fast"}, {"cores", 2}, {"libraries", {{"oneTBB", "2021.8"}}}};
  const json seen = asked_in_browser(to_html(summarize(results)), R"(
    return [...document.querySelectorAll(".facts tr")].map((row) => [...row.cells].map((cell) => cell.textContent));)");
  EXPECT_EQ(seen, json::parse(R"([["cores", "2"], ["libraries oneTBB", "2021.8"], ["processor", "<fast"]])"));
}

TEST(ReportPage, DrawsCitedFiguresAsNamedLinesThatAreNoPoints) {
  runner::Results results = runner::sample_results();
  results.references = {{"Other <system", 0.55, "A 2017"}, {"Third", 0.553, ""}};
  const json seen = asked_in_browser(to_html(summarize(results)), R"(
    const sets = Chart.getChart("quality").data.datasets;
    const canvas = document.getElementById("quality");
    const spoken = [1, 2, 3, 4].map(() => {
      canvas.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
      return document.getElementById("quality-spoken").textContent;
    });
    const dashes = sets.map((set) => String(set.borderDash));
    return {cited: sets.filter((set) => set.nameOnLine).map((set) => [set.label, set.nameOnLine, set.data[0].y]),
            told: describe(sets.at(-2), sets.at(-2).data[0]), spoken, unique: dashes.filter((dash) => dash === dashes.at(-1)).length,
            speed: Chart.getChart("speed").data.datasets.filter((set) => set.nameOnLine).length,
            rows: [...document.querySelectorAll("#cited tbody tr")].map((row) => [...row.cells].map((cell) => cell.textContent)),
            measured: document.querySelectorAll("#settings tbody tr").length};)");
  EXPECT_EQ(seen["cited"], json::parse(R"x([["Other <system (cited)", "Other <system 0.55 (cited)", 0.55],
                                           ["Third (cited)", "Third 0.553 (cited)", 0.553]])x"));
  EXPECT_EQ(seen["told"], "Other <system, cited, A 2017: 0.55");
  EXPECT_EQ(seen["unique"], 2) << "no series and no bound has their dashes";
  EXPECT_EQ(seen["speed"], 0);
  for (const json& point : seen["spoken"]) EXPECT_EQ(point.get<std::string>().find("cited"), std::string::npos);
  EXPECT_EQ(seen["rows"], json::parse(R"([["Other <system", "0.5500", "published figure, cited", "A 2017"],
                                          ["Third", "0.5530", "published figure, cited", ""],
                                          ["ideal", "0.4250", "known bound", ""]])"));
  EXPECT_EQ(seen["measured"], 3);
}

TEST(ReportPage, ShowsClassesShiftsAndTheDirectionOfAnAccuracy) {
  const json seen = asked_in_browser(to_html(summarize(runner::sample_classification())), R"(
    const text = (row) => [...row.cells].map((cell) => cell.textContent);
    const rows = (selector) => [...document.querySelectorAll(selector)].map(text);
    const matrix = document.querySelector("#classes-1 .confusion");
    const share = (row, column) => getComputedStyle(matrix.tBodies[0].rows[row].cells[column]).backgroundColor;
    const closed = document.querySelector("#classes-1").open;
    document.querySelectorAll("#settings [data-point]")[1].click();
    const of_point = [...document.querySelectorAll("#point-classes table")].map((table) => table.className);
    document.getElementById("point").close();
    document.querySelector("#shifts [data-point]").click();
    return {settings: rows("#settings tr"), matrix: [...matrix.rows].map(text), scores: rows("#classes-1 .scores tbody tr"),
            heads: [...matrix.querySelectorAll("th")].map((head) => head.scope), closed, of_point,
            shades: [share(0, 1), share(0, 2), share(0, 3)], shifts: rows("#shifts tr"),
            opened: document.getElementById("point-name").textContent, runs: rows("#point-head tr").concat(rows("#point-runs tr")),
            lines: Chart.getChart("quality_by_shift").data.datasets.map((set) => [set.label, set.data.map((point) => point.x)]),
            finding: rows("#findings tbody tr")[0], words: document.querySelector(".tall p").textContent};)");
  EXPECT_EQ(seen["settings"][0][4], "macro F1");
  EXPECT_EQ(seen["settings"][2][3], "0.9750 ± 0.0125");
  EXPECT_EQ(seen["settings"][2][4], "0.9650 ± 0.0125");
  EXPECT_EQ(seen["matrix"][0][2], "<neutral>");
  EXPECT_EQ(seen["matrix"][1], json::parse(R"(["very negative", "114", "6", "0"])")) << "of three seeds";
  EXPECT_EQ(seen["heads"], json::parse(R"(["col", "col", "col", "col", "row", "row", "row"])"));
  EXPECT_EQ(seen["scores"][0],
            json::parse(R"(["very negative", "1.000 ± 0.000", "0.950 ± 0.025", "0.974 ± 0.013", "40"])"));
  EXPECT_EQ(seen["closed"], false);
  EXPECT_EQ(seen["of_point"], json::parse(R"(["confusion", "scores"])"));
  EXPECT_NE(seen["shades"][0], seen["shades"][1]);
  EXPECT_NE(seen["shades"][1], seen["shades"][2]);
  EXPECT_EQ(seen["shifts"][0], json::parse(R"(["pattern", "0", "1", "2"])"));
  EXPECT_EQ(seen["shifts"][2][3], "0.8750 ± 0.0125");
  EXPECT_EQ(seen["opened"], "window-width20");
  EXPECT_EQ(seen["runs"][0][2], "test macro_f1");
  EXPECT_EQ(seen["runs"][1][2], "0.715");
  EXPECT_EQ(seen["lines"][1], json::parse(R"(["bpt-k4", [0, 1, 2]])"));
  EXPECT_EQ(seen["finding"][0], "bpt-k4degree 21.0");
  EXPECT_EQ(seen["finding"][1], "▲ ahead");
  EXPECT_NE(seen["words"].get<std::string>().find("Higher is better."), std::string::npos);
}

/// Thirty classes with long names.
TEST(ReportPage, ScrollsAWideConfusionMatrixInItself) {
  runner::Results results = runner::sample_classification();
  std::vector<std::string> labels;
  for (int i = 0; i < 30; ++i) labels.push_back("a class with a long name " + std::to_string(i));
  for (runner::RunResult& run : results.runs) {
    run.metrics["labels"] = labels;
    run.metrics["confusion"] = std::vector<std::vector<int>>(30, std::vector<int>(30, 17));
  }
  const json seen = asked_in_browser(to_html(summarize(results)), R"(
    document.querySelectorAll("details").forEach((details) => { details.open = true; });
    const box = document.querySelector("#classes-0 .scroll");
    document.querySelector("#settings [data-point]").click();
    const inside = document.querySelector("#point-classes .scroll"), dialog = document.getElementById("point");
    return {page: document.documentElement.scrollWidth, screen: innerWidth, box: [box.scrollWidth, box.clientWidth],
            inside: [inside.scrollWidth, inside.clientWidth], dialog: [dialog.scrollWidth, dialog.clientWidth]};)",
                                     {.width = 400});
  EXPECT_EQ(seen["screen"], 400);
  EXPECT_LE(seen["page"], seen["screen"]);
  EXPECT_GT(seen["box"][0], seen["box"][1]);
  EXPECT_GT(seen["inside"][0], seen["inside"][1]);
  EXPECT_EQ(seen["dialog"][0], seen["dialog"][1]);
}

TEST(ReportPage, MarksTheAxisAtTheValuesThatWereSwept) {
  const json seen = asked_in_browser(to_html(summarize(runner::sample_of_two_lengths())), R"(
    return Chart.getChart("quality_by_length").scales.x.ticks.map((tick) => tick.label);)");
  EXPECT_EQ(seen, json::parse(R"(["256", "512"])"));
}

}  // namespace
}  // namespace bough::report
