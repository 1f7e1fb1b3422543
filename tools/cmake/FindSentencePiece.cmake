# The library SentencePiece, for which distributions have no CMake files: SentencePiece_FOUND and the target
# SentencePiece::SentencePiece, with what trains models.
find_path(SentencePiece_INCLUDE_DIR sentencepiece_trainer.h)
find_library(SentencePiece_LIBRARY sentencepiece)
find_library(SentencePiece_TRAIN_LIBRARY sentencepiece_train)
# Its headers have no version. In a build for another machine pkg-config would know that of this one.
find_package(PkgConfig QUIET)
set(SentencePiece_VERSION unknown)
if(PkgConfig_FOUND AND NOT CMAKE_CROSSCOMPILING)
  pkg_check_modules(SentencePiece_PC QUIET sentencepiece)
  if(SentencePiece_PC_FOUND)
    set(SentencePiece_VERSION ${SentencePiece_PC_VERSION})
  endif()
endif()
mark_as_advanced(SentencePiece_INCLUDE_DIR SentencePiece_LIBRARY SentencePiece_TRAIN_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SentencePiece REQUIRED_VARS SentencePiece_TRAIN_LIBRARY SentencePiece_LIBRARY
                                                              SentencePiece_INCLUDE_DIR)
if(SentencePiece_FOUND AND NOT TARGET SentencePiece::SentencePiece)
  add_library(SentencePiece::SentencePiece INTERFACE IMPORTED)
  target_include_directories(SentencePiece::SentencePiece INTERFACE ${SentencePiece_INCLUDE_DIR})
  target_link_libraries(SentencePiece::SentencePiece INTERFACE ${SentencePiece_TRAIN_LIBRARY} ${SentencePiece_LIBRARY})
endif()
