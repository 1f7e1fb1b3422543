#pragma once

#include "bough/simt/row_items.h"
