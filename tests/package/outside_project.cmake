# Installs BUILD_FOLDER below WORK_FOLDER, moves the copy, and builds and runs tests/consumer and the README's example
# against it.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/readme_example.cmake)

file(REMOVE_RECURSE ${WORK_FOLDER}/installed ${WORK_FOLDER}/moved ${WORK_FOLDER}/consumer)
run("install" ${CMAKE_COMMAND} --install ${BUILD_FOLDER} --prefix ${WORK_FOLDER}/installed)
file(RENAME ${WORK_FOLDER}/installed ${WORK_FOLDER}/moved)

read_readme_example(${SOURCE_FOLDER}/README.md example expected_output)
file(WRITE ${WORK_FOLDER}/readme_example.cpp "${example}")

set(flags "-Wall -Wextra -Werror")
if(SANITIZE)
  string(APPEND flags " -fsanitize=${SANITIZE}")
endif()
run("configuring the outside project" ${CMAKE_COMMAND} -S ${SOURCE_FOLDER}/tests/consumer -B ${WORK_FOLDER}/consumer
    -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_COMPILER_LAUNCHER=${COMPILER_LAUNCHER}
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS=${flags} -DCMAKE_PREFIX_PATH=${WORK_FOLDER}/moved
    -DCMAKE_NO_SYSTEM_FROM_IMPORTED=ON -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF -DREADME_EXAMPLE=${WORK_FOLDER}/readme_example.cpp)
run("building the outside project" ${CMAKE_COMMAND} --build ${WORK_FOLDER}/consumer --parallel)

run("the outside project's training" ${WORK_FOLDER}/consumer/consumer)
run("the README's example" ${WORK_FOLDER}/consumer/readme_example)
if(NOT run_output STREQUAL expected_output)
  message(FATAL_ERROR "the README's example prints\n${run_output}\nbut the README says\n${expected_output}")
endif()
run("the installed program" ${WORK_FOLDER}/moved/bin/bough version)
