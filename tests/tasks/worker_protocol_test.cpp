#include "tasks/runner/worker_protocol.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bough/core/errors.h"

namespace bough::runner {
namespace {

using nlohmann::json;

TEST(WorkerProtocol, ARequestIsReadAsItWasWritten) {
  const WorkerRequest request{.name = "bpt-k1",
                              .settings = {{"train.seed", 2}},
                              .config = {{"train", {{"steps", 3}}}},
                              .folder = "out/runs/bpt-k1",
                              .resume = true,
                              .threads = 3,
                              .data_folders = {"data", "."},
                              .device = parse_device("cuda:1"),
                              .tf32 = true,
                              .plugins = {"libpow2.so"},
                              .inputs = {.data_files = {{"text.txt", 6, "85944171f73967e8"}}, .graph = "01"}};
  const WorkerRequest read = worker_request_from(to_json(request).dump());
  EXPECT_EQ(to_json(read), to_json(request));
  EXPECT_EQ(read.device, request.device);
  EXPECT_EQ(read.data_folders, request.data_folders);
  EXPECT_TRUE(read.resume && read.tf32);
  EXPECT_EQ(read.inputs, request.inputs);
  json incomplete = to_json(request);
  incomplete.erase("folder");
  EXPECT_THROW(worker_request_from(incomplete.dump()), IoError);
}

TEST(WorkerProtocol, AMessageIsOneLineAndProgressWithoutAScoreStaysWithoutOne) {
  const std::string line = to_line(RunProgress{.step = 4, .steps = 9, .loss = 0.1, .memory_bytes = 1 << 20});
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto message = message_in(line);
  ASSERT_TRUE(message.has_value());
  const auto& progress = std::get<RunProgress>(*message);
  EXPECT_EQ(progress.step, 4);
  EXPECT_EQ(progress.loss, 0.1);
  EXPECT_EQ(progress.memory_bytes, 1 << 20);
  EXPECT_TRUE(std::isnan(progress.metric));
}

TEST(WorkerProtocol, AResultIsTheEntryOfTheResultsWhateverBytesAnErrorHolds) {
  const RunResult result{.name = "full",
                         .settings = json::object(),
                         .config = json::object(),
                         .status = RunStatus::failed,
                         .error = "no file \xff",
                         .steps_done = 7};
  const auto message = message_in(to_line(result));
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(std::get<RunResult>(*message).steps_done, 7);
  EXPECT_EQ(std::get<RunResult>(*message).status, RunStatus::failed);
}

TEST(WorkerProtocol, WhatALibraryPrintsIsNoMessageAndAMessageWithAFieldMissingIsAnError) {
  EXPECT_FALSE(message_in("hello").has_value());
  EXPECT_FALSE(message_in("{\"level\": \"info\"}").has_value());
  EXPECT_THROW(message_in(R"({"progress": {"step": 1}})"), IoError);
  EXPECT_THROW(message_in(R"({"result": {"name": "full"}})"), IoError);
}

}  // namespace
}  // namespace bough::runner
