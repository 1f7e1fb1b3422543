#include "tasks/training/tensorboard_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "bough/core/errors.h"
#include "src/core/files.h"

namespace bough::training {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "numbers are written as they are in memory");

/// The wire format of protocol buffers: a key (number of the field and type), then the value.
enum class Wire : std::uint64_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text.push_back(static_cast<char>(value | 0x80));
  text.push_back(static_cast<char>(value));
  return text;
}

std::string key(int field, Wire wire) {
  return varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire));
}

template <typename T>
std::string raw(T value) {
  std::string text(sizeof(value), '\0');
  std::memcpy(text.data(), &value, sizeof(value));
  return text;
}

std::string integer_field(int field, std::int64_t value) {
  return key(field, Wire::varint) + varint(static_cast<std::uint64_t>(value));
}
std::string double_field(int field, double value) { return key(field, Wire::fixed64) + raw(value); }
std::string float_field(int field, float value) { return key(field, Wire::fixed32) + raw(value); }
/// A text or a message inside another one.
std::string bytes_field(int field, std::string_view value) {
  return key(field, Wire::bytes) + varint(value.size()) + std::string(value);
}

/// Numbers of fields and enumerators as TensorFlow's event.proto, summary.proto, tensor.proto and TensorBoard's
/// plugin_data.proto (hparams) have them.
namespace event {
constexpr int wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7;
constexpr int session_status = 1, session_start = 1;
}  // namespace event
namespace summary {
constexpr int value = 1;
constexpr int tag = 1, simple_value = 2, tensor = 8, metadata = 9;
constexpr int plugin_data = 1, data_class = 4, data_class_tensor = 2;
constexpr int plugin_name = 1, plugin_content = 2;
}  // namespace summary
namespace tensor {
constexpr int dtype = 1, shape = 2, string_values = 8;
constexpr int dtype_float = 1, dtype_string = 7;
constexpr int dimension = 2, size = 1;
}  // namespace tensor
namespace hparams {
constexpr int version = 1, session_start_info = 3, current_version = 0;
constexpr int values = 1, start_seconds = 5;
constexpr int entry_key = 1, entry_value = 2;
constexpr int number_value = 2, string_value = 3, bool_value = 4;  // of google.protobuf.Value
}  // namespace hparams

std::string tensor_shape(std::int64_t length) {
  return bytes_field(tensor::shape, bytes_field(tensor::dimension, integer_field(tensor::size, length)));
}

/// A summary that a plug-in of TensorBoard shows.
std::string plugin_summary(const std::string& tag, std::string_view plugin, std::string_view content,
                           const std::string& tensor) {
  const std::string data = bytes_field(summary::plugin_name, plugin) +
                           (content.empty() ? "" : bytes_field(summary::plugin_content, content));
  const std::string metadata =
      bytes_field(summary::plugin_data, data) + integer_field(summary::data_class, summary::data_class_tensor);
  return bytes_field(event::summary,
                     bytes_field(summary::value, bytes_field(summary::tag, tag) + bytes_field(summary::tensor, tensor) +
                                                     bytes_field(summary::metadata, metadata)));
}

double wall_time_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// So that the checksum of something that holds checksums is not a simple one.
std::uint32_t masked(std::uint32_t crc) { return std::rotr(crc, 15) + 0xa282ead8U; }

std::string framed(const std::string& data) {
  const std::string length = raw(static_cast<std::uint64_t>(data.size()));
  return length + raw(masked(crc32c(length))) + data + raw(masked(crc32c(data)));
}

template <typename T>
T number_at(std::string_view text, std::size_t place) {
  T value;
  std::memcpy(&value, text.data() + place, sizeof(value));
  return value;
}

/// The record that begins at a place; nothing if it is not whole.
std::optional<std::string_view> record_at(std::string_view file, std::size_t place) {
  if (file.size() - place < 12) return {};
  const std::string_view rest = file.substr(place);
  const auto length = number_at<std::uint64_t>(rest, 0);
  if (length > rest.size() - 12 || rest.size() - 12 - length < 4) return {};
  if (number_at<std::uint32_t>(rest, 8) != masked(crc32c(rest.substr(0, 8)))) return {};
  const std::string_view data = rest.substr(12, length);
  if (number_at<std::uint32_t>(rest, 12 + length) != masked(crc32c(data))) return {};
  return data;
}

/// What begins an event as write_event() encodes it: the wall time, the step, then one field.
struct EventStart {
  std::int64_t step = 0;
  bool has_scalars = false;  ///< or a text or hyperparameters, which are of step 0
};

EventStart start_of(std::string_view data) {
  std::size_t place = 1 + sizeof(double) + 1;
  if (data.size() <= place || data.substr(place - 1, 1) != key(event::step, Wire::varint)) return {};
  std::uint64_t step = 0;
  for (int shift = 0; place < data.size() && shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(data[place++]);
    step |= (std::uint64_t{byte} & 0x7f) << shift;
    if ((byte & 0x80) == 0) break;
  }
  return {static_cast<std::int64_t>(step), data.substr(place, 1) == key(event::summary, Wire::bytes)};
}

