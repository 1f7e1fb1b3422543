# Builds the libraries as static ones in STATIC_FOLDER, the shortest way, and does with them what outside_project.cmake does
# with shared ones.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

run("configuring the static libraries" ${CMAKE_COMMAND} -S ${SOURCE_FOLDER} -B ${STATIC_FOLDER} -G ${GENERATOR}
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_COMPILER_LAUNCHER=${COMPILER_LAUNCHER} -DCMAKE_BUILD_TYPE=Release
    -DBUILD_SHARED_LIBS=OFF -DBOUGH_NATIVE=ON -DBOUGH_UNITY=ON -DBOUGH_BUILD_TESTS=OFF -DBOUGH_BUILD_BENCH=OFF -DBOUGH_CUDA=${CUDA}
    -DBOUGH_WERROR=${WERROR})
run("building the static libraries" ${CMAKE_COMMAND} --build ${STATIC_FOLDER} --parallel)
set(BUILD_FOLDER ${STATIC_FOLDER})
include(${CMAKE_CURRENT_LIST_DIR}/outside_project.cmake)
if(PKG_CONFIG)
  set(STATIC --static)
  include(${CMAKE_CURRENT_LIST_DIR}/pkg_config.cmake)
endif()
