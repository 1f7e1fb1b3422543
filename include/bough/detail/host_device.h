#pragma once

/// Marks a small function that kernels of every backend call: it compiles for the host, and under nvcc for the device.
#if defined(__CUDACC__)
#define BOUGH_HOST_DEVICE __host__ __device__
#else
#define BOUGH_HOST_DEVICE
#endif
