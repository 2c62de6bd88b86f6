# Read into upstream's own project (CMAKE_PROJECT_MySQL_INCLUDE): mysqld keeps the
# relocations that superbuild/optimise.sh needs. They are no part of what is loaded.
include(${CMAKE_CURRENT_LIST_DIR}/lean.cmake)
cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR}
  CALL target_link_options mysqld PRIVATE -Wl,--emit-relocs)
# A packaged mysqld finds the libraries that travel with it (packaging/libraries.sh). Told by
# the linker: patchelf cannot cope with what BOLT writes.
if(INSTALL_LAYOUT STREQUAL "DEB")
  cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR}
    CALL set_target_properties mysqld PROPERTIES
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "\$ORIGIN/../lib/mysql/private")
endif()
