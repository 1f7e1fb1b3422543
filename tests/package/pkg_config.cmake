# Installs the components runtime and development of BUILD_FOLDER below WORK_FOLDER, moves the copy, and compiles and runs
# a small program with what pkg-config says of it.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/small_program.cmake)

set(copy ${WORK_FOLDER}/pkg_config)
file(REMOVE_RECURSE ${copy} ${copy}_installed)
foreach(component runtime development)
  run("installing the component ${component}" ${CMAKE_COMMAND} --install ${BUILD_FOLDER} --prefix ${copy}_installed
      --component ${component})
endforeach()
if(EXISTS ${copy}_installed/bin)
  message(FATAL_ERROR "the components runtime and development bring a program")
endif()
file(RENAME ${copy}_installed ${copy})
run_small_program(${copy})
