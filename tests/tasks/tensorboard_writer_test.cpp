#include "tasks/training/tensorboard_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "bough/core/errors.h"
#include "bough/tasks/run_experiment.h"
#include "tests/support/files.h"
#include "tests/support/python.h"

namespace bough::training {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

TEST(Crc32c, IsThatOfRfc3720) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc32c(""), 0U);
}

/// The framing of TensorFlow's records, taken apart by hand.
TEST(TensorboardWriter, FramesRecordsWithTheirLengthAndMaskedChecksums) {
  const test::TemporaryFolder folder;
  TensorboardWriter::start(folder.file("events"));
  const std::string file = test::file_content(folder.file("events/events.out.tfevents.000001"));
  ASSERT_GT(file.size(), 16u);
  std::uint64_t length = 0;
  std::uint32_t checksum = 0;
  std::memcpy(&length, file.data(), 8);
  std::memcpy(&checksum, file.data() + 8, 4);
  EXPECT_EQ(length + 16, file.size());
  const std::uint32_t plain = crc32c(file.substr(0, 8));
  EXPECT_EQ(checksum, ((plain >> 15) | (plain << 17)) + 0xa282ead8U);
  EXPECT_NE(file.find("brain.Event:2"), std::string::npos);
}

TEST(TensorboardWriter, SaysWhereItCannotWrite) { EXPECT_THROW(TensorboardWriter::start("/dev/null/events"), IoError); }

/// What TensorBoard itself reads.
class Tensorboard : public testing::Test {
 protected:
  void SetUp() override {
    python_ = test::python_with("tensorboard.version");
    if (!python_) GTEST_SKIP() << "python3 has no tensorboard here; tools/setup --tests installs it";
  }

  /// {"scalars": {tag: [[step, value], ...]}, "raw": [[file, step, tags], ...], "text": ..., "hparams": {...}}: what
  /// TensorBoard shows after it has read the folder, and every record of every file, whose checksums are checked.
  json read(const std::string& folder) {
    EXPECT_TRUE(test::run_python(*python_, folder_, R"(
import glob, json
folder = ")" + folder + R"("
from tensorboard.backend.event_processing import event_accumulator, event_file_loader
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.util import tensor_util
shown = event_accumulator.EventAccumulator(folder, size_guidance={"tensors": 0, "scalars": 0})
shown.Reload()
result = {"scalars": {}, "raw": [], "text": None, "hparams": {}}
for tag in shown.Tags()["scalars"]:
    result["scalars"][tag] = [[event.step, event.value] for event in shown.Scalars(tag)]
for tag in shown.Tags()["tensors"]:
    metadata = shown.SummaryMetadata(tag)
    if metadata.plugin_data.plugin_name == "text":
        result["text"] = tensor_util.make_ndarray(shown.Tensors(tag)[0].tensor_proto)[0].decode()
    if metadata.plugin_data.plugin_name == "hparams":
        data = plugin_data_pb2.HParamsPluginData.FromString(metadata.plugin_data.content)
        for name, value in data.session_start_info.hparams.items():
            result["hparams"][name] = getattr(value, value.WhichOneof("kind"))
for number, file in enumerate(sorted(glob.glob(folder + "/*tfevents*"))):
    for event in event_file_loader.RawEventFileLoader(file).Load():
        from tensorboard.compat.proto import event_pb2
        event = event_pb2.Event.FromString(event)
        result["raw"].append([number, event.step, [value.tag for value in event.summary.value]])
json.dump(result, open("read.json", "w"))
)"));
    const std::string text = test::file_content(folder_.file("read.json"));
    return json::parse(text, nullptr, false);
  }

  test::TemporaryFolder folder_;
  std::optional<std::string> python_;
};

TEST_F(Tensorboard, ReadsScalarsTextAndHyperparameters) {
  TensorboardWriter writer = TensorboardWriter::start(folder_.file("events"));
  writer.add_text("configuration", "größer\n\n    {}");
  writer.add_hyperparameters({{"train", {{"steps", 300}, {"captured", false}}}, {"graph", {{"kind", "bpt"}}}});
  writer.add_scalars(1, {{"train/loss", 2.5}});
  writer.add_scalars(300, {{"train/loss", -0.125}, {"valid/bpc", 1e-8}});
  // Read while the writer still has the file.
  const json seen = read(folder_.file("events"));
  EXPECT_EQ(seen["scalars"]["train/loss"], json::parse("[[1, 2.5], [300, -0.125]]"));
  EXPECT_EQ(seen["scalars"]["valid/bpc"][0][0], 300);
  EXPECT_FLOAT_EQ(seen["scalars"]["valid/bpc"][0][1].get<float>(), 1e-8F);
  EXPECT_EQ(seen["text"], "größer\n\n    {}");
  EXPECT_EQ(seen["hparams"], json({{"train.steps", 300}, {"train.captured", false}, {"graph.kind", "bpt"}}));
}

TEST_F(Tensorboard, AResumedRunHasEveryStepOnceAlsoAfterACrash) {
  const std::string events = folder_.file("events");
  {
    TensorboardWriter writer = TensorboardWriter::start(events);
    for (int step = 10; step <= 50; step += 10) writer.add_scalars(step, {{"train/loss", step}});
  }
  const std::string first = events + "/events.out.tfevents.000001";
  std::filesystem::resize_file(first, std::filesystem::file_size(first) - 5);  // cut off in the middle of step 50
  TensorboardWriter writer = TensorboardWriter::resume(events, 30);
  for (int step = 40; step <= 60; step += 10) writer.add_scalars(step, {{"train/loss", 2 * step}});
  const json seen = read(events);
  EXPECT_EQ(seen["scalars"]["train/loss"],
            json::parse("[[10, 10], [20, 20], [30, 30], [40, 80], [50, 100], [60, 120]]"));
  std::vector<std::int64_t> steps;
  for (const json& record : seen["raw"]) {
    if (!record[2].empty()) steps.push_back(record[1]);
  }
  EXPECT_THAT(steps, ElementsAre(10, 20, 30, 40, 50, 60)) << "for readers that know of no start";
}

TEST_F(Tensorboard, ShowsTheCurvesOfAnExperimentThatWasInterrupted) {
  const json source = json::parse(R"({
    "task": {"corpus": {"kind": "turn_taking", "train_characters": 3000, "valid_characters": 300, "test_characters": 500},
             "length": 32},
    "model": {"layers": 1, "dim": 8, "heads": 1, "ffn": 8}, "graph": {"kind": "bpt", "k": 1},
    "train": {"steps": 6, "tokens_per_batch": 64, "log_every": 1, "evaluate_every": 3, "warmup": 2}})");
  class Stopper : public RunObserver {
   public:
    bool should_stop() override { return ++asked_ > 3; }

