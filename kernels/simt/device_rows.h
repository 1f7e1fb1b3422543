#pragma once

#include "bough/simt/device_rows.h"
