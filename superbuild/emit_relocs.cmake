# Read into upstream's own project (CMAKE_PROJECT_MySQL_INCLUDE): mysqld keeps the
# relocations that superbuild/optimise.sh needs. They are no part of what is loaded.
cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR}
  CALL target_link_options mysqld PRIVATE -Wl,--emit-relocs)
