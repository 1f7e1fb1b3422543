#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "bough/core/errors.h"
#include "bough/nn/checkpoint.h"
#include "src/core/files.h"

namespace bough::nn {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "safetensors are little endian, and so is the code below");

// The format: 8 bytes length of the header, a JSON object {name: {dtype, shape, data_offsets: [begin, end]}} with free
// text under "__metadata__", then the tensors one after the other without gaps.
constexpr std::size_t length_bytes = sizeof(std::uint64_t);
constexpr std::uint64_t max_header_bytes = 100'000'000;
constexpr const char* metadata_key = "__metadata__";

float from_half(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16, exponent = bits >> 10 & 0x1Fu;
  const std::uint32_t mantissa = bits & 0x3FFu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign == 0 ? magnitude : -magnitude;
  }
  return std::bit_cast<float>(sign | (exponent == 31 ? 255u : exponent + 112u) << 23 | mantissa << 13);
}

/// A type of the format and ours; `widen` for those that become a wider one on reading, which is exact.
struct FileType {
  const char* name;
  DType dtype;
  std::size_t bytes;
  float (*widen)(std::uint16_t) = nullptr;
};

constexpr std::array<FileType, 7> file_types{{{"F32", DType::float32, 4},
                                              {"F64", DType::float64, 8},
                                              {"I32", DType::int32, 4},
                                              {"I64", DType::int64, 8},
                                              {"BOOL", DType::boolean, 1},
                                              {"BF16", DType::bfloat16, 2},
                                              {"F16", DType::float32, 2, from_half}}};

const char* file_name_of(DType dtype) { return std::ranges::find(file_types, dtype, &FileType::dtype)->name; }

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return visit_dtype(tensor.dtype(), [&]<typename T>(TypeTag<T>) { return std::as_bytes(tensor.span<T>()); });
}

/// One file being read: all messages name it.
class Reader {
 public:
  Reader(const std::string& path, std::string content) : path_(path), content_(std::move(content)) {}

  TensorFile read() {
    const json header = parse_header();
    TensorFile result;
    std::vector<Entry> entries;
    for (const auto& [name, value] : header.items()) {
      if (name == metadata_key) {
        read_metadata(value, result.metadata);
      } else {
        entries.push_back(read_entry(name, value));
      }
    }
    std::ranges::sort(entries, {}, [](const Entry& entry) { return std::pair(entry.begin, entry.end); });
    std::uint64_t position = 0;
    for (const Entry& entry : entries) {
      if (entry.begin != position) {
        fail(fmt::format("the data of '{}' begins at {}, where {} was expected: {}", entry.name, entry.begin, position,
                         entry.begin < position ? "tensors overlap" : "there is a gap"));
      }
      position = entry.end;
    }
    if (position != data().size()) {
      fail(fmt::format("the header describes {} bytes of tensors, the file holds {}", position, data().size()));
    }
    for (const Entry& entry : entries) result.tensors.emplace_back(entry.name, tensor_of(entry));
    return result;
  }

 private:
  struct Entry {
    std::string name;
    const FileType* type = nullptr;
    Shape shape;
    std::uint64_t begin = 0, end = 0;
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw IoError("safetensors", fmt::format("'{}' is damaged or not a safetensors file: {}", path_, what));
  }

  std::string_view data() const { return std::string_view(content_).substr(length_bytes + header_bytes_); }

