#include "tools/bench/attention_case.h"

#include "bough/autograd/autograd.h"
#include "bough/core/memory.h"
#include "bough/ops/attention_plan.h"
#include "bough/ops/graph_attention.h"

namespace bough::bench {
namespace {

constexpr std::int64_t heads = 8, width = 64;

}  // namespace

const char* name_of(AttentionPass pass) { return pass == AttentionPass::forward ? "forward" : "forward+backward"; }

AttentionCase::AttentionCase(const AttentionPattern& pattern) : name_(pattern.name), graph_(pattern.make()) {
  const std::int64_t nodes = graph_.num_nodes();
  q_ = randn({nodes, heads, width});
  k_ = randn({nodes, heads, width});
  v_ = randn({nodes, heads, width});
  d_out_ = randn({nodes, heads, width});
  if (pattern.relations) relation_keys_ = randn({graph_.num_edge_types(), width});
  graph_.csc();
  graph_.csr();
}

void AttentionCase::run(AttentionPass pass, double dropout) {
  require_gradients(pass == AttentionPass::both);
  const Tensor out = graph_attention(graph_, q_, k_, v_, {.relation_keys = relation_keys_, .dropout = dropout});
  if (pass == AttentionPass::both) out.backward({.gradient = d_out_});
}

double AttentionCase::operations(AttentionPass pass) const {
  const double products = pass == AttentionPass::forward ? 2 : 7;
  return products * 2 * edges() * static_cast<double>(heads * width);
}

std::int64_t AttentionCase::extra_bytes(AttentionPass pass) {
  require_gradients(false);
  const std::int64_t tensor = q_.elements() * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t results = pass == AttentionPass::forward ? tensor : 4 * tensor;
  const std::int64_t before = memory_statistics().bytes_now;
  reset_peak_memory();
  run(pass);
  const std::int64_t peak = memory_statistics().bytes_peak;
  require_gradients(false);
  return peak - before - results + attention_plan_summary(graph_, has_relations()).bytes;
}

void AttentionCase::require_gradients(bool value) {
  for (Tensor* tensor : {&q_, &k_, &v_, &relation_keys_}) {
    if (!tensor->defined()) continue;
    tensor->clear_grad();
    tensor->set_requires_grad(value);
  }
}

}  // namespace bough::bench
