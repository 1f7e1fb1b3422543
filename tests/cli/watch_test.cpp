#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <stdio.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/cli/program.h"
#include "tests/support/files.h"

namespace bough::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

/// Waits until a condition holds, as long as the program that is to bring it about runs.
template <typename Condition>
bool comes_true(RunningProgram& program, const Condition& condition) {
  while (!condition()) {
    if (program.has_ended()) return condition();
    std::this_thread::sleep_for(20ms);
  }
  return true;
}

std::vector<std::string> run_arguments(const std::string& folder, const std::string& steps) {
  return {"run",    R"({"name": "tiny", "graph": {"kind": "bpt", "k": 1},
                     "task": {"corpus": {"kind": "turn_taking", "train_characters": 3000, "valid_characters": 300,
                                         "test_characters": 500}, "length": 32},
                     "model": {"layers": 1, "dim": 8, "heads": 1, "ffn": 8},
                     "train": {"tokens_per_batch": 64, "log_every": 5, "evaluate_every": 10}})",
          "--out",  folder,
          "--jobs", "1",
          "--set",  "train.steps=" + steps};
}

/// `bough watch` on a free port of its own.
class Watch {
 public:
  explicit Watch(const std::string& folder) : program_({"watch", folder, "--port", "0"}) {
    const std::string begin = "http://127.0.0.1:";
    if (!comes_true(program_, [&] { return program_.output().find("/ shows") != std::string::npos; })) {
      ADD_FAILURE() << program_.result().errors;
      return;
    }
    const std::string output = program_.output();
    port_ = std::stoi(output.substr(output.find(begin) + begin.size()));
  }

  int port() const { return port_; }
  std::string address() const { return "http://127.0.0.1:" + std::to_string(port_) + "/"; }
  httplib::Result get(const std::string& path, const httplib::Headers& headers = {}) const {
    httplib::Client client("127.0.0.1", port_);
    client.set_read_timeout(60, 0);
    return client.Get(path, headers);
  }
  json data() const {
    const httplib::Result answer = get("/data.json");
    return answer ? json::parse(answer->body, nullptr, false) : json();
  }
  RunningProgram& program() { return program_; }

 private:
  RunningProgram program_;
  int port_ = 0;
};

TEST(Watch, ShowsTheCurveOfARunThatTrainsAsItGrows) {
  const TemporaryFolder folder;
  RunningProgram run(run_arguments(folder.file("out"), "1000000"));
  ASSERT_TRUE(comes_true(run, [&] { return std::filesystem::exists(folder.file("out/results.json")); }))
      << run.result().errors;
  Watch watch(folder.file("out"));
  const auto points = [&] {
    const json data = watch.data();
    if (!data.is_object() || data["curves"].empty()) return std::size_t{0};
    return data["curves"][0]["points"].size();
  };
  ASSERT_TRUE(comes_true(run, [&] { return points() > 2; })) << run.result().errors;
  const std::size_t before = points();
  EXPECT_TRUE(comes_true(run, [&] { return points() > before; }));
  const json data = watch.data();
  EXPECT_EQ(data["curves"][0]["status"], "running");
  EXPECT_TRUE(data["curves"][0]["points"][1].contains("valid_bpc"));
  EXPECT_GT(data["runs"][0]["tokens_per_second"], 0);
  const httplib::Result page = watch.get("/");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->status, 200);
  EXPECT_THAT(page->body, HasSubstr("bpt-k1"));

  run.interrupt();
  EXPECT_EQ(run.result().exit_code, 1) << "interrupted";
  watch.program().interrupt();
  const ProgramResult ended = watch.program().result();
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_EQ(ended.errors, "");
}

