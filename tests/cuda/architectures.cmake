# A toolkit that does not know the newest cards builds for those it knows: run with a compiler that lists what nvcc 12.0
# and 12.8 list, and cards that bough is not for.
include(${SOURCE_FOLDER}/tools/cmake/BoughArchitectures.cmake)

function(expect_architectures known expected)
  set(compiler ${WORK_FOLDER}/nvcc)
  string(REPLACE ";" "\\ncompute_" lines "compute_${known}")
  file(WRITE ${compiler} "#!/bin/sh\n[ \"$1\" = --list-gpu-arch ] && printf '${lines}\\n'\n")
  file(CHMOD ${compiler} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  bough_architectures(${compiler} found)
  if(NOT found STREQUAL expected)
    message(FATAL_ERROR "nvcc knows ${known}: expected ${expected}, not ${found}")
  endif()
endfunction()

expect_architectures("50;60;70;75;80;86;87;89;90" "75-real;80-real;86-real;89-real;90")
expect_architectures("50;60;70;75;80;86;87;89;90;100;101;120" "75-real;80-real;86-real;89-real;90-real;100-real;120")
expect_architectures("75;80;86;87;88;89;90;100;110;103;120;121" "75-real;80-real;86-real;89-real;90-real;100-real;120")
