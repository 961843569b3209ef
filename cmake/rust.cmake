# Target cairn_rust_text: the static library of rust/text, built by cargo.
#
# All build folders share build/rust: the crate is the same whatever flags the C++ code has, and a
# cold build takes two CPU minutes. cargo locks the folder while it works.
find_program(CARGO NAMES cargo HINTS $ENV{CARGO_HOME}/bin $ENV{HOME}/.cargo/bin REQUIRED)
execute_process(COMMAND ${CARGO} --version OUTPUT_VARIABLE cargo_version ERROR_VARIABLE cargo_problem)
if(NOT cargo_version MATCHES "^cargo ([0-9.]+)")
  message(FATAL_ERROR "${CARGO} --version failed: ${cargo_problem}")
elseif(CMAKE_MATCH_1 VERSION_LESS 1.87)
  message(FATAL_ERROR "${CARGO} is ${CMAKE_MATCH_1}, at least 1.87 is needed: install cargo-web "
                      "(Debian 12) or use rustup")
endif()
set(rust_target_dir ${CMAKE_SOURCE_DIR}/build/rust)
set(rust_library ${rust_target_dir}/release/libcairn_text.a)
file(GLOB rust_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/rust/text/src/*.rs)
# cargo leaves the library's time alone when nothing changed; touch tells ninja that it is current.
add_custom_command(
  OUTPUT ${rust_library}
  COMMAND ${CARGO} build --release --locked --quiet --manifest-path ${CMAKE_SOURCE_DIR}/rust/text/Cargo.toml
          --target-dir ${rust_target_dir}
  COMMAND ${CMAKE_COMMAND} -E touch ${rust_library}
  DEPENDS ${rust_sources} ${CMAKE_SOURCE_DIR}/rust/text/Cargo.toml ${CMAKE_SOURCE_DIR}/rust/text/Cargo.lock
  COMMENT "Building rust/text with cargo"
  VERBATIM)
add_custom_target(cairn_rust_text_build DEPENDS ${rust_library})
add_library(cairn_rust_text INTERFACE)
add_dependencies(cairn_rust_text cairn_rust_text_build)
target_link_libraries(cairn_rust_text INTERFACE ${rust_library} ${CMAKE_DL_LIBS} m)
