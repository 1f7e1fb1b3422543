#include <fmt/format.h>

#include "src/core/files.h"
#include "tools/bough/commands.h"
#include "tools/bough/output_files.h"

namespace bough::cli {

void run_vocab(const VocabCommand& command) {
  require_separate_files({{"--out", command.out}}, command.files);
  AtomicFileWriter writer(command.out);  // a folder that is not there is known before the training
  const SentencePieceModel model = train_sentencepiece_on_files(command.files, command.training);
  writer.write(model.bytes().data(), model.bytes().size());
  writer.commit();
  fmt::print("{}: {} model of {} pieces; <pad>, <unk>, <s> and </s> are 0 to 3\n", command.out, command.training.kind,
             model.size());
}

}  // namespace bough::cli