  json parse_header() {
    if (content_.size() < length_bytes) fail(fmt::format("it has only {} bytes", content_.size()));
    std::uint64_t length = 0;
    std::memcpy(&length, content_.data(), length_bytes);
    if (length > max_header_bytes || length > content_.size() - length_bytes) {
      fail(fmt::format("its header would have {} bytes, the file has {}", length, content_.size()));
    }
    header_bytes_ = static_cast<std::size_t>(length);

    // The parser keeps the last of two equal keys without a word, and follows any depth: both are checked on the way.
    std::vector<std::set<std::string>> keys;
    std::optional<std::string> twice;
    const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
      if (depth > 4) fail("its header is nested too deeply");
      if (event == json::parse_event_t::object_start) keys.emplace_back();
      if (event == json::parse_event_t::object_end) keys.pop_back();
      if (event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second) {
        twice = parsed.get<std::string>();
      }
      return true;
    };
    const std::string_view text = std::string_view(content_).substr(length_bytes, header_bytes_);
    // For the parser a zero byte would be the end.
    if (text.find('\0') != text.npos) fail("its header is not JSON (it holds a zero byte)");
    json header;
    try {
      header = json::parse(text, watch);
    } catch (const json::exception& error) {
      fail(fmt::format("its header is not JSON ({})", error.what()));
    }
    if (twice.has_value()) fail(fmt::format("'{}' appears twice in its header", *twice));
    if (!header.is_object()) fail("its header is not a JSON object");
    return header;
  }

  void read_metadata(const json& value, std::map<std::string, std::string>& metadata) const {
    if (!value.is_object()) fail("its metadata is not an object");
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) fail(fmt::format("its metadata '{}' is not text", key));
      metadata[key] = text.get<std::string>();
    }
  }

  Entry read_entry(const std::string& name, const json& value) const {
    if (!value.is_object() || value.size() != 3 || !value.contains("dtype") || !value.contains("shape") ||
        !value.contains("data_offsets")) {
      fail(fmt::format("'{}' must have exactly dtype, shape and data_offsets", name));
    }
    Entry entry;
    entry.name = name;
    const json& dtype = value["dtype"];
    const auto known = std::ranges::find_if(file_types, [&](const FileType& type) { return dtype == type.name; });
    if (known == file_types.end()) {
      throw IoError("safetensors", fmt::format("'{}' of '{}' has dtype {}; F32, F64, I32, I64, BOOL, F16 and BF16 are "
                                               "read",
                                               name, path_, dtype.dump()));
    }
    entry.type = &*known;

    std::vector<std::int64_t> extents;
    for (const std::uint64_t extent : read_integers(name, "shape", value["shape"])) {
      extents.push_back(static_cast<std::int64_t>(extent));
    }
    try {
      entry.shape = Shape(extents);
    } catch (const ShapeError& error) {
      fail(fmt::format("the shape of '{}' is impossible: {}", name, error.what()));
    }
    const std::vector<std::uint64_t> offsets = read_integers(name, "data_offsets", value["data_offsets"]);
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data().size()) {
      fail(fmt::format("data_offsets of '{}' are {}, the file holds {} bytes of tensors", name,
                       value["data_offsets"].dump(), data().size()));
    }
    entry.begin = offsets[0];
    entry.end = offsets[1];
    std::uint64_t needed = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(entry.shape.elements()), entry.type->bytes, &needed) ||
        entry.end - entry.begin != needed) {
      fail(fmt::format("'{}' of shape {} takes {} bytes, its data_offsets give {}", name, to_string(entry.shape),
                       needed, entry.end - entry.begin));
    }
    return entry;
  }

  std::vector<std::uint64_t> read_integers(const std::string& name, const char* key, const json& list) const {
    std::vector<std::uint64_t> result;
    if (!list.is_array()) fail(fmt::format("{} of '{}' is not a list", key, name));
    for (const json& item : list) {
      if (!item.is_number_unsigned() || item.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
        fail(fmt::format("{} of '{}' holds {}, not a whole number >= 0", key, name, item.dump()));
      }
      result.push_back(item.get<std::uint64_t>());
    }
    return result;
  }

  Tensor tensor_of(const Entry& entry) const {
    const FileType& type = *entry.type;
    Tensor tensor = Tensor::empty(entry.shape, type.dtype);
    const std::string_view bytes = data().substr(entry.begin, entry.end - entry.begin);
    if (type.widen != nullptr) {
      float* values = tensor.data<float>();
      for (std::size_t i = 0; i < bytes.size() / sizeof(std::uint16_t); ++i) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, bytes.data() + i * sizeof bits, sizeof bits);
        values[i] = type.widen(bits);
      }
      return tensor;
    }
    if (type.dtype == DType::boolean && bytes.find_first_not_of(std::string_view("\0\1", 2)) != bytes.npos) {
      fail(fmt::format("'{}' holds a byte that is neither true nor false", entry.name));
    }
    visit_dtype(type.dtype, [&]<typename T>(TypeTag<T>) { std::memcpy(tensor.data<T>(), bytes.data(), bytes.size()); });
    return tensor;
  }

  const std::string& path_;
  const std::string content_;
  std::size_t header_bytes_ = 0;
};

}  // namespace

void save_tensors(const std::string& path, const TensorFile& file) {
  json header = json::object();
  if (!file.metadata.empty()) header[metadata_key] = file.metadata;
  std::vector<Tensor> here;
  std::size_t position = 0;
  for (const auto& [name, tensor] : file.tensors) {
    if (name == metadata_key || header.contains(name)) {
      throw ConfigError("save_tensors", fmt::format("the name '{}' is given twice or is reserved", name));
    }
    here.push_back(tensor.detach().to(Device::cpu()));
    const std::size_t bytes = bytes_of(here.back()).size();
    header[name] = {{"dtype", file_name_of(tensor.dtype())},
                    {"shape", std::vector<std::int64_t>(tensor.shape().begin(), tensor.shape().end())},
                    {"data_offsets", {position, position + bytes}}};
    position += bytes;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const json::exception&) {
    throw ConfigError("save_tensors", "names and metadata must be UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');  // readers that map the file want the data aligned
  const std::uint64_t length = text.size();

  AtomicFileWriter writer(path);
  writer.write(&length, length_bytes);
  writer.write(text.data(), text.size());
  for (const Tensor& tensor : here) writer.write(bytes_of(tensor).data(), bytes_of(tensor).size());
  writer.commit();
}

TensorFile load_tensors(const std::string& path) {
  return Reader(path, read_file(path, std::numeric_limits<std::int64_t>::max())).read();
}

}  // namespace bough::nn
