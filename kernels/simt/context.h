#pragma once

#include "bough/simt/context.h"
