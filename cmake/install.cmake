# What a stage author outside the tree gets from find_package(millrace):
#   millrace::stage   headers only, for a plugin: the program that loads it has the core's code
#   millrace::core    the core as a static library, for the stage's own unit tests

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(millrace_stage INTERFACE)
target_compile_features(millrace_stage INTERFACE cxx_std_20)
target_include_directories(
  millrace_stage
  INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/millrace>)
target_link_libraries(millrace_core PUBLIC millrace_stage)

set_target_properties(millrace_core PROPERTIES EXPORT_NAME core)
set_target_properties(millrace_stage PROPERTIES EXPORT_NAME stage)

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/millrace)
install(TARGETS millrace_core millrace_stage EXPORT millrace)
install(EXPORT millrace NAMESPACE millrace:: DESTINATION ${package_directory} FILE millraceTargets.cmake)
install(FILES include/millrace/stage.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/millrace)
install(DIRECTORY pipeline/core DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/millrace/pipeline FILES_MATCHING PATTERN "*.h")
if(TARGET millrace)
  install(TARGETS millrace)
endif()

configure_package_config_file(cmake/millraceConfig.cmake.in ${PROJECT_BINARY_DIR}/millraceConfig.cmake
                              INSTALL_DESTINATION ${package_directory})
# Before 1.0 every minor version may change the headers; a plugin's ABI tag is checked when it is loaded.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/millraceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/millraceConfig.cmake ${PROJECT_BINARY_DIR}/millraceConfigVersion.cmake
        DESTINATION ${package_directory})
