# What cannot stand in one unit with others: names of these files are their own.
cmake_language(DEFER CALL set_target_properties libclingo PROPERTIES UNITY_BUILD OFF)
cmake_language(DEFER CALL set_source_files_properties "${CMAKE_CURRENT_SOURCE_DIR}/libgringo/src/input/literals.cc"
  DIRECTORY libgringo PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
