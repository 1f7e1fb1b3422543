#pragma once

namespace bough::bench {

/// Billions of floating-point operations a second that all threads together reach when they do nothing but multiply and
/// add float32 in registers: what no kernel can pass. Takes about 0.1 seconds.
double arithmetic_peak();

}  // namespace bough::bench
