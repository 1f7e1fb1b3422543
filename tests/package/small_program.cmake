# run_small_program(INSTALLED): compiles and runs a small program with what pkg-config says of the copy of bough that is
# installed below the folder INSTALLED, as someone without CMake would. STATIC asks for static libraries.
function(run_small_program installed)
  file(WRITE ${installed}/small.cpp [[
#include <bough/graph/graph_generator.h>
#include <bough/ops/edge_softmax.h>

#include <cstdio>

int main() {
  const auto ring = bough::Graph::from_edges({0, 1, 2}, {1, 2, 2}, {.num_nodes = 3});
  const auto weights = bough::edge_softmax(ring, bough::zeros({3}));
  std::printf("%g %zu\n", double{weights.to_vector<float>()[2]}, bough::generators().list().size());
}
]])
  file(GLOB_RECURSE description ${installed}/bough.pc)
  cmake_path(GET description PARENT_PATH folder)
  set(ENV{PKG_CONFIG_PATH} ${folder})
  run("pkg-config" ${PKG_CONFIG} --cflags --libs ${STATIC} bough)
  separate_arguments(flags UNIX_COMMAND "${run_output}")
  if(SANITIZE)
    list(APPEND flags -fsanitize=${SANITIZE})
  endif()
  run("compiling with the flags of pkg-config" ${COMPILER_LAUNCHER} ${COMPILER} -Wall -Wextra -Werror
      ${installed}/small.cpp -o ${installed}/small ${flags})
  cmake_path(GET folder PARENT_PATH libraries)
  run("the program" ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${libraries} ${installed}/small)
  if(NOT run_output MATCHES "^0[.]5 [1-9]")
    message(FATAL_ERROR "the program prints ${run_output}")
  endif()
  run("pkg-config" ${PKG_CONFIG} --modversion bough)
  if(NOT run_output STREQUAL "${VERSION}\n")
    message(FATAL_ERROR "pkg-config says that this is version ${run_output}, but it is ${VERSION}")
  endif()
endfunction()
