# Clingo's build reads this first (`.cargo/config.toml`): sources are compiled by the handful, which takes two thirds of the time.
if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.19)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_PROJECT_CLINGO_INCLUDE "${CMAKE_CURRENT_LIST_DIR}/apart.cmake")
endif()
