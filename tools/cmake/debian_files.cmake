# CPack runs this between installing into its own folder and packing. It makes of an installed copy what Debian expects:
# no search path in programs, since libraries are where the loader looks, and copyright and changelog where Debian has them.

string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC) # that of SOURCE_DATE_EPOCH, if set
set(version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
set(changelog "bough (${version}) unstable; urgency=medium

  * Packages made by CPack from the sources of bough ${CPACK_PACKAGE_VERSION}.

 -- ${CPACK_PACKAGE_CONTACT}  ${now}
")

set(copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: bough

Files: *
Copyright: 2026 the contributors to bough
License: Apache-2.0
 On Debian systems, the text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
")

function(write_file path text)
  file(WRITE ${path} "${text}")
  file(CHMOD ${path} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endfunction()

foreach(component ${CPACK_COMPONENTS_ALL})
  set(usr ${CPACK_TEMPORARY_DIRECTORY}/${component}${CPACK_PACKAGING_INSTALL_PREFIX})
  string(TOUPPER ${component} name)
  set(package ${CPACK_DEBIAN_${name}_PACKAGE_NAME})
  set(documents ${usr}/share/doc/${package})
  set(installed_documents ${usr}/share/doc/bough)
  file(REMOVE ${installed_documents}/LICENSE)
  if(NOT EXISTS ${installed_documents}/examples) # those of the headers' package stay where a copy without packages has them
    file(REMOVE_RECURSE ${installed_documents})
  endif()
  write_file(${documents}/copyright "${copyright}")
  write_file(${documents}/changelog.Debian "${changelog}")
  if(component STREQUAL runtime)
    write_file(${usr}/share/lintian/overrides/${package}
               "# The libraries depend on each other and change together.\n${package}: package-name-doesnt-match-sonames *\n")
  endif()
  if(EXISTS ${usr}/share/zsh/site-functions) # where zsh of Debian does not look
    file(RENAME ${usr}/share/zsh/site-functions ${usr}/share/zsh/vendor-completions)
  endif()
  file(GLOB manuals ${usr}/share/man/man1/*.1)
  execute_process(COMMAND gzip -9n ${documents}/changelog.Debian ${manuals} COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB_RECURSE linked ${usr}/bin/* ${usr}/lib/*.so*)
  foreach(file ${linked})
    if(NOT IS_SYMLINK ${file})
      file(RPATH_REMOVE FILE ${file}) # what CMake's own install scripts use
    endif()
  endforeach()
endforeach()
