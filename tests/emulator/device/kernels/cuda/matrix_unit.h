#pragma once

/// Found before that of CUDA when the sources of kernels/cuda are compiled for the emulated GPU.
#include "kernels/emulator/matrix_unit.h"
