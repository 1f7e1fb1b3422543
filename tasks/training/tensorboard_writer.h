#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace bough::training {

/// Event files as TensorBoard reads them, in a folder of their own: events.out.tfevents.000001, and one more for each
/// time that a run is resumed. Records are framed as TFRecords (length, masked CRC32C) and hold Event messages; each is
/// flushed, so that curves grow while a run trains.
class TensorboardWriter {
 public:
  /// Starts anew: the folder is made, event files in it are removed. IoError naming the path if it cannot be written.
  static TensorboardWriter start(const std::string& folder);
  /// Goes on after kept_steps in a new file: records of later steps, which will be taken again, are cut off the files
  /// that are there, as is what a crash has left half written, and TensorBoard is told to forget those it has shown.
  static TensorboardWriter resume(const std::string& folder, std::int64_t kept_steps);
  /// Whether the folder holds event files.
  static bool has_events(const std::string& folder);
  /// The last step whose values are in files that it goes on with; 0 if there are none.
  std::int64_t last_step() const { return last_step_; }

  /// Values by tag, "train/loss"; numbers that are not finite too.
  void add_scalars(std::int64_t step, const std::map<std::string, double>& values);
  /// Markdown.
  void add_text(const std::string& tag, const std::string& text);
  /// Numbers, texts and booleans of a configuration by dotted path, for the table of hyperparameters. Lists are left
  /// out.
  void add_hyperparameters(const nlohmann::json& config);

 private:
  TensorboardWriter(std::string path, std::int64_t first_step);
  /// An Event: its payload is one encoded field.
  void write_event(std::int64_t step, const std::string& payload);

  std::string path_;
  std::int64_t last_step_ = 0;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

/// CRC-32C (Castagnoli), as RFC 3720 has it: of "123456789" it is e3069283.
std::uint32_t crc32c(std::string_view data);

}  // namespace bough::training
