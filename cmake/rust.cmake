# Target cairn_rust_text: the static library of rust/text, built by cargo once for all presets.
find_program(CARGO NAMES cargo cargo-web REQUIRED)
set(rust_target_dir ${CMAKE_SOURCE_DIR}/build/rust)
set(rust_library ${rust_target_dir}/release/libcairn_text.a)
file(GLOB_RECURSE rust_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/rust/text/src/*.rs)
add_custom_command(
  OUTPUT ${rust_library}
  COMMAND ${CARGO} build --release --locked --quiet --manifest-path ${CMAKE_SOURCE_DIR}/rust/text/Cargo.toml
          --target-dir ${rust_target_dir}
  DEPENDS ${rust_sources} ${CMAKE_SOURCE_DIR}/rust/text/Cargo.toml ${CMAKE_SOURCE_DIR}/rust/text/Cargo.lock
  COMMENT "Building rust/text with cargo"
  VERBATIM)
add_custom_target(cairn_rust_text_build DEPENDS ${rust_library})
add_library(cairn_rust_text INTERFACE)
add_dependencies(cairn_rust_text cairn_rust_text_build)
target_link_libraries(cairn_rust_text INTERFACE ${rust_library} ${CMAKE_DL_LIBS} m)
