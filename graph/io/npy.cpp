#include "graph/io/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>

namespace bough {
namespace {

constexpr std::string_view npy_magic = "\x93NUMPY";
constexpr std::size_t alignment = 64;
constexpr std::int64_t longest_header = 1 << 16;
constexpr std::int64_t longest_text = 64;
constexpr std::int64_t block_elements = 1 << 16;

/// The Python dictionary of a header: {'descr': '<i4', 'fortran_order': False, 'shape': (3,), }
class HeaderParser {
 public:
  HeaderParser(const ZipEntryReader& entry, std::string_view text) : entry_(entry), text_(text) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !has_descr_) {
        if (accept('[')) entry_.fail("has several fields in each element; save each of them as an array of its own");
        take_descr(quoted());
        has_descr_ = true;
      } else if (key == "fortran_order" && !has_order_) {
        const std::string_view order = word();
        if (order != "False" && order != "True") fail();
        header_.fortran_order = order == "True";
        has_order_ = true;
      } else if (key == "shape" && !has_shape_) {
        take_shape();
        has_shape_ = true;
      } else {
        fail();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (!text_.empty() || !has_descr_ || !has_order_ || !has_shape_) fail();
    return std::move(header_);
  }

 private:
  void take_descr(std::string_view descr) {
    // Byte order, kind, size: "<i4", "|i1", "<U3". One byte has no order. What is not known has no width.
    if (descr.size() < 2) fail();
    header_.descr = std::string(descr.substr(0, 20));
    header_.kind = descr[1];
    std::int64_t width = 0;
    const auto [end, error] = std::from_chars(descr.data() + 2, descr.data() + descr.size(), width);
    if (error != std::errc() || end != descr.data() + descr.size()) return;
    if (width >= 0 && (descr[0] == '<' || descr[0] == '|')) header_.width = width;
  }

  void take_shape() {
    expect('(');
    while (!accept(')')) {
      const std::string_view digits = word();
      std::int64_t extent = 0;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), extent);
      if (error != std::errc() || end != digits.data() + digits.size() || extent < 0) fail();
      header_.shape.push_back(extent);
      if (header_.shape.size() > 32) fail();
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  void skip_space() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t\r\n"), text_.size())); }
  bool accept(char letter) {
    skip_space();
    if (!text_.starts_with(letter)) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char letter) {
    if (!accept(letter)) fail();
  }
  std::string_view quoted() {
    skip_space();
    if (text_.empty() || (text_.front() != '\'' && text_.front() != '"')) fail();
    const std::size_t end = text_.find(text_.front(), 1);
    if (end == std::string_view::npos) fail();
    const std::string_view inside = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return inside;
  }
  std::string_view word() {
    skip_space();
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n,)}"), text_.size());
    const std::string_view letters = text_.substr(0, end);
    text_.remove_prefix(end);
    return letters;
  }
  [[noreturn]] void fail() const { entry_.fail("has a damaged header"); }

  const ZipEntryReader& entry_;
  std::string_view text_;
  NpyHeader header_;
  bool has_descr_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
};

NpyHeader read_header(ZipEntryReader& entry) {
  std::array<char, 8> start{};
  entry.read(start.data(), start.size());
  if (!std::string_view(start.data(), start.size()).starts_with(npy_magic)) entry.fail("is not a NumPy array");
  const int version = start[6];
  if (version < 1 || version > 3) entry.fail(fmt::format("is of version {} of the .npy format", version));
  std::uint32_t bytes = 0;
  entry.read(&bytes, version == 1 ? 2 : 4);
  if (bytes > longest_header || bytes > entry.remaining()) entry.fail("has a damaged header");
  std::string text(bytes, '\0');
  entry.read(text.data(), text.size());
  return HeaderParser(entry, text).parse();
}

/// Number of elements; they must fill the rest of the entry.
std::int64_t checked_elements(const ZipEntryReader& entry, const NpyHeader& header) {
  const std::int64_t bytes = header.kind == 'U' ? 4 : header.kind == 'S' ? 1 : header.width;
  const std::int64_t letters = header.kind == 'U' || header.kind == 'S' ? header.width : 1;
  const bool empty = std::ranges::find(header.shape, 0) != header.shape.end();
  std::int64_t elements = empty ? 0 : 1;
  for (const std::int64_t extent : header.shape) {
    if (!empty && elements > entry.remaining() / extent) entry.fail("is smaller than its shape");
    elements *= extent;
  }
  if (letters > longest_text || elements * letters * bytes != entry.remaining()) {
    entry.fail(fmt::format("holds {} bytes, which does not match its shape and type", entry.remaining()));
  }
  return elements;
}

