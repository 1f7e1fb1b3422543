#include "tests/support/gradient.h"

#include <gtest/gtest.h>

namespace bough::test {

void expect_gradient(const std::function<Tensor(const std::vector<Tensor>&)>& f, const std::vector<Tensor>& inputs,
                     const GradcheckOptions& options, std::source_location where) {
  const GradcheckResult result = gradcheck(f, inputs, options);
  if (!result) ADD_FAILURE_AT(where.file_name(), static_cast<int>(where.line())) << result.report;
}

}  // namespace bough::test
