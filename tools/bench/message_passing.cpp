#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "bough/autograd/autograd.h"
#include "bough/mp/frame.h"
#include "bough/mp/message_reduce.h"
#include "bough/ops/edge_softmax.h"
#include "bough/ops/gsddmm.h"
#include "bough/ops/gspmm.h"
#include "bough/ops/reduce.h"
#include "bough/ops/segment.h"
#include "tools/bench/benchmark.h"
#include "tools/bench/graphs.h"

namespace bough::bench {
namespace {

struct NamedGraph {
  std::string name;
  Graph (*make)();
};

const std::vector<NamedGraph>& graphs() {
  static const std::vector<NamedGraph> all{{"bpt_k4", [] { return partition_graph(8192, 4); }},
                                           {"bpt_k64", [] { return partition_graph(8192, 64); }},
                                           {"random", [] { return drawn_graph({.skew = 1}); }},
                                           {"power_law", [] { return drawn_graph({.skew = 3}); }}};
  return all;
}

struct Width {
  std::int64_t heads, width;
};

/// Whether a row for each edge, its gradient and as much again find room on this machine.
bool fits_in_memory(std::int64_t edges, Width width) {
  const std::int64_t bytes = edges * width.heads * width.width * std::int64_t{sizeof(float)};
  return bytes <= sysconf(_SC_PHYS_PAGES) / 3 * sysconf(_SC_PAGESIZE);
}

struct SourceTimesEdge {
  template <typename T>
  T operator()(T u, T e) const {
    return u * e;
  }
  template <typename T>
  std::array<T, 2> gradient(T u, T e) const {
    return {e, u};
  }
};

/// The measurements of one graph and one width of features.
class Group {
 public:
  Group(const Options& options, const Report& report, std::string name, const Graph& graph, Width width)
      : options_(options), report_(report), name_(std::move(name)), graph_(graph), width_(width) {
    const std::int64_t nodes = graph.num_nodes(), edges = graph.num_edges();
    u_ = randn({nodes, width.heads, width.width});
    v_ = randn({nodes, width.heads, width.width});
    e_ = rand_uniform({edges, width.heads, 1}, 0.5, 1.5);
    graph.csr();
    graph.csc();
  }

  void run() {
    both_ways("u_dot_v", [this] { return gsddmm(graph_, BinaryOp::dot, u_, v_); });
    both_ways("copy_u_sum", [this] { return gspmm(graph_, BinaryOp::copy_lhs, ReduceOp::sum, u_); });
    both_ways("u_mul_e_sum", [this] { return gspmm(graph_, BinaryOp::mul, ReduceOp::sum, u_, e_); });
    both_ways("copy_u_max", [this] { return gspmm(graph_, BinaryOp::copy_lhs, ReduceOp::max, u_); });
    both_ways("edge_softmax", [this] { return edge_softmax(graph_, e_); });
    segments();
    functor();
    general_path();
  }

 private:
  std::string case_name(const std::string& what) const { return name_ + " " + what; }
  bool wanted(const std::string& what) const { return selected(options_, case_name(what)); }
  bool may_be_wanted(const std::string& what) const { return wanted(what) || wanted(two_threads(what)); }

  void clear_gradients() {
    for (Tensor* tensor : {&u_, &v_, &e_, &values_}) {
      if (tensor->defined()) tensor->clear_grad();
    }
  }
  void require_gradients(bool value) {
    clear_gradients();
    for (Tensor* tensor : {&u_, &v_, &e_, &values_}) {
      if (tensor->defined()) tensor->set_requires_grad(value);
    }
  }

  void compare(const std::string& what, const char* peer, FunctionRef<void()> ours, FunctionRef<void()> other) const {
    const Times times = measure_both(options_, ours, other);
    report_({.case_name = case_name(what), .milliseconds = times.ours, .peer = peer, .peer_milliseconds = times.peer});
  }

  static std::string two_threads(const std::string& what) { return "two_threads_" + what; }

  /// The time of a call, and of two threads against one.
  void time(const std::string& what, FunctionRef<void()> call) const {
    if (wanted(what)) report_({.case_name = case_name(what), .milliseconds = measure(options_, call)});
    if (!wanted(two_threads(what))) return;
    const int before = num_threads();
    compare(
        two_threads(what), "one thread", [&] { set_num_threads(2), call(); }, [&] { set_num_threads(1), call(); });
    set_num_threads(before);
  }

  /// Carries the gradient of a result back, as often as it is called.
  auto backward_of(const Tensor& result) {
    return [this, result, gradient = ones(result.shape())] {
      clear_gradients();
      result.backward({.gradient = gradient, .retain_graph = true});
    };
  }

  template <typename F>
  void both_ways(const std::string& what, const F& forward) {
    time(what, forward);
    if (!may_be_wanted(what + "_backward")) return;
    require_gradients(true);
    time(what + "_backward", backward_of(forward()));
    require_gradients(false);
  }

  void segments() {
    if (!may_be_wanted("segment_sum") && !may_be_wanted("segment_sum_backward")) return;
    if (!fits_in_memory(graph_.num_edges(), width_)) return;
    values_ = randn({graph_.num_edges(), width_.heads, width_.width});
    const Tensor offsets = Tensor::from_span<std::int64_t>(graph_.csc().offsets, {graph_.num_dst() + 1});
    both_ways("segment_sum", [&] { return segment_reduce(values_, offsets, ReduceOp::sum); });
    values_ = {};
  }

  void functor() {
    const auto ours = [&] { return message_reduce<SourceTimesEdge>(graph_, {.source = u_, .edge = e_}); };
    const auto built_in = [&] { return gspmm(graph_, BinaryOp::mul, ReduceOp::sum, u_, e_); };
    const std::string forward = "functor_u_mul_e_sum", backward = forward + "_backward";
    if (wanted(forward)) compare(forward, "built-in", ours, built_in);
    if (!wanted(backward)) return;
    require_gradients(true);
    compare(backward, "built-in", backward_of(ours()), backward_of(built_in()));
    require_gradients(false);
  }

  void general_path() {
    if (!wanted("general_copy_u_sum") || !fits_in_memory(graph_.num_edges(), width_)) return;
    Frame frame(graph_);
    frame.node("h") = u_;
    const auto general = [&] {
      frame.update_all([](const EdgeBatch& edges) { return edges.src("h"); },
                       [](const Mailbox& mailbox) { return sum(mailbox.messages(), 1); }, "out");
    };
    compare("general_copy_u_sum", "fused", general,
            [&] { frame.update_all(fn::copy_u("h", "m"), fn::sum("m", "out")); });
  }

  const Options& options_;
  const Report& report_;
  std::string name_;
  Graph graph_;
  Width width_;
  Tensor u_, v_, e_, values_;
};

}  // namespace

void run_message_passing(const Options& options, const Report& report) {
  for (const NamedGraph& named : graphs()) {
    Graph graph;
    for (const Width width : {Width{8, 64}, Width{1, 256}}) {
      const std::string name = fmt::format("{} {}x{}", named.name, width.heads, width.width);
      if (!may_be_selected(options, name + " ")) continue;
      if (graph.num_nodes() == 0) graph = named.make();
      Group(options, report, name, graph, width).run();
    }
  }
}

}  // namespace bough::bench
