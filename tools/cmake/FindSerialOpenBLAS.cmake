# The OpenBLAS without threads of its own, as SerialOpenBLAS::SerialOpenBLAS. It is called on tiles from TBB, so the
# threads are ours and results do not depend on their number. It is linked from its archive: the shared one has the same
# name as the threaded OpenBLAS, and which of the two a program gets is the machine's choice at run time.

find_library(SerialOpenBLAS_LIBRARY NAMES libopenblas.a PATH_SUFFIXES openblas-serial)
find_path(SerialOpenBLAS_INCLUDE_DIR NAMES cblas.h PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-serial)
mark_as_advanced(SerialOpenBLAS_LIBRARY SerialOpenBLAS_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SerialOpenBLAS REQUIRED_VARS SerialOpenBLAS_LIBRARY SerialOpenBLAS_INCLUDE_DIR)

if(SerialOpenBLAS_FOUND AND NOT TARGET SerialOpenBLAS::SerialOpenBLAS)
  add_library(SerialOpenBLAS::SerialOpenBLAS STATIC IMPORTED)
  set_target_properties(SerialOpenBLAS::SerialOpenBLAS PROPERTIES
    IMPORTED_LOCATION ${SerialOpenBLAS_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${SerialOpenBLAS_INCLUDE_DIR}
    # Its symbols stay inside the library that uses it, or another OpenBLAS in the same program would take their place.
    INTERFACE_LINK_OPTIONS LINKER:--exclude-libs,libopenblas.a)
endif()
