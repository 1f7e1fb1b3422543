// Does not compile: none of these functions is one that a Frame can call. CMakeLists.txt looks for the sentences.
#include "bough/mp/frame.h"

void wrong(bough::Frame& frame) {
  frame.update_all([](const bough::Tensor& h) { return h; }, bough::fn::sum("m", "out"));
  frame.update_all(
      bough::fn::copy_u("h", "m"), [](const bough::Mailbox& m) { return m.size(); }, "out");
  frame.apply_nodes([](const bough::EdgeBatch& e) { return e.src("h"); }, "out");
}
