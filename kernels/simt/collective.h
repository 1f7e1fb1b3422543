#pragma once

#include "bough/simt/collective.h"
