// Built for another millrace. Calling it would end the test program.

#include <cstdlib>

extern "C" const char millrace_abi_tag[];
extern "C" const char millrace_abi_tag[] = "millrace-abi-0-cxx11";

extern "C" void millrace_register(void* registry);
extern "C" void millrace_register(void* /*registry*/) { std::abort(); }
