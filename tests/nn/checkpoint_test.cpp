#include "bough/nn/checkpoint.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "bough/core/errors.h"
#include "bough/nn/optimizer.h"
#include "bough/ops/cast.h"
#include "tests/nn/two_parts.h"

namespace bough::nn {
namespace {

class Checkpoint : public testing::Test {
 protected:
  Checkpoint()
      : folder_(std::filesystem::path(testing::TempDir()) / ("bough_checkpoint_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Checkpoint() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name = "model.safetensors") const { return (folder_ / name).string(); }

  std::string content() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(path(), std::ios::binary) << bytes; }
  /// A file with this header over `data` bytes of zeros.
  void write_header(const std::string& header, std::size_t data) const {
    const std::uint64_t length = header.size();
    std::string bytes(sizeof(length), '\0');
    std::memcpy(bytes.data(), &length, sizeof(length));
    write(bytes + header + std::string(data, '\0'));
  }
  std::string reason() const {
    try {
      load_tensors(path());
    } catch (const IoError& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

  const std::filesystem::path folder_;
};

TEST_F(Checkpoint, AllTypesAndShapesComeBack) {
  const TensorFile file{
      .tensors = {{"f32", Tensor::from_vector(std::vector<float>{1.5f, -2, 3}, {3})},
                  {"f64", Tensor::from_vector(std::vector<double>{1e300, 2}, {2, 1})},
                  {"i32", Tensor::from_vector(std::vector<std::int32_t>{-7}, {})},
                  {"i64", Tensor::from_vector(std::vector<std::int64_t>{1LL << 40}, {1})},
                  {"bool", Tensor::from_vector(std::vector<bool>{true, false, true}, {3})},
                  {"bf16", Tensor::from_vector(std::vector<bfloat16>{bfloat16(0.1), bfloat16(-3)}, {2})},
                  {"empty", zeros({0, 4})}},
      .metadata = {{"config", "{\"layers\": 2}"}, {"ünïcode", "✓"}}};
  save_tensors(path(), file);
  const TensorFile back = load_tensors(path());
  EXPECT_EQ(back.metadata, file.metadata);
  ASSERT_EQ(back.tensors.size(), file.tensors.size());
  for (const auto& [name, tensor] : file.tensors) {
    const auto found = std::ranges::find(back.tensors, name, [](const auto& entry) { return entry.first; });
    ASSERT_NE(found, back.tensors.end()) << name;
    EXPECT_EQ(found->second.dtype(), tensor.dtype());
    EXPECT_EQ(found->second.shape(), tensor.shape());
    EXPECT_EQ(found->second.to_vector<double>(), tensor.to_vector<double>());
  }
}

TEST_F(Checkpoint, OfBfloat16FitsAModelOfFloat) {
  TwoParts model, other;
  TensorFile file{.tensors = model.state(), .metadata = {}};
  for (auto& [name, tensor] : file.tensors) {
    if (tensor.dtype() == DType::float32) tensor = cast(tensor, DType::bfloat16);
  }
  save_tensors(path(), file);
  load_checkpoint(path(), other);
  const Module::NamedTensors loaded = other.state();
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    EXPECT_EQ(loaded[i].second.dtype(), model.state()[i].second.dtype());
    EXPECT_EQ(loaded[i].second.to_vector<float>(), file.tensors[i].second.to_vector<float>());
  }
}

TEST_F(Checkpoint, ModelOptimiserRandomStateAndTextComeBack) {
  TwoParts model;
  Adam optimizer(model.named_parameters());
  for (Tensor& parameter : model.parameters()) parameter.set_grad(ones(parameter.shape()));
  optimizer.step();
  RandomGenerator generator(11);
  generator.next_stream();
  std::map<std::string, std::string> text{{"step", "1"}};
  save_checkpoint(path(), model, {.optimizer = &optimizer, .generator = &generator, .metadata = &text});

  TwoParts other;
  Adam other_optimizer(other.named_parameters());
  RandomGenerator other_generator;
  std::map<std::string, std::string> other_text;
  load_checkpoint(path(), other,
                  {.optimizer = &other_optimizer, .generator = &other_generator, .metadata = &other_text});
  EXPECT_EQ(other.scale.to_vector<float>(), model.scale.to_vector<float>());
  EXPECT_EQ(other_optimizer.steps(), 1);
  EXPECT_EQ(other_optimizer.state()[1].second.to_vector<float>(), optimizer.state()[1].second.to_vector<float>());
  EXPECT_EQ(other_generator.next_stream().block(0), generator.next_stream().block(0));
  EXPECT_EQ(other_text, text);
  TwoParts third;
  EXPECT_NO_THROW(load_checkpoint(path(), third)) << "the model alone can be read from a full checkpoint";
}

TEST_F(Checkpoint, EveryTruncationIsAnErrorAndTouchesNothing) {
  TwoParts model;
  save_checkpoint(path(), model);
  const std::string whole = content();
  model.scale.detach().fill(-1);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write(whole.substr(0, length));
    ASSERT_THROW(load_checkpoint(path(), model), IoError) << length;
  }
  write(whole + "x");
  EXPECT_THROW(load_checkpoint(path(), model), IoError);
  EXPECT_EQ(model.scale.to_vector<float>(), std::vector<float>(2, -1));
}

TEST_F(Checkpoint, EveryFlippedBitIsAnErrorAndTouchesNothing) {
  TwoParts model;
  Adam optimizer(model.named_parameters());
  std::map<std::string, std::string> text{{"step", "12"}};
  save_checkpoint(path(), model, {.optimizer = &optimizer, .metadata = &text});
  const std::string whole = content();
  const std::size_t key = whole.find("bough:checksums");
  model.scale.detach().fill(-1);
  for (std::size_t byte = 0; byte < whole.size(); ++byte) {
    // Without its name the list of checksums is a note like any other, and the rest is still whole.
    if (byte >= key && byte < key + std::strlen("bough:checksums")) continue;
    for (int bit = byte % 3; bit < 8; bit += 3) {
      std::string damaged = whole;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      write(damaged);
      ASSERT_THROW(load_checkpoint(path(), model), IoError) << "bit " << bit << " of byte " << byte;
    }
  }
  EXPECT_EQ(model.scale.to_vector<float>(), std::vector<float>(2, -1));
}

TEST_F(Checkpoint, DamagedDataIsNamed) {
  TwoParts model;
  std::map<std::string, std::string> text{{"step", "12"}};
  save_checkpoint(path(), model, {.metadata = &text});
  const std::string whole = content();
  const auto reason_after = [&](std::string damaged) -> std::string {
    write(damaged);
    try {
      load_checkpoint(path(), model);
    } catch (const IoError& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  std::string damaged = whole;
  damaged.back() ^= 1;
  EXPECT_NE(reason_after(damaged).find("'second.count'"), std::string::npos) << reason_after(damaged);
  damaged = whole;
  damaged.replace(damaged.find("\"12\"") + 1, 2, "13");
  EXPECT_NE(reason_after(damaged).find("metadata"), std::string::npos) << reason_after(damaged);
  EXPECT_EQ(reason_after(whole), "nothing was thrown");
}

TEST_F(Checkpoint, AFileWithoutChecksumsIsTakenAsItIs) {
  TwoParts model;
  save_tensors(path(), {.tensors = model.state(), .metadata = {}});
  TwoParts other;
  EXPECT_NO_THROW(load_checkpoint(path(), other));
}

TEST_F(Checkpoint, HostileHeadersAreNamed) {
  write_header(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
      8);
  EXPECT_NE(reason().find("twice"), std::string::npos) << reason();
  write_header(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
      12);
  EXPECT_NE(reason().find("overlap"), std::string::npos) << reason();
  write_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8);
  EXPECT_NE(reason().find("gap"), std::string::npos) << reason();
  write_header(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8);
  EXPECT_NE(reason().find("12 bytes"), std::string::npos) << reason();
  write_header(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}})", 8);
  EXPECT_NE(reason().find("impossible"), std::string::npos) << reason();
  write_header(R"({"a":{"dtype":"F32","shape":[1000000000000],"data_offsets":[0,4000000000000]}})", 8);
  EXPECT_NE(reason().find("data_offsets"), std::string::npos) << reason();
  write_header(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8);
  EXPECT_NE(reason().find("-2"), std::string::npos) << reason();
  write_header(R"({"a":{"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]}})", 8);
  EXPECT_NE(reason().find("F8_E4M3"), std::string::npos) << reason();
  write_header(R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,8]}})", 8);
  EXPECT_NE(reason().find("takes 4 bytes"), std::string::npos) << reason();
  write_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8);
  EXPECT_NE(reason().find("data_offsets"), std::string::npos) << reason();
  write_header(R"({"a":7})", 0);
  EXPECT_NE(reason().find("exactly"), std::string::npos) << reason();
  write_header("[]", 0);
  EXPECT_NE(reason().find("object"), std::string::npos) << reason();
  write_header("{", 0);
  EXPECT_NE(reason().find("JSON"), std::string::npos) << reason();
  write_header(std::string(200000, '['), 0);
  EXPECT_NE(reason().find("deep"), std::string::npos) << reason();
  write_header(R"({"__metadata__":{"a":1}})", 0);
  EXPECT_NE(reason().find("not text"), std::string::npos) << reason();
  write(std::string(8, '\xff'));
  EXPECT_NE(reason().find("header would have"), std::string::npos) << reason();
}

