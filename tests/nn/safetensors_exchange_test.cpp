// Files exchanged with Python's package safetensors, in both directions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>

#include "bough/core/random.h"
#include "bough/nn/checkpoint.h"
#include "bough/nn/optimizer.h"
#include "tests/nn/two_parts.h"
#include "tests/support/compare.h"
#include "tests/support/python.h"
#include "tests/support/random_tensor.h"

namespace bough::nn {
namespace {

using testing::ElementsAre;
using testing::IsNan;

std::map<std::string, Tensor> by_name(const TensorFile& file) { return {file.tensors.begin(), file.tensors.end()}; }

TEST(ForeignSafetensors, OfEveryTypeAreRead) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const TensorFile file = load_tensors(BOUGH_FIXTURES "/safetensors_types.safetensors");
  EXPECT_EQ(file.metadata, (std::map<std::string, std::string>{{"made by", "safetensors"}, {"ü", "✓"}}));
  const std::map<std::string, Tensor> tensors = by_name(file);
  EXPECT_EQ(tensors.size(), 9u);
  EXPECT_THAT(tensors.at("float32").span<float>(), ElementsAre(1.5f, -2.25f, 1e-45f, 3.4e38f, infinity, IsNan()));
  EXPECT_EQ(tensors.at("float32").shape(), (Shape{2, 3}));
  EXPECT_THAT(tensors.at("float64").span<double>(), ElementsAre(1e300, -0.1));
  EXPECT_THAT(tensors.at("int32").span<std::int32_t>(), ElementsAre(INT32_MIN, INT32_MAX));
  EXPECT_THAT(tensors.at("int64").span<std::int64_t>(), ElementsAre(INT64_MIN, INT64_MAX));
  EXPECT_THAT(tensors.at("bool").to_vector<int>(), ElementsAre(1, 0, 1));
  EXPECT_THAT(tensors.at("float16").span<float>(), ElementsAre(1.5f, -65504.f, 0x1p-24f, -infinity, IsNan()));
  EXPECT_THAT(tensors.at("bfloat16").to_vector<float>(), ElementsAre(1.5f, -0x1.c4p127f, 0x1p-133f, infinity, IsNan()));
  EXPECT_EQ(tensors.at("a scalar, größer").item<std::int64_t>(), 7);
  EXPECT_EQ(tensors.at("empty").shape(), (Shape{0, 3}));
}

/// What a 16-bit float with so many bits of mantissa means, from its definition.
double meaning(int bits, int mantissa_bits) {
  const int exponent_bits = 15 - mantissa_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
  const double sign = bits < 0x8000 ? 1 : -1, fraction = std::ldexp(mantissa, -mantissa_bits);
  if (exponent == (1 << exponent_bits) - 1) return mantissa == 0 ? sign * INFINITY : NAN;
  return sign * (exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias));
}

TEST(ForeignSafetensors, OfSixteenBitsAreReadExactly) {
  const test::TemporaryFolder folder;
  for (const auto& [type, mantissa_bits] : std::map<std::string, int>{{"F16", 10}, {"BF16", 7}}) {
    SCOPED_TRACE(type);
    const std::string header = R"({"all":{"dtype":")" + type + R"(","shape":[65536],"data_offsets":[0,131072]}})";
    const std::uint64_t length = header.size();
    std::string content(8, '\0');
    std::memcpy(content.data(), &length, 8);
    content += header;
    for (int bits = 0; bits < 65536; ++bits) {
      content += static_cast<char>(bits & 0xFF);
      content += static_cast<char>(bits >> 8);
    }
    test::write_file(folder.file("all"), content);
    const Tensor all = load_tensors(folder.file("all")).tensors[0].second;
    const std::vector<float> values = all.to_vector<float>();
    for (int bits = 0; bits < 65536; ++bits) {
      const double actual = values[static_cast<std::size_t>(bits)], expected = meaning(bits, mantissa_bits);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(actual)) << bits;
      } else {
        ASSERT_EQ(actual, expected) << bits;
        ASSERT_EQ(std::signbit(actual), std::signbit(expected)) << bits;
      }
    }
  }
}

class SafetensorsExchange : public testing::Test {
 protected:
  void SetUp() override {
    python_ = test::python_with("safetensors.numpy");
    if (!python_) GTEST_SKIP() << "no Python here has the packages safetensors and numpy; BOUGH_PYTHON can name one";
  }
  bool run(const std::string& script) {
    return test::run_python(*python_, folder_,
                            "import numpy as np\n"
                            "from safetensors import safe_open\n"
                            "from safetensors.numpy import load_file, save_file\n" +
                                script);
  }

  test::TemporaryFolder folder_;
  std::optional<std::string> python_;
};