/// Calls take(value) for each element, widened to Wide.
template <typename Stored, typename Take>
void for_each_stored(ZipEntryReader& entry, std::int64_t elements, Take take) {
  std::vector<Stored> block(static_cast<std::size_t>(std::min(elements, block_elements)));
  for (std::int64_t done = 0; done < elements;) {
    const std::int64_t count = std::min(block_elements, elements - done);
    entry.read(block.data(), static_cast<std::size_t>(count) * sizeof(Stored));
    for (std::int64_t i = 0; i < count; ++i) take(block[static_cast<std::size_t>(i)]);
    done += count;
  }
}

/// Calls take(value) with each integer, of the type in which it is stored.
template <typename Take>
void for_each_integer(ZipEntryReader& entry, const NpyHeader& header, std::int64_t elements, Take take) {
  const bool is_signed = header.kind == 'i';
  if (header.width == 1)
    return is_signed ? for_each_stored<std::int8_t>(entry, elements, take)
                     : for_each_stored<std::uint8_t>(entry, elements, take);
  if (header.width == 2)
    return is_signed ? for_each_stored<std::int16_t>(entry, elements, take)
                     : for_each_stored<std::uint16_t>(entry, elements, take);
  if (header.width == 4)
    return is_signed ? for_each_stored<std::int32_t>(entry, elements, take)
                     : for_each_stored<std::uint32_t>(entry, elements, take);
  return is_signed ? for_each_stored<std::int64_t>(entry, elements, take)
                   : for_each_stored<std::uint64_t>(entry, elements, take);
}

bool holds_integers(const NpyHeader& header) {
  const std::int64_t width = header.width;
  return (header.kind == 'i' || header.kind == 'u') && (width == 1 || width == 2 || width == 4 || width == 8);
}

void require_integers(const ZipEntryReader& entry, const NpyHeader& header) {
  if (holds_integers(header)) return;
  entry.fail(fmt::format("has elements of type '{}', but little-endian integers are needed; in NumPy: astype('int32')",
                         header.descr));
}

void require_one_axis(const ZipEntryReader& entry, const NpyHeader& header) {
  if (header.shape.size() != 1) entry.fail(fmt::format("must have one axis, but has {}", header.shape.size()));
}

}  // namespace

IdArray read_npy_ids(const InputFile& file, const ZipEntry& zip_entry) {
  ZipEntryReader entry(file, zip_entry);
  const NpyHeader header = read_header(entry);
  require_integers(entry, header);
  require_one_axis(entry, header);
  const std::int64_t elements = checked_elements(entry, header);
  IdBuffer ids(elements);
  if (header.kind == 'i' && header.width == 4) {
    entry.read(ids.data(), ids.span().size_bytes());
  } else {
    std::int32_t* to = ids.data();
    for_each_integer(entry, header, elements, [&](auto value) {
      if (!std::in_range<std::int32_t>(value)) {
        entry.fail(fmt::format("holds {} at position {}, but ids have 32 bits", value, to - ids.data()));
      }
      *to++ = static_cast<std::int32_t>(value);
    });
  }
  entry.finish();
  return IdArray(std::move(ids));
}

std::vector<std::int64_t> read_npy_integers(const InputFile& file, const ZipEntry& zip_entry) {
  ZipEntryReader entry(file, zip_entry);
  const NpyHeader header = read_header(entry);
  require_integers(entry, header);
  require_one_axis(entry, header);
  const std::int64_t elements = checked_elements(entry, header);
  std::vector<std::int64_t> integers;
  integers.reserve(static_cast<std::size_t>(elements));
  for_each_integer(entry, header, elements, [&](auto value) {
    if (!std::in_range<std::int64_t>(value)) entry.fail(fmt::format("holds {}, which is too large", value));
    integers.push_back(static_cast<std::int64_t>(value));
  });
  entry.finish();
  return integers;
}

