# Nothing in the libraries runs before main(): stages are registered by functions that somebody can read.
# usage: cmake -DNM=nm -DLIBRARIES=a.a;b.a -P no_static_initialisers.cmake

set(found "")
foreach(library IN LISTS LIBRARIES)
  execute_process(COMMAND ${NM} -A -C ${library} OUTPUT_VARIABLE symbols ERROR_QUIET RESULT_VARIABLE failed)
  if(failed OR symbols STREQUAL "")
    message(FATAL_ERROR "${NM} cannot read ${library}")
  endif()
  string(REGEX MATCHALL "[^\n]*_GLOBAL__sub_I_[^\n]*" initialisers "${symbols}")
  # Boost.Math computes constants of its own in every file that asks a distribution for a quantile.
  list(FILTER initialisers EXCLUDE REGEX ":(merge_hosts|paired_effect|power|rate_interval)\\.cpp\\.o:")
  list(APPEND found ${initialisers})
endforeach()
if(found)
  list(JOIN found "\n  " lines)
  message(FATAL_ERROR "code that runs before main():\n  ${lines}")
endif()
