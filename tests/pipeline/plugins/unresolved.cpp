#include "millrace/stage.h"

void function_that_nobody_defines();

extern "C" void millrace_register(millrace::Registry& /*registry*/) { function_that_nobody_defines(); }
