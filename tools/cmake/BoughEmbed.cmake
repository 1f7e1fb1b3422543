# bough_embed(out.cpp HEADER header.h SYMBOLS name=file ...): a source that defines `const std::string_view name`, in
# namespace bough, with the content of each file (relative to the folder, or absolute). Made anew when a file changes.
function(bough_embed output)
  cmake_parse_arguments(ARG "" "HEADER" "SYMBOLS" ${ARGN})
  set(text "#include \"${ARG_HEADER}\"\n\nnamespace bough {\n\n")
  foreach(pair IN LISTS ARG_SYMBOLS)
    string(REGEX MATCH "^([^=]+)=(.+)$" matched "${pair}")
    set(name ${CMAKE_MATCH_1})
    get_filename_component(file ${CMAKE_MATCH_2} ABSOLUTE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} content)
    string(APPEND text "extern const std::string_view ${name};\n"
                       "const std::string_view ${name} = R\"EMBEDDED(${content})EMBEDDED\";\n\n")
  endforeach()
  string(APPEND text "}  // namespace bough\n")
  file(GENERATE OUTPUT ${output} CONTENT "${text}")
endfunction()
