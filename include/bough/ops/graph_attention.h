#pragma once

#include <optional>
#include <span>

#include "bough/core/random.h"
#include "bough/core/tensor.h"
#include "bough/graph/graph.h"

namespace bough {

/// How graph_attention computes. All give the same result to rounding.
enum class AttentionKernel {
  automatic,  ///< tiles where the graph and the options suit them, rows elsewhere
  row,        ///< one destination at a time, for any graph and all options
  tile,       ///< tiles wherever the plan has them, rows for the rest. Of the options, tiles take relation_keys, scale
              ///< and dropout (and head groups); ConfigError for relation_values, relation_bias and edge tensors
  unfused,    ///< from gsddmm, edge_softmax and gspmm: slow and large (E x H x D with relations), easy to check; here
              ///< a score far above the others takes part in the softmax also where the edge has weight 0
};

/// Options of graph_attention.
struct GraphAttentionOptions {
  Tensor relation_keys = {};         ///< [R, D] shared by the heads or [R, H, D]: added to the keys, by the edge's type
  Tensor relation_values = {};       ///< [R, Dv] or [R, H, Dv]: added to the values
  Tensor relation_bias = {};         ///< [R, H]: added to the scores
  Tensor edge_bias = {};             ///< [E] or [E, H]: added to the scores; -infinity masks an edge
  Tensor edge_weights = {};          ///< [E] or [E, H], >= 0: multiplied in before normalising (adaptive span)
  std::optional<double> scale = {};  ///< of q.(k + relation key); default 1 / sqrt(D), 1 for D = 0
  double dropout = 0;                ///< in [0, 1): share of attention weights set to 0, the others grow to make up
  RandomGenerator* generator = nullptr;                 ///< gives dropout its stream; default: default_generator()
  AttentionKernel kernel = AttentionKernel::automatic;  ///< by rows, by tiles, or the faster one
  /// False: on a GPU, gradients of k, v and relation tables are added up in one pass by atomic additions, which takes
  /// less memory and traffic; they then differ by rounding from run to run. Changes nothing on the CPU.
  bool deterministic = true;
  /// True: on a GPU, forward of tiles of bfloat16 multiplies with tensor cores, in float32 sums, but with weights that
  /// are rounded to bfloat16 as well. DeviceError where tensor cores do not take it, before compute capability 8.0 or
  /// in a build without code for such. Changes nothing for other types, for rows, for backward and on the CPU.
  bool tensor_cores = false;
};

/// Every destination attends to the sources of its in-edges:
///
///   score(e) = scale * q[dst].(k[src] + relation_keys[type]) + relation_bias[type] + edge_bias[e]      for each head
///   a(e)     = edge_weights[e] exp(score(e)) / sum over the in-edges of dst
///   out[dst] = sum over the in-edges of a(e) (v[src] + relation_values[type])
///
/// q [num_dst, H, D], k [num_src, H, D], v [num_src, H, Dv] -> [num_dst, H, Dv]; float32, float64 or bfloat16, one type
/// for all tensors and the result; any D and Dv (fast for multiples of 8). Tables have at least num_edge_types() rows;
/// edge tensors are in edge order.
/// Numbers of bfloat16 are computed with in float32, and results and gradients rounded at the end; the log-sum-exp of a
/// row stays float32. Kernels of a GPU read and write bfloat16 itself, collect gradients of k, v and tables in float32
/// before, and make those of scores with the rounded result. The CPU, and AttentionKernel::unfused, convert all
/// tensors to float32 and the result back. A destination without in-edges, or whose weights or exponentials are all 0,
/// gets zeros and passes zero gradient. Dropout is a function of stream, source, destination and head (and which of
/// several parallel edges it is): the same for every kernel and number of threads, and not stored. Gradients to q, k, v
/// and all tables, biases and weights. Saves its inputs, the result and one number per destination and head; scores are
/// computed again in backward, so nothing of size E x H or E x D is ever made. O(E H (D + Dv)). Bitwise equal for any
/// number of threads, and from run to run on a GPU. Uses a plan of the graph that is made on first use and kept by it:
/// see bough/ops/attention_plan.h.
/// An infinity or NaN in q, k, v or the gradient of the result reaches only results and gradients of q, k and v whose
/// nodes have an edge with its node (gradients of tables and edge tensors: of any node). Backward of tiles on a GPU
/// keeps that promise for v only: there it may also reach gradients of nodes that share a tile.
Tensor graph_attention(const Graph& graph, const Tensor& q, const Tensor& k, const Tensor& v,
                       const GraphAttentionOptions& options = {});

/// The same with groups of heads on different graphs over the same nodes: with G graphs, which must divide H, the first
/// H/G heads use the first graph, and so on. Edge tensors hold the edges of the first graph first, then those of the
/// second, ...: [sum of E] or [sum of E, H/G].
Tensor graph_attention(std::span<const Graph> graphs, const Tensor& q, const Tensor& k, const Tensor& v,
                       const GraphAttentionOptions& options = {});

/// The weights a(e) for looking at: [E, H] in edge order, without dropout and without gradient; those of bfloat16 are
/// float32. O(E H D).
Tensor attention_weights(const Graph& graph, const Tensor& q, const Tensor& k,
                         const GraphAttentionOptions& options = {});

}  // namespace bough
