# Target cairn_web: the pages of `cairn size --html` and of `cairn serve` as data in the program.
#
# The estimator inside the page is base, spec and sizing compiled to WebAssembly from the very files
# the program is made of. clang and lld bring the compiler, Debian's wasi-libc and libc++ for wasm32
# the libraries. The sources have no exceptions on that target and one thread.
set(wasm_compiler ${CMAKE_CXX_COMPILER})
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  find_program(CAIRN_WASM_COMPILER clang++-19 REQUIRED)
  set(wasm_compiler ${CAIRN_WASM_COMPILER})
endif()
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)

# Debian's header-only halves of fmt and nlohmann_json, without the host's other headers beside them.
set(wasm_folder ${CMAKE_BINARY_DIR}/wasm)
set(wasm_include ${CMAKE_SOURCE_DIR}/build/wasm-include)  # one for all build folders: ccache sees equal commands
file(MAKE_DIRECTORY ${wasm_include})
foreach(library fmt/core.h nlohmann/json.hpp)
  get_filename_component(name ${library} DIRECTORY)
  find_path(CAIRN_${name}_INCLUDE ${library} REQUIRED)
  file(CREATE_LINK ${CAIRN_${name}_INCLUDE}/${name} ${wasm_include}/${name} SYMBOLIC)
endforeach()

set(wasm_compile ${wasm_compiler} --target=wasm32-wasi -std=c++23 -Oz -DNDEBUG -fno-exceptions -fno-rtti
                 -ffunction-sections -fdata-sections -ffp-contract=off -DFMT_HEADER_ONLY -I${CMAKE_SOURCE_DIR}
                 -isystem ${wasm_include} -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion)
if(CAIRN_WERROR)
  list(APPEND wasm_compile -Werror)
endif()
# A reactor has no main(): the page calls its exports. The stack comes first, so that running over its
# end is a fault and not an overwritten heap.
set(wasm_link ${wasm_compiler} --target=wasm32-wasi -mexec-model=reactor -Wl,--gc-sections,--strip-all
              -Wl,--stack-first,-z,stack-size=1048576)

if(NOT CAIRN_WASM_WORKS)
  file(WRITE ${wasm_folder}/probe.cc
       "#include <expected>\n#include <fmt/core.h>\n#include <string>\n"
       "std::expected<std::string, int> probe() { return std::to_string(1.5); }\n")
  execute_process(COMMAND ${wasm_compile} ${wasm_folder}/probe.cc -Wl,--export=_initialize -mexec-model=reactor
                          -o ${wasm_folder}/probe.wasm
                  RESULT_VARIABLE failed ERROR_VARIABLE problem OUTPUT_VARIABLE problem)
  if(failed)
    message(FATAL_ERROR "The estimator's page needs clang and lld for WebAssembly and its libraries: run "
                        "scripts/install.sh build, or install wasi-libc, libc++-19-dev-wasm32, "
                        "libc++abi-19-dev-wasm32 and libclang-rt-19-dev-wasm32. ${wasm_compiler} said:\n${problem}")
  endif()
  set(CAIRN_WASM_WORKS ON CACHE INTERNAL "the compiler makes WebAssembly")
endif()

file(GLOB wasm_sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/cairn/spec/*.cc
     ${CMAKE_SOURCE_DIR}/cairn/sizing/*.cc ${CMAKE_SOURCE_DIR}/web/wasm/*.cc)
list(FILTER wasm_sources EXCLUDE REGEX "(_test|_fuzz|_bench)\\.cc$")
# Of base what needs no files and no threads.
list(APPEND wasm_sources cairn/base/check.cc cairn/base/dtype.cc cairn/base/parse_number.cc)
foreach(source ${wasm_sources})
  set(object ${wasm_folder}/${source}.o)
  get_filename_component(folder ${object} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${wasm_compile} -MD -MT ${object} -MF ${object}.d
            -c ${CMAKE_SOURCE_DIR}/${source} -o ${object}
    DEPENDS ${CMAKE_SOURCE_DIR}/${source}
    DEPFILE ${object}.d
    COMMENT "Building WebAssembly ${source}"
    VERBATIM)
  list(APPEND wasm_objects ${object})
endforeach()
add_custom_command(
  OUTPUT ${wasm_folder}/estimator.wasm
  COMMAND ${wasm_link} ${wasm_objects} -o ${wasm_folder}/estimator.wasm
  DEPENDS ${wasm_objects}
  COMMENT "Linking WebAssembly estimator.wasm"
  VERBATIM)

# One HTML document each, with all it needs inside.
file(GLOB page_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/estimator/* ${CMAKE_SOURCE_DIR}/web/serve/*
     ${CMAKE_SOURCE_DIR}/web/shared/*)
set(estimator_page ${wasm_folder}/estimator.html)
set(serve_page ${wasm_folder}/serve.html)
add_custom_command(
  OUTPUT ${estimator_page} ${serve_page}
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/web/assemble.py estimator ${estimator_page} ${wasm_folder}/estimator.wasm
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/web/assemble.py serve ${serve_page}
  DEPENDS ${wasm_folder}/estimator.wasm ${CMAKE_SOURCE_DIR}/web/assemble.py ${page_sources}
  COMMENT "Assembling the pages"
  VERBATIM)

enable_language(ASM)
configure_file(${CMAKE_SOURCE_DIR}/web/page_template.S.in ${wasm_folder}/page_template.S @ONLY)
set_source_files_properties(${wasm_folder}/page_template.S PROPERTIES OBJECT_DEPENDS "${estimator_page};${serve_page}")
add_library(cairn_web STATIC ${CMAKE_SOURCE_DIR}/web/page_template.cc ${wasm_folder}/page_template.S)
target_link_libraries(cairn_web PRIVATE cairn_flags)
target_include_directories(cairn_web PUBLIC ${CMAKE_SOURCE_DIR})