   private:
    int asked_ = 0;
  } stopper;
  ASSERT_TRUE(bough::run_experiment(source, {.folder = folder_.file("out"), .tensorboard = true, .observer = &stopper})
                  .interrupted);
  const ExperimentResults results =
      bough::run_experiment(source, {.folder = folder_.file("out"), .resume = true, .tensorboard = true});
  const json seen = read(folder_.file("out/runs/bpt-k1/tensorboard"));
  const json& curve = results.document->at("runs")[0]["curve"];
  ASSERT_EQ(seen["scalars"]["train/loss"].size(), 6u) << seen["scalars"];
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(seen["scalars"]["train/loss"][i][0], curve[i]["step"]);
    EXPECT_FLOAT_EQ(seen["scalars"]["train/loss"][i][1].get<float>(), curve[i]["loss"].get<float>());
  }
  ASSERT_EQ(seen["scalars"]["valid/bpc"].size(), 2u);
  EXPECT_EQ(seen["scalars"]["valid/bpc"][1][0], 6);
  ASSERT_EQ(seen["scalars"]["test/bpc"].size(), 1u);
  EXPECT_FLOAT_EQ(seen["scalars"]["test/bpc"][0][1].get<float>(),
                  static_cast<float>(results.runs[0].metrics.at("bpc")));
  EXPECT_FLOAT_EQ(seen["scalars"]["train/learning_rate"][0][1].get<float>(), 0.5e-3F) << "half of the warm-up";
  EXPECT_EQ(seen["hparams"]["graph.k"], 1);
  EXPECT_NE(seen["text"].get<std::string>().find("\"kind\": \"bpt\""), std::string::npos);
}

/// Steps of all records that have a tag, file by file, for steps below 128.
std::vector<int> steps_with(const std::string& tag, const std::string& folder) {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.insert(entry.path());
  std::vector<int> steps;
  for (const auto& path : files) {
    const std::string file = test::file_content(path.string());
    for (std::size_t place = 0; place < file.size();) {
      std::uint64_t length = 0;
      std::memcpy(&length, file.data() + place, 8);
      const std::string record = file.substr(place + 12, length);
      // The wall time has nine bytes, the key of the step one.
      if (record.find(tag) != std::string::npos) steps.push_back(record.at(10));
      place += length + 16;
    }
  }
  return steps;
}

class EventsOfARun : public testing::Test {
 protected:
  /// Goes on towards so many steps until it is stopped after some of them.
  void run(int steps, int stop_after, bool tensorboard) {
    json source = json::parse(R"({
      "task": {"corpus": {"kind": "turn_taking", "train_characters": 3000, "valid_characters": 300, "test_characters": 500},
               "length": 32},
      "model": {"layers": 1, "dim": 8, "heads": 1, "ffn": 8}, "graph": {"kind": "bpt", "k": 1},
      "train": {"tokens_per_batch": 64, "log_every": 1, "evaluate_every": 3, "warmup": 2, "schedule": "constant"}})");
    source["train"]["steps"] = steps;
    class Stopper : public RunObserver {
     public:
      explicit Stopper(int after) : after_(after) {}
      bool should_stop() override { return ++asked_ > after_; }

     private:
      int asked_ = 0, after_;
    } stopper(stop_after);
    bough::run_experiment(
        source, {.folder = folder_.file("out"), .resume = begun_, .tensorboard = tensorboard, .observer = &stopper});
    begun_ = true;
  }
  std::vector<int> steps_of(const std::string& tag) {
    return steps_with(tag, folder_.file("out/runs/bpt-k1/tensorboard"));
  }

 private:
  test::TemporaryFolder folder_;
  bool begun_ = false;
};

TEST_F(EventsOfARun, HaveTheStepsThatWereTakenWithoutThem) {
  run(8, 3, true);
  run(8, 3, false);
  run(8, 100, true);
  EXPECT_THAT(steps_of("train/loss"), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(steps_of("valid/bpc"), ElementsAre(3, 6, 8));
}

TEST_F(EventsOfARun, ForgetTheTestOfAnEndThatIsNoneAnyMore) {
  run(3, 100, true);
  EXPECT_THAT(steps_of("test/bpc"), ElementsAre(3));
  run(6, 100, true);
  EXPECT_THAT(steps_of("test/bpc"), ElementsAre(6));
  EXPECT_THAT(steps_of("train/loss"), ElementsAre(1, 2, 3, 4, 5, 6));
}

}  // namespace
}  // namespace bough::training
