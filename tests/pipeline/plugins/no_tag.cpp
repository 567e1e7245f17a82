// Has the function, but was not built with millrace's headers. Calling it would end the test program.

#include <cstdlib>

extern "C" void millrace_register(void* registry);
extern "C" void millrace_register(void* /*registry*/) { std::abort(); }
