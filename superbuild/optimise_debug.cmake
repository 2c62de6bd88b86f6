# Read into upstream's own project (CMAKE_PROJECT_MySQL_INCLUDE): in a debug build the code that
# tests spend most time in is compiled with -Og (docs/design/build-times.md).
include(${CMAKE_CURRENT_LIST_DIR}/lean.cmake)
function(sluice_optimise_debug)
  foreach(target innobase perfschema mysys_objlib)
    target_compile_options(${target} PRIVATE -Og)
  endforeach()
  # Each start has it parse what the data dictionary says of every table.
  set_source_files_properties(${CMAKE_SOURCE_DIR}/sql/dd/impl/utils.cc
    TARGET_DIRECTORY sql_dd PROPERTIES COMPILE_OPTIONS -Og SKIP_PRECOMPILE_HEADERS ON)
endfunction()
cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL sluice_optimise_debug)
