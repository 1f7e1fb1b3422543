#include "tasks/runner/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>

namespace bough::runner {
namespace {

TEST(Interrupt, OneRequestThatArrivesTwiceIsOne) {
  const InterruptGuard guard;
  EXPECT_FALSE(interrupted());
  std::raise(SIGINT);
  EXPECT_TRUE(interrupted());
  // Without the guard's patience any of these would end this program.
  std::raise(SIGINT);
  std::raise(SIGTERM);
  EXPECT_TRUE(interrupted());
}

TEST(Interrupt, IsForgottenByTheNextGuard) {
  {
    const InterruptGuard guard;
    std::raise(SIGTERM);
    EXPECT_TRUE(interrupted());
  }
  const InterruptGuard guard;
  EXPECT_FALSE(interrupted());
}

}  // namespace
}  // namespace bough::runner
