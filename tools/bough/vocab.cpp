#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "bough/core/errors.h"
#include "src/core/files.h"
#include "tools/bough/commands.h"

namespace bough::cli {

void run_vocab(const VocabCommand& command) {
  for (const std::string& file : command.files) {
    std::error_code not_there;
    if (std::filesystem::equivalent(file, command.out, not_there)) {
      throw ConfigError("--out", fmt::format("'{}' is one of the texts, which the model would replace", command.out));
    }
  }
  AtomicFileWriter writer(command.out);  // a folder that is not there is known before the training
  const SentencePieceModel model = train_sentencepiece_on_files(command.files, command.training);
  writer.write(model.bytes().data(), model.bytes().size());
  writer.commit();
  fmt::print("{}: {} model of {} pieces; <pad>, <unk>, <s> and </s> are 0 to 3\n", command.out, command.training.kind,
             model.size());
}

}  // namespace bough::cli
