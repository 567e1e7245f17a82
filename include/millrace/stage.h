#pragma once

// The name under which an installed millrace offers the one header that a stage author includes.

#include "pipeline/core/stage.h"
