#pragma once

/// Everything a user of bough may include, in one header.

#include "bough/autograd/autograd.h"
#include "bough/autograd/gradcheck.h"
#include "bough/core/device.h"
#include "bough/core/dtype.h"
#include "bough/core/errors.h"
#include "bough/core/memory.h"
#include "bough/core/parallel.h"
#include "bough/core/random.h"
#include "bough/core/shape.h"
#include "bough/core/tensor.h"
#include "bough/core/version.h"
#include "bough/graph/graph.h"
#include "bough/graph/ids.h"
#include "bough/nn/averaging.h"
#include "bough/nn/module.h"
#include "bough/nn/optimizer.h"
#include "bough/nn/schedule.h"
#include "bough/ops/arrange.h"
#include "bough/ops/optimizer_step.h"
#include "bough/ops/rows.h"
