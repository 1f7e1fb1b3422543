# Installs BUILD_FOLDER below WORK_FOLDER, builds tools/examples/plugin against the copy and has the installed program load
# it. The tutorial shows the code as it is and what it prints.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/readme_example.cmake)

set(example ${SOURCE_FOLDER}/tools/examples/plugin)
read_readme_example(${example}/README.md shown_code expected_output)
file(READ ${example}/anchors.cpp code)
if(NOT shown_code STREQUAL code)
  message(FATAL_ERROR "the code in ${example}/README.md is not that of anchors.cpp")
endif()

file(REMOVE_RECURSE ${WORK_FOLDER})
run("install" ${CMAKE_COMMAND} --install ${BUILD_FOLDER} --prefix ${WORK_FOLDER}/installed)
set(flags "-Wall -Wextra -Werror")
if(SANITIZE)
  string(APPEND flags " -fsanitize=${SANITIZE}")
endif()
run("configuring the plug-in" ${CMAKE_COMMAND} -S ${example} -B ${WORK_FOLDER}/build -G ${GENERATOR}
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_COMPILER_LAUNCHER=${COMPILER_LAUNCHER} -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_CXX_FLAGS=${flags} -DCMAKE_PREFIX_PATH=${WORK_FOLDER}/installed -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
run("building the plug-in" ${CMAKE_COMMAND} --build ${WORK_FOLDER}/build --parallel)

set(bough ${WORK_FOLDER}/installed/bin/bough)
set(plugin --plugin ${WORK_FOLDER}/build/libanchors.so)
run("bough graph with the plug-in" ${bough} graph
    [[{"kind": "anchors", "width": 1, "block": 3, "length": 7, "causal": true}]] ${plugin} --edges)
if(NOT run_output STREQUAL expected_output)
  message(FATAL_ERROR "the plug-in's graph is\n${run_output}\nbut the README says\n${expected_output}")
endif()
run("bough generators with the plug-in" ${bough} generators ${plugin})
if(NOT run_output MATCHES "anchors: neighbours, and one anchor for each other block")
  message(FATAL_ERROR "bough generators does not list the plug-in's pattern\n${run_output}")
endif()