TEST_F(SafetensorsExchange, PythonReadsWhatIsWritten) {
  save_tensors(folder_.file("ours"),
               {.tensors = {{"f32", Tensor::from_vector(std::vector<float>{1.5f, -2, 3e38f}, {3})},
                            {"f64", Tensor::from_vector(std::vector<double>{1e300, 2}, {2, 1})},
                            {"i32", Tensor::from_vector(std::vector<std::int32_t>{-7}, {})},
                            {"größe", Tensor::from_vector(std::vector<std::int64_t>{1LL << 40}, {1})},
                            {"bool", Tensor::from_vector(std::vector<bool>{true, false, true}, {3})},
                            {"empty", zeros({0, 4})}},
                .metadata = {{"config", R"({"layers": 2})"}, {"ünïcode", "✓"}}});
  EXPECT_TRUE(
      run("t = load_file('ours')\n"
          "assert sorted(t) == ['bool', 'empty', 'f32', 'f64', 'größe', 'i32'], sorted(t)\n"
          "assert t['f32'].dtype == np.float32 and t['f32'].tolist() == [1.5, -2, float(np.float32(3e38))]\n"
          "assert t['f64'].dtype == np.float64 and t['f64'].tolist() == [[1e300], [2]]\n"
          "assert t['i32'].dtype == np.int32 and t['i32'].shape == () and int(t['i32']) == -7\n"
          "assert t['größe'].dtype == np.int64 and t['größe'].tolist() == [2**40]\n"
          "assert t['bool'].dtype == np.bool_ and t['bool'].tolist() == [True, False, True]\n"
          "assert t['empty'].shape == (0, 4)\n"
          "with safe_open('ours', 'numpy') as f:\n"
          "    assert f.metadata() == {'config': '{\"layers\": 2}', 'ünïcode': '✓'}, f.metadata()\n"));
}

TEST_F(SafetensorsExchange, WhatPythonWritesIsRead) {
  ASSERT_TRUE(
      run("save_file({'small': np.float32([[1, 2], [3, 4]]), 'half': np.float16([0.1, -1e-7]),\n"
          "           'large': np.arange(300000, dtype=np.int32).reshape(3, -1), 'none': np.zeros((2, 0)),\n"
          "           'yes': np.array([True])}, 'theirs', metadata={'step': '3'})\n"));
  const TensorFile file = load_tensors(folder_.file("theirs"));
  EXPECT_EQ(file.metadata, (std::map<std::string, std::string>{{"step", "3"}}));
  const std::map<std::string, Tensor> tensors = by_name(file);
  EXPECT_THAT(tensors.at("small").span<float>(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(tensors.at("half").span<float>(), ElementsAre(0x1.998p-4f, -0x1p-23f));
  EXPECT_EQ(tensors.at("large").shape(), (Shape{3, 100000}));
  EXPECT_EQ(tensors.at("large").data<std::int32_t>()[299'999], 299'999);
  EXPECT_EQ(tensors.at("none").dtype(), DType::float64);
  EXPECT_TRUE(tensors.at("yes").item<bool>());
}

TEST_F(SafetensorsExchange, ACheckpointComesBackFromPythonWhole) {
  TwoParts model;
  Adam optimizer(model.named_parameters());
  for (Tensor& parameter : model.parameters()) parameter.set_grad(test::random_tensor(parameter.shape()));
  optimizer.step();
  RandomGenerator generator(5);
  generator.next_stream();
  std::map<std::string, std::string> notes{{"step", "1"}};
  save_checkpoint(folder_.file("there"), model, {.optimizer = &optimizer, .generator = &generator, .metadata = &notes});
  ASSERT_TRUE(
      run("with safe_open('there', 'numpy') as f:\n"
          "    save_file({k: f.get_tensor(k) for k in f.keys()}, 'back', metadata=f.metadata())\n"));

  TwoParts other;
  Adam other_optimizer(other.named_parameters());
  RandomGenerator other_generator;
  std::map<std::string, std::string> other_notes;
  load_checkpoint(folder_.file("back"), other,
                  {.optimizer = &other_optimizer, .generator = &other_generator, .metadata = &other_notes});
  const auto expect_same = [](const Module::NamedTensors& actual, const Module::NamedTensors& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      EXPECT_EQ(actual[i].first, expected[i].first);
      test::expect_same_bits(actual[i].second.detach(), expected[i].second.detach());
    }
  };
  expect_same(other.state(), model.state());
  expect_same(other_optimizer.state(), optimizer.state());
  EXPECT_EQ(other_generator.state().stream, generator.state().stream);
  EXPECT_EQ(other_notes.at("step"), "1");
}

}  // namespace
}  // namespace bough::nn
