#include "tasks/runner/worker_protocol.h"

#include <fmt/format.h>

#include <limits>

#include "bough/core/errors.h"
#include "bough/core/json.h"

namespace bough::runner {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

double number_or_nan(const json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

ordered_json to_json(const RunProgress& progress) {
  return {{"step", progress.step},
          {"steps", progress.steps},
          {"loss", progress.loss},
          {"metric", progress.metric},
          {"tokens_per_second", progress.tokens_per_second},
          {"memory_bytes", progress.memory_bytes},
          {"seconds_left", progress.seconds_left}};
}

RunProgress run_progress_from(const json& entry) {
  return {.step = entry.at("step"),
          .steps = entry.at("steps"),
          .loss = number_or_nan(entry.at("loss")),
          .metric = number_or_nan(entry.at("metric")),
          .tokens_per_second = number_or_nan(entry.at("tokens_per_second")),
          .memory_bytes = entry.at("memory_bytes"),
          .seconds_left = number_or_nan(entry.at("seconds_left"))};
}

}  // namespace

json to_json(const WorkerRequest& request) {
  return {{"run", request.name},
          {"settings", request.settings},
          {"config", request.config},
          {"folder", request.folder},
          {"resume", request.resume},
          {"tensorboard", request.tensorboard},
          {"threads", request.threads},
          {"data_folders", request.data_folders},
          {"device", bough::to_string(request.device)},
          {"tf32", request.tf32},
          {"plugins", request.plugins},
          {"inputs", to_json(request.inputs)}};
}

WorkerRequest worker_request_from(const std::string& text) {
  const json request = parse_json(text, "worker request");
  try {
    return {.name = request.at("run"),
            .settings = request.at("settings"),
            .config = request.at("config"),
            .folder = request.at("folder"),
            .resume = request.at("resume"),
            .tensorboard = request.at("tensorboard"),
            .threads = request.at("threads"),
            .data_folders = request.at("data_folders"),
            .device = parse_device(request.at("device").get<std::string>()),
            .tf32 = request.at("tf32"),
            .plugins = request.at("plugins"),
            .inputs = run_inputs_from(request.value("inputs", json()))};
  } catch (const json::exception& error) {
    throw IoError("worker", fmt::format("the request is not as bough run writes it: {}", error.what()));
  }
}

std::string to_line(const WorkerMessage& message) {
  ordered_json line;
  if (const auto* progress = std::get_if<RunProgress>(&message)) line["progress"] = to_json(*progress);
  if (const auto* result = std::get_if<RunResult>(&message)) line["result"] = to_json(*result);
  // Text from error messages may hold bytes that are no UTF-8.
  return line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::optional<WorkerMessage> message_in(const std::string& line) {
  const json message = json::parse(line, nullptr, false);
  if (!message.is_object()) return {};
  try {
    if (message.contains("progress")) return run_progress_from(message["progress"]);
    if (message.contains("result")) return run_result_from(message["result"]);
  } catch (const json::exception& error) {
    throw IoError("worker", fmt::format("a message is not as run-worker writes it: {}", error.what()));
  }
  return {};
}

}  // namespace bough::runner
