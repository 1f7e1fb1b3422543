#include "nn/io/checksums.h"

#include <fmt/format.h>
#include <zlib.h>

#include <nlohmann/json.hpp>
#include <span>

#include "bough/core/errors.h"

namespace bough::nn {
namespace {

using nlohmann::json;

class Crc {
 public:
  void add(std::span<const std::byte> bytes) {
    value_ = ::crc32_z(value_, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  }
  /// With its length: otherwise "ab" "c" and "a" "bc" would be the same.
  void add(const std::string& text) {
    add_number(static_cast<std::int64_t>(text.size()));
    add(std::as_bytes(std::span(text)));
  }
  void add_number(std::int64_t number) { add(std::as_bytes(std::span(&number, 1))); }
  std::string text() const { return fmt::format("{:08x}", value_); }

 private:
  uLong value_ = ::crc32_z(0, nullptr, 0);
};

std::string checksum_of(const Tensor& given) {
  const Tensor tensor = given.detach().to(Device::cpu());
  Crc crc;
  crc.add(std::string(name_of(tensor.dtype())));
  for (const std::int64_t extent : tensor.shape()) crc.add_number(extent);
  visit_dtype(tensor.dtype(), [&]<typename T>(TypeTag<T>) { crc.add(std::as_bytes(tensor.span<T>())); });
  return crc.text();
}

std::string checksum_of(const std::map<std::string, std::string>& metadata) {
  Crc crc;
  for (const auto& [key, text] : metadata) {
    crc.add(key);
    crc.add(text);
  }
  return crc.text();
}

}  // namespace

std::string checksums_of(const TensorFile& file) {
  json sums = {{"metadata", checksum_of(file.metadata)}, {"tensors", json::object()}};
  for (const auto& [name, tensor] : file.tensors) sums["tensors"][name] = checksum_of(tensor);
  return sums.dump();
}

void require_checksums(const std::string& path, const TensorFile& file, const std::string& expected) {
  const json now = json::parse(checksums_of(file));
  const json then = json::parse(expected, nullptr, false);
  if (now == then) return;
  std::string changed = "its checksums are";
  if (then.is_object() && then.contains("tensors") && then["tensors"].is_object()) {
    if (now["metadata"] != then.value("metadata", json())) changed = "its metadata is";
    for (const auto& [name, sum] : now["tensors"].items()) {
      if (sum != then["tensors"].value(name, json())) changed = fmt::format("the tensor '{}' is", name);
    }
    for (const auto& [name, sum] : then["tensors"].items()) {
      if (!now["tensors"].contains(name)) changed = fmt::format("the tensor '{}' is missing: it is", name);
    }
  }
  throw IoError("checkpoint", fmt::format("'{}' is damaged: {} not what was written. If it was changed on purpose, "
                                          "leave out the checksums in its metadata",
                                          path, changed));
}

}  // namespace bough::nn
