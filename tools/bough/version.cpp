#include "bough/core/version.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bough/core/parallel.h"
#include "bough/ops/matmul.h"
#include "tasks/data/sentencepiece.h"
#include "tasks/machine.h"
#include "tools/bough/commands.h"

namespace bough::cli {
namespace {

void print_version_json(const BuildInformation& build) {
  const nlohmann::ordered_json object = {
      {"version", build.version},           {"commit", build_commit},
      {"compiler", build.compiler},         {"build_type", build.build_type},
      {"libraries", library_versions()},    {"instruction_set", build.instruction_set},
      {"threads", num_threads()},           {"cuda", build.has_cuda},
      {"cuda_devices", build.cuda_devices}, {"sentencepiece", has_sentencepiece()}};
  fmt::print("{}\n", object.dump());
}

std::string describe_cuda(const BuildInformation& build) {
  if (!build.has_cuda) return "not in this build";
  if (build.cuda_devices == 0) return "built in, 0 devices found";
  return fmt::format("built in, {} {} found, products by {}", build.cuda_devices,
                     build.cuda_devices == 1 ? "device" : "devices", uses_cublas() ? "cuBLAS" : "bough's own kernels");
}

/// "oneTBB 2021.8.0, Highway 1.0.3, ...".
std::string describe_libraries() {
  std::string text;
  const nlohmann::json versions = library_versions();
  for (const auto& [name, version] : versions.items()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, version.get<std::string>());
  }
  return text;
}

void print_version(const BuildInformation& build) {
  fmt::print("bough {}\n", build.version);
  fmt::print("commit           {}\n", build_commit);
  fmt::print("compiler         {}, {}\n", build.compiler, build.build_type);
  fmt::print("libraries        {}\n", describe_libraries());
  fmt::print("instruction set  {}\n", build.instruction_set);
  fmt::print("threads          {}\n", num_threads());
  fmt::print("CUDA             {}\n", describe_cuda(build));
  fmt::print("SentencePiece    {}\n", has_sentencepiece() ? "built in" : "not in this build");
}

}  // namespace

void run_version(const VersionCommand& command) {
  (command.json ? print_version_json : print_version)(build_information());
}

}  // namespace bough::cli
