#include <algorithm>
#include <chrono>
#include <thread>

#include "tools/bench/benchmark.h"

namespace bough::bench {
namespace {

double milliseconds_of(FunctionRef<void()> call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

Times measure_in_turns(const Options& options, FunctionRef<double()> ours, FunctionRef<double()> peer) {
  std::vector<double> our_times, peer_times;
  for (int i = 0; i < options.repeats; ++i) {
    our_times.push_back(ours());
    peer_times.push_back(peer());
  }
  return {median(std::move(our_times)), median(std::move(peer_times))};
}

}  // namespace

double median(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

bool selected(const Options& options, const std::string& case_name) { return case_name.starts_with(options.only); }

bool may_be_selected(const Options& options, const std::string& prefix) {
  return prefix.starts_with(options.only) || options.only.starts_with(prefix);
}

double measure(const Options& options, FunctionRef<void()> call) {
  call();
  std::vector<double> times;
  for (int i = 0; i < options.repeats; ++i) times.push_back(milliseconds_of(call));
  return median(std::move(times));
}

Times measure_both(const Options& options, FunctionRef<void()> ours, FunctionRef<void()> peer) {
  ours();
  peer();
  return measure_in_turns(
      options, [&] { return milliseconds_of(ours); }, [&] { return milliseconds_of(peer); });
}

Times measure_both_settled(const Options& options, FunctionRef<void()> ours, FunctionRef<void()> peer) {
  const auto settled = [](FunctionRef<void()> call) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    call();
    return milliseconds_of(call);
  };
  return measure_in_turns(
      options, [&] { return settled(ours); }, [&] { return settled(peer); });
}

}  // namespace bough::bench
