# Read into upstream's own project (CMAKE_PROJECT_MySQL_INCLUDE_BEFORE): the folders with most
# files get a precompiled header each, of what nearly every file there includes anyway. A header
# that is missing in one of our files is found by patches-build, which has none.
function(sluice_precompile)
  set(server sql/sql_class.h sql/sql_lex.h sql/table.h sql/handler.h sql/field.h sql/item_func.h
    sql/mysqld.h sql/sql_base.h sql/sql_table.h)
  set(sql_main_headers ${server})
  set(sql_dd_headers ${server})
  set(sql_gis_headers ${server})
  set(binlog_headers ${server} sql/log_event.h sql/rpl_rli.h)
  set(mysql_server_component_services_headers ${server})
  set(perfschema_headers ${server} storage/perfschema/pfs_server.h)
  set(innobase_headers univ.i ha_prototypes.h sql/sql_class.h sql/table.h buf0buf.h trx0trx.h
    dict0dict.h dict0dd.h row0mysql.h fsp0fsp.h)
  if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    list(APPEND sql_gis_headers boost/geometry.hpp)
  endif()
  foreach(target sql_main sql_dd sql_gis binlog mysql_server_component_services perfschema innobase)
    list(TRANSFORM ${target}_headers REPLACE ".+" "$<$<COMPILE_LANGUAGE:CXX>:\"\\0\">")
    target_precompile_headers(${target} PRIVATE ${${target}_headers})
  endforeach()
  # They have binlog's flags.
  foreach(target rpl rpl_source rpl_replica)
    target_precompile_headers(${target} REUSE_FROM binlog)
  endforeach()
  # Its own header has no guard.
  set_property(SOURCE ${CMAKE_SOURCE_DIR}/sql/engine_combination_tracker.cc
    TARGET_DIRECTORY sql_main PROPERTY SKIP_PRECOMPILE_HEADERS ON)
endfunction()
cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL sluice_precompile)
