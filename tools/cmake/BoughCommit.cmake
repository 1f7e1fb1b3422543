# bough_commit(out.cpp HEADER header.h SYMBOL name): a source that defines `const std::string_view name`, in namespace
# bough, as the commit that is built, with "+changes" if tracked files differ from it, or "unknown" outside a checkout of
# bough or without git. It is looked up again by every build and written only if it differs, so that nothing else is
# compiled anew. -DBOUGH_COMMIT=... says it where the sources come without their history.
#
# This file is also the script that writes the source: cmake -DOUTPUT=... -DHEADER=... -DSYMBOL=... -DSOURCE=... -P.

set(BOUGH_COMMIT_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(bough_commit output)
  cmake_parse_arguments(ARG "" "HEADER;SYMBOL" "" ${ARGN})
  find_package(Git QUIET)
  set(write ${CMAKE_COMMAND} -DOUTPUT=${output} -DHEADER=${ARG_HEADER} -DSYMBOL=${ARG_SYMBOL} -DSOURCE=${PROJECT_SOURCE_DIR}
            -DGIT=${GIT_EXECUTABLE} -DCOMMIT=${BOUGH_COMMIT} -P ${BOUGH_COMMIT_SCRIPT})
  add_custom_target(${ARG_SYMBOL} COMMAND ${write} BYPRODUCTS ${output} COMMENT "" VERBATIM)
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()

set(commit unknown)
if(COMMIT)
  set(commit ${COMMIT})
elseif(GIT)
  # A copy of the sources inside the checkout of something else has no commit of its own.
  execute_process(COMMAND ${GIT} rev-parse --show-toplevel WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE top
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  get_filename_component(top "${top}" REALPATH)
  get_filename_component(here ${SOURCE} REALPATH)
  if(top STREQUAL here)
    execute_process(COMMAND ${GIT} rev-parse --short=12 HEAD WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE head
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    execute_process(COMMAND ${GIT} --no-optional-locks status --porcelain --untracked-files=no WORKING_DIRECTORY ${SOURCE}
                    OUTPUT_VARIABLE changes ERROR_QUIET)
    if(head)
      set(commit ${head})
      if(changes)
        string(APPEND commit "+changes")
      endif()
    endif()
  endif()
endif()
set(text "#include \"${HEADER}\"

namespace bough {

extern const std::string_view ${SYMBOL};
const std::string_view ${SYMBOL} = \"${commit}\";

}  // namespace bough
")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${OUTPUT} "${text}")
endif()
