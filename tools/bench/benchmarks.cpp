#include "tools/bench/benchmark.h"

namespace bough::bench {

const std::vector<Benchmark>& benchmarks() {
  static const std::vector<Benchmark> all = {
      {"allocation", "a tensor's memory from the pool, against the system's allocator", run_allocation},
      {"attention", "fused graph attention against the arithmetic it needs; peers/attention.py runs others beside",
       run_attention, true},
      {"attention_ablation", "the attention plan against plans with one of its refinements switched off",
       run_attention_ablation},
      {"decode",
       "a token of a text that is being written, by length; without cache, side by side, beams; peers/decode.py runs "
       "torch beside",
       run_decode},
      {"elementwise", "arithmetic, activations and reductions, against a plain copy and <cmath>", run_elementwise},
      {"gemm", "matrix products of dense layers and their backward pass, against threaded OpenBLAS", run_gemm},
      {"graph_build", "causal partition graphs with relations and both formats, against plain loops", run_graph_build},
      {"graph_conversion", "edge lists to CSC and CSR, against a serial counting sort", run_graph_conversion},
      {"message_passing",
       "messages, reductions, softmax and segments on graphs; peers/message_passing.py runs DGL beside",
       run_message_passing},
      {"row_operations", "norms, softmax, losses, gather and scatter, against a plain copy", run_row_operations},
      {"sequence_length",
       "a model of 6 layers on 8192 tokens cut into sequences; peers/sequence_length.py runs torch beside",
       run_sequence_length},
      {"tokenizer", "cutting texts into words, on one thread, against the word breaks of ICU", run_tokenizer},
      {"train_step", "a step with only what is read against one with all nodes, and what a small step costs by itself",
       run_train_step},
  };
  return all;
}

}  // namespace bough::bench
