#pragma once

/// Found before that of CUDA when the sources of kernels/cuda are compiled for the emulated GPU.
#include "tests/emulator/engine/matrix_unit.h"
