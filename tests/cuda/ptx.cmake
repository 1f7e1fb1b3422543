# Configures SOURCE_FOLDER in WORK_FOLDER for two architectures, makes the PTX of the smallest library and installs it: what
# arrives is text of the newer architecture with kernels inside. A build for several architectures installs all of it.
include(${CMAKE_CURRENT_LIST_DIR}/../package/run.cmake)

file(REMOVE_RECURSE ${WORK_FOLDER}/installed)
run("configuring" ${CMAKE_COMMAND} -S ${SOURCE_FOLDER} -B ${WORK_FOLDER}/build -G ${GENERATOR}
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CUDA_COMPILER=${CUDA_COMPILER} -DCMAKE_BUILD_TYPE=Release -DBOUGH_CUDA=ON
    "-DCMAKE_CUDA_ARCHITECTURES=75-real\;80-virtual\;90-real" -DBOUGH_BUILD_TESTS=OFF -DBOUGH_BUILD_BENCH=OFF)
run("making PTX" ${CMAKE_COMMAND} --build ${WORK_FOLDER}/build --target bough_core_ptx)
run("installing PTX" ${CMAKE_COMMAND} --install ${WORK_FOLDER}/build/src --component ptx --prefix ${WORK_FOLDER}/installed)

file(GLOB_RECURSE files RELATIVE ${WORK_FOLDER}/installed ${WORK_FOLDER}/installed/*)
if(NOT files MATCHES "^[^;]*/bough/ptx/core/memory_kernels[.]ptx$")
  message(FATAL_ERROR "installed are '${files}' instead of bough/ptx/core/memory_kernels.ptx")
endif()
file(READ ${WORK_FOLDER}/installed/${files} text)
if(NOT text MATCHES "[.]target sm_80" OR NOT text MATCHES "[.]entry [A-Za-z0-9_]*run_elements")
  message(FATAL_ERROR "${files} is not PTX of architecture 80 with the kernels of src/cuda/memory_kernels.cu")
endif()