TEST_F(Checkpoint, AFileOfAnotherModelNamesWhatDoesNotFit) {
  save_tensors(path(), {.tensors = {{"scale", ones({3})}}, .metadata = {}});
  TwoParts model;
  try {
    load_checkpoint(path(), model);
    FAIL();
  } catch (const IoError& error) {
    EXPECT_NE(std::string(error.what()).find("'scale' is [2] here, [3]"), std::string::npos) << error.what();
  }
}

TEST_F(Checkpoint, SavingRefusesDoubleNamesAndLeavesNoFile) {
  EXPECT_THROW(save_tensors(path(), {.tensors = {{"a", ones({1})}, {"a", ones({1})}}, .metadata = {}}), ConfigError);
  EXPECT_THROW(save_tensors(path(), {.tensors = {{"\xff", ones({1})}}, .metadata = {}}), ConfigError);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(Checkpoint, KillingTheWriterAtAnyMomentLeavesAWholeFile) {
  const auto save = [&](double value) {
    save_tensors(path(), {.tensors = {{"a", full({50000}, value)}, {"b", full({50000}, value)}}, .metadata = {}});
  };
  save(0);
  for (int round = 0; round < 20; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (double value = 1;; ++value) save(value);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500 + 700 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const TensorFile file = load_tensors(path());
    const auto a = file.tensors[0].second.to_vector<float>(), b = file.tensors[1].second.to_vector<float>();
    ASSERT_EQ(a, b);
    ASSERT_EQ(a, std::vector<float>(a.size(), a[0]));
  }
}

}  // namespace
}  // namespace bough::nn