std::int64_t read_npy_integer(const InputFile& file, const ZipEntry& zip_entry) {
  ZipEntryReader entry(file, zip_entry);
  const NpyHeader header = read_header(entry);
  require_integers(entry, header);
  if (checked_elements(entry, header) != 1) entry.fail("must be a single number");
  std::int64_t result = 0;
  for_each_integer(entry, header, 1, [&](auto value) {
    if (!std::in_range<std::int64_t>(value)) entry.fail(fmt::format("holds {}, which is too large", value));
    result = static_cast<std::int64_t>(value);
  });
  entry.finish();
  return result;
}

std::string read_npy_text(const InputFile& file, const ZipEntry& zip_entry) {
  ZipEntryReader entry(file, zip_entry);
  const NpyHeader header = read_header(entry);
  if (header.kind != 'S' && header.kind != 'U') entry.fail("must be a text");
  if (checked_elements(entry, header) != 1) entry.fail("must be a single text");
  std::string text;
  const auto take = [&text](auto letter) {
    if (letter != 0) text += static_cast<std::uint32_t>(letter) < 128 ? static_cast<char>(letter) : '?';
  };
  if (header.kind == 'S') {
    for_each_stored<std::uint8_t>(entry, header.width, take);
  } else {
    for_each_stored<std::uint32_t>(entry, header.width, take);
  }
  entry.finish();
  return text;
}

namespace {

/// The type of tensors that holds all values of an array.
DType dtype_for(const ZipEntryReader& entry, const NpyHeader& header) {
  if (header.kind == 'f' && header.width == 4) return DType::float32;
  if (header.kind == 'f' && header.width == 8) return DType::float64;
  if (header.kind == 'b' && header.width == 1) return DType::boolean;
  if (holds_integers(header) && (header.width < 4 || header.descr == "<i4")) return DType::int32;
  if (header.descr == "<i8" || header.descr == "<u4") return DType::int64;
  entry.fail(
      fmt::format("has elements of type '{}', but a tensor holds little-endian float32, float64, int32, int64 or "
                  "bool; in NumPy: astype('float32')",
                  header.descr));
}

Shape tensor_shape(const ZipEntryReader& entry, const NpyHeader& header) {
  try {
    return Shape(header.shape);
  } catch (const ShapeError& error) {
    entry.fail(fmt::format("has a shape that no tensor has: {}", error.what()));
  }
}

}  // namespace

Tensor read_npy_tensor(const InputFile& file, const ZipEntry& zip_entry) {
  ZipEntryReader entry(file, zip_entry);
  const NpyHeader header = read_header(entry);
  const DType dtype = dtype_for(entry, header);
  if (header.fortran_order && header.shape.size() > 1) {
    entry.fail("is in Fortran order, but tensors are row-major; in NumPy: np.ascontiguousarray");
  }
  const Shape shape = tensor_shape(entry, header);
  const std::int64_t elements = checked_elements(entry, header);
  Tensor tensor = Tensor::empty(shape, dtype);
  if (dtype == DType::boolean) {
    bool* to = tensor.data<bool>();
    for_each_stored<std::uint8_t>(entry, elements, [&](std::uint8_t value) { *to++ = value != 0; });
  } else if (static_cast<std::int64_t>(size_of(dtype)) == header.width) {
    entry.read(device_address(tensor), static_cast<std::size_t>(elements) * size_of(dtype));
  } else if (dtype == DType::int32) {
    std::int32_t* to = tensor.data<std::int32_t>();
    for_each_integer(entry, header, elements, [&](auto value) { *to++ = static_cast<std::int32_t>(value); });
  } else {
    std::int64_t* to = tensor.data<std::int64_t>();
    for_each_integer(entry, header, elements, [&](auto value) { *to++ = static_cast<std::int64_t>(value); });
  }
  entry.finish();
  return tensor;
}

std::string npy_header(std::string_view descr, std::span<const std::int64_t> shape) {
  std::string dictionary = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                       fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const std::size_t before = npy_magic.size() + 2 + 2;
  const std::size_t total = (before + dictionary.size() + 1 + alignment - 1) / alignment * alignment;
  dictionary.resize(total - before - 1, ' ');
  dictionary += '\n';
  std::string header(npy_magic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(dictionary.size() & 0xff);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

}  // namespace bough
