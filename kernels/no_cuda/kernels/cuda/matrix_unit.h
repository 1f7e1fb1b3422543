#pragma once

/// Found before that of CUDA when the sources of kernels/cuda are compiled without it: there are no tensor cores to
/// describe.
