# Target hwy: the system's Highway if it is 1.2 or newer, else the copy inside the crate pinned by
# rust/highway/Cargo.lock (docs/adr/0002).
find_package(hwy 1.2 QUIET)
if(NOT hwy_FOUND)
  find_program(CARGO NAMES cargo cargo-web REQUIRED)
  execute_process(
    COMMAND ${CARGO} metadata --locked --format-version 1 --manifest-path ${CMAKE_SOURCE_DIR}/rust/highway/Cargo.toml
    OUTPUT_VARIABLE metadata ERROR_VARIABLE problem RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "cargo metadata for rust/highway failed: ${problem}")
  endif()
  string(REGEX MATCH "\"manifest_path\":\"([^\"]*/jpegxl-src-[^\"]*)/Cargo.toml\"" matched "${metadata}")
  if(NOT matched)
    message(FATAL_ERROR "rust/highway/Cargo.toml no longer names jpegxl-src")
  endif()
  set(HWY_ENABLE_CONTRIB OFF CACHE BOOL "" FORCE)
  set(HWY_ENABLE_EXAMPLES OFF CACHE BOOL "" FORCE)
  set(HWY_ENABLE_INSTALL OFF CACHE BOOL "" FORCE)
  set(HWY_ENABLE_TESTS OFF CACHE BOOL "" FORCE)
  set(HWY_FORCE_STATIC_LIBS ON CACHE BOOL "" FORCE)
  add_subdirectory(${CMAKE_MATCH_1}/libjxl/third_party/highway ${CMAKE_BINARY_DIR}/highway EXCLUDE_FROM_ALL SYSTEM)
else()
  add_library(hwy ALIAS hwy::hwy)
endif()