TEST(Watch, AnswersNothingButItsPageToNothingButItsOwnName) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_bough(run_arguments(folder.file("out"), "10")).exit_code, 0);
  write_file(folder.file("secret"), "secret");
  Watch watch(folder.file("out"));
  const std::string port = std::to_string(watch.port());
  for (const char* path : {"/results.json", "/../secret", "/..%2fsecret", "//etc/passwd", "/runs/bpt-k1/log.jsonl"}) {
    const httplib::Result answer = watch.get(path);
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->status, 404) << path;
  }
  EXPECT_EQ(watch.get("/", {{"Host", "evil.example:" + port}})->status, 403) << "a page of another site";
  EXPECT_EQ(watch.get("/data.json", {{"Host", "127.0.0.1.evil.example"}})->status, 403);
  EXPECT_EQ(watch.get("/data.json", {{"Host", "localhost:" + port}})->status, 200);
  httplib::Client client("127.0.0.1", watch.port());
  EXPECT_EQ(client.Post("/data.json")->status, 404);

  const httplib::Result first = watch.get("/data.json");
  const std::string tag = first->get_header_value("ETag");
  EXPECT_EQ(watch.get("/data.json", {{"If-None-Match", tag}})->status, 304) << "nothing has changed";
  std::ofstream(folder.file("out/runs/bpt-k1/log.jsonl"), std::ios::app) << "{}\n";
  EXPECT_EQ(watch.get("/data.json", {{"If-None-Match", tag}})->status, 200);
  write_file(folder.file("out/results.json"), "no longer JSON");
  EXPECT_EQ(watch.get("/data.json")->status, 503) << "said, not ended";
}

TEST(Watch, SaysThatAPortIsTakenOrThatThereAreNoResults) {
  const TemporaryFolder folder;
  const ProgramResult nothing = run_bough({"watch", folder.file("out")});
  EXPECT_EQ(nothing.exit_code, 1);
  EXPECT_THAT(nothing.errors, HasSubstr("is not there; name a folder that bough run has written"));
  ASSERT_EQ(run_bough(run_arguments(folder.file("out"), "2")).exit_code, 0);
  const Watch watch(folder.file("out"));
  const ProgramResult second = run_bough({"watch", folder.file("out"), "--port", std::to_string(watch.port())});
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.errors, HasSubstr("--port 0"));
  EXPECT_EQ(run_bough({"watch", folder.file("out"), "--port", "70000"}).exit_code, 2);
}

/// A browser that stays on the page while a log grows shows steps that were not there when it loaded.
TEST(Watch, ThePageInABrowserUpdatesItself) {
  if (std::string(BOUGH_CHROMIUM).empty()) GTEST_SKIP() << "no Chromium here; tools/setup --tests installs it";
  const TemporaryFolder folder;
  ASSERT_EQ(run_bough(run_arguments(folder.file("out"), "20")).exit_code, 0);
  // As if the run were still under way.
  json results = json::parse(file_content(folder.file("out/results.json")));
  results["runs"][0]["status"] = "running";
  write_file(folder.file("out/results.json"), results.dump());
  Watch watch(folder.file("out"));
  std::atomic<bool> ended = false;
  std::thread trainer([&] {
    std::ofstream log(folder.file("out/runs/bpt-k1/log.jsonl"), std::ios::app);
    for (int step = 1000; !ended; step += 5) {
      log << json{{"step", step}, {"loss", 1.5}, {"seconds", step}, {"valid_bpc", 2}, {"tokens_per_second", 9}} << "\n"
          << std::flush;
      std::this_thread::sleep_for(50ms);
    }
  });
  const std::string command = "timeout 120 " BOUGH_CHROMIUM
                              " --headless --no-sandbox --disable-gpu --virtual-time-budget=20000 --user-data-dir=" +
                              folder.file("profile") + " --dump-dom " + watch.address() + " 2>/dev/null";
  std::string dom;
  {
    const std::unique_ptr<FILE, int (*)(FILE*)> browser(::popen(command.c_str(), "r"), ::pclose);
    char buffer[4096];
    while (const std::size_t got = std::fread(buffer, 1, sizeof(buffer), browser.get())) dom.append(buffer, got);
  }
  ended = true;
  trainer.join();
  EXPECT_THAT(dom, HasSubstr("Live: 1 run under way."));
  // The data that came with the page, and the row of the run after later answers.
  const std::string row = "<td>bpt-k1</td><td>", curve = "\"step\":";
  const std::size_t place = dom.find(row);
  ASSERT_NE(place, dom.npos) << dom.substr(0, 3000);
  const int shown = std::stoi(dom.substr(place + row.size()));
  const std::size_t data = dom.find("id=\"data\""), end = dom.find("</script>", data);
  const std::string loaded = dom.substr(data, end - data);
  const int first = std::stoi(loaded.substr(loaded.rfind(curve) + curve.size()));
  EXPECT_GT(shown, first);
}

}  // namespace
}  // namespace bough::test