/// Returns the last step with scalars that is kept, 0 without any. A file that is cut, not replaced, stays the same for
/// a TensorBoard that reads it.
std::int64_t cut_after(const fs::path& path, std::int64_t kept_steps) {
  const std::string content = read_file(path.string(), std::numeric_limits<std::int64_t>::max());
  std::size_t kept = 0;
  std::int64_t last_step = 0;
  while (const auto data = record_at(content, kept)) {
    const EventStart start = start_of(*data);
    if (start.step > kept_steps) break;
    if (start.has_scalars) last_step = std::max(last_step, start.step);
    kept += data->size() + 16;
  }
  std::error_code error;
  fs::resize_file(path, kept, error);
  if (error) throw IoError("tensorboard", fmt::format("'{}' cannot be cut: {}", path.string(), error.message()));
  return last_step;
}

constexpr std::string_view name_begin = "events.out.tfevents.";

/// By name, which is by age.
std::set<fs::path> event_files(const std::string& folder) {
  std::set<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename().string().starts_with(name_begin)) files.insert(entry->path());
  }
  return files;
}

std::string created(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw IoError("tensorboard", fmt::format("'{}' cannot be made: {}", folder, error.message()));
  return folder;
}

std::string path_of_file(const std::string& folder, std::size_t number) {
  return (fs::path(folder) / fmt::format("{}{:06}", name_begin, number)).string();
}

void collect_hyperparameters(const json& value, const std::string& path, std::string& message) {
  std::string encoded;
  if (value.is_object()) {
    for (const auto& [name, entry] : value.items()) {
      collect_hyperparameters(entry, path.empty() ? name : fmt::format("{}.{}", path, name), message);
    }
  } else if (value.is_boolean()) {
    encoded = integer_field(hparams::bool_value, value.get<bool>() ? 1 : 0);
  } else if (value.is_number()) {
    encoded = double_field(hparams::number_value, value.get<double>());
  } else if (value.is_string()) {
    encoded = bytes_field(hparams::string_value, value.get_ref<const std::string&>());
  }
  if (encoded.empty()) return;
  message +=
      bytes_field(hparams::values, bytes_field(hparams::entry_key, path) + bytes_field(hparams::entry_value, encoded));
}

}  // namespace

std::uint32_t crc32c(std::string_view data) {
  // The remainders of all bytes, for the polynomial with its bits reversed.
  static constexpr auto table = [] {
    std::array<std::uint32_t, 256> remainders{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      std::uint32_t rest = byte;
      for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? 0x82f63b78U : 0);
      remainders[byte] = rest;
    }
    return remainders;
  }();
  std::uint32_t crc = ~0U;
  for (const char c : data) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

TensorboardWriter::TensorboardWriter(std::string path, std::int64_t first_step)
    : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wb"), std::fclose) {
  if (file_ == nullptr) {
    throw IoError("tensorboard", fmt::format("'{}' cannot be written: {}", path_, std::strerror(errno)));
  }
  write_event(first_step, bytes_field(event::file_version, "brain.Event:2"));
}

TensorboardWriter TensorboardWriter::start(const std::string& folder) {
  created(folder);
  for (const fs::path& file : event_files(folder)) fs::remove(file);
  return {path_of_file(folder, 1), 0};
}

TensorboardWriter TensorboardWriter::resume(const std::string& folder, std::int64_t kept_steps) {
  created(folder);
  std::size_t number = 1;
  std::int64_t last_step = 0;
  for (const fs::path& file : event_files(folder)) {
    last_step = std::max(last_step, cut_after(file, kept_steps));
    number = std::max(number, 1 + std::strtoul(file.filename().string().c_str() + name_begin.size(), nullptr, 10));
  }
  TensorboardWriter writer(path_of_file(folder, number), kept_steps);
  writer.last_step_ = last_step;
  // Of what it has in memory, TensorBoard forgets this step and all later ones when it reads of a start.
  writer.write_event(kept_steps + 1,
                     bytes_field(event::session_log, integer_field(event::session_status, event::session_start)));
  return writer;
}

bool TensorboardWriter::has_events(const std::string& folder) { return !event_files(folder).empty(); }

void TensorboardWriter::add_scalars(std::int64_t step, const std::map<std::string, double>& values) {
  std::string message;
  for (const auto& [tag, value] : values) {
    message += bytes_field(
        summary::value, bytes_field(summary::tag, tag) + float_field(summary::simple_value, static_cast<float>(value)));
  }
  if (!message.empty()) write_event(step, bytes_field(event::summary, message));
}

void TensorboardWriter::add_text(const std::string& tag, const std::string& text) {
  write_event(0, plugin_summary(tag, "text", "",
                                integer_field(tensor::dtype, tensor::dtype_string) + tensor_shape(1) +
                                    bytes_field(tensor::string_values, text)));
}

void TensorboardWriter::add_hyperparameters(const json& config) {
  std::string session;
  collect_hyperparameters(config, "", session);
  session += double_field(hparams::start_seconds, wall_time_now());
  const std::string content =
      integer_field(hparams::version, hparams::current_version) + bytes_field(hparams::session_start_info, session);
  write_event(0, plugin_summary("_hparams_/session_start_info", "hparams", content,
                                integer_field(tensor::dtype, tensor::dtype_float) + tensor_shape(0)));
}

void TensorboardWriter::write_event(std::int64_t step, const std::string& payload) {
  const std::string record =
      framed(double_field(event::wall_time, wall_time_now()) + integer_field(event::step, step) + payload);
  if (std::fwrite(record.data(), 1, record.size(), file_.get()) != record.size() || std::fflush(file_.get()) != 0) {
    throw IoError("tensorboard", fmt::format("'{}' cannot be written: {}", path_, std::strerror(errno)));
  }
}

}  // namespace bough::training
