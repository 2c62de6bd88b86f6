# Upstream builds the libraries of the X plugin's clients also where the plugin is left out; nothing
# that is built there links them.
if(NOT WITH_MYSQLX)
  cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR}
    CALL set_property DIRECTORY ${CMAKE_SOURCE_DIR}/plugin/x PROPERTY EXCLUDE_FROM_ALL ON)
endif()
