#include "millrace/stage.h"
