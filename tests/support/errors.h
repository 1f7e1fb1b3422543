#pragma once

#include <gtest/gtest.h>

#include <string>

#include "bough/core/errors.h"

namespace bough::test {

/// The message of the exception of type E that f throws; fails and gives nothing if it throws none.
template <typename E, typename F>
std::string error_message(F&& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

template <typename F>
std::string graph_error(F&& f) {
  return error_message<GraphError>(std::forward<F>(f));
}

}  // namespace bough::test
