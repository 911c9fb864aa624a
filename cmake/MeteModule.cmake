# One target per folder of src/: mete_module(NAME [IN LIBRARY] [TOGETHER N] [ROOMS folders…] [WITHOUT folders…] DEPENDS
# other modules and libraries…) takes every .cc below src/NAME, or below the rooms, and none of those it is without. IN:
# the library that it is part of, mete where it is not said. TOGETHER: how many sources are compiled as one,
# METE_TOGETHER where it is not said.

find_package(Threads REQUIRED)

# What every target of ours is compiled with.
add_library(mete_options INTERFACE)
target_compile_options(mete_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wnon-virtual-dtor -Wdeprecated-copy-dtor
  -Wold-style-cast -Wcast-align -Wunused -Woverloaded-virtual -Wdouble-promotion -Wformat=2 -Wimplicit-fallthrough)
# Position-independent code must not keep every function replaceable: the hot path is one piece only if it is inlined.
target_compile_options(mete_options INTERFACE -fno-semantic-interposition)
# What GCC 12 takes for wrong, and is not: the parts of a string concatenation overlap or are too long (its bug 105651);
# the value of a Result is read while it holds an error. It sees more of that in sources that are compiled together,
# and in precompiled headers it forgets that it looks at the standard library.
target_compile_options(mete_options INTERFACE 
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-array-bounds;-Wno-maybe-uninitialized>")
# What clang takes for wrong, and is not: a local name that another source has at its top, of those that are compiled
# together (g++ looks at each scope as well, and does not); texts that are longer than the standard asks for.
target_compile_options(mete_options INTERFACE "$<$<CXX_COMPILER_ID:Clang>:-Wno-shadow;-Wno-overlength-strings>")
target_include_directories(mete_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
if(METE_SANITIZE)
  target_compile_options(mete_options INTERFACE -fsanitize=${METE_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(mete_options INTERFACE -fsanitize=${METE_SANITIZE})
endif()
if(METE_FUZZ)
  # Every module reports to the fuzzer which of its branches ran; only the fuzz targets bring the fuzzer's main().
  target_compile_options(mete_options INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(mete_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(METE_COVERAGE)
  target_compile_options(mete_options INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(mete_options INTERFACE --coverage)
endif()

# The headers that most sources include, compiled once. Whoever reuses them is compiled with the same options.
add_library(mete_precompiled OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cc)
target_link_libraries(mete_precompiled PRIVATE mete_options Threads::Threads)
target_precompile_headers(mete_precompiled PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled.h)

# Sources that are compiled together read their headers once. More of them make a whole build faster, and a build after
# a change of one of them slower.
set(METE_TOGETHER 5 CACHE STRING "How many sources of a module are compiled as one")

function(mete_together target count)
  if(METE_TOGETHER GREATER 1 AND count GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${count})
  endif()
endfunction()

function(mete_module name)
  cmake_parse_arguments(ARG "" "IN;TOGETHER" "ROOMS;WITHOUT;DEPENDS" ${ARGN})
  set(libraries Threads::Threads ${ARG_DEPENDS})
  if(NOT ARG_ROOMS)
    set(ARG_ROOMS ${name})
  endif()
  list(TRANSFORM ARG_ROOMS REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/\\1/*.cc")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${ARG_ROOMS})
  foreach(room ${ARG_WITHOUT})
    list(FILTER sources EXCLUDE REGEX "/src/${room}/")
  endforeach()
  if(NOT sources)  # Headers only.
    add_library(mete_${name} INTERFACE)
    target_include_directories(mete_${name} INTERFACE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(mete_${name} INTERFACE ${libraries})
    return()
  endif()
  add_library(mete_${name} OBJECT ${sources})
  target_include_directories(mete_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(mete_${name} PRIVATE mete_options PUBLIC ${libraries})
  target_compile_definitions(mete_${name} PRIVATE METE_VERSION="${PROJECT_VERSION}")
  target_precompile_headers(mete_${name} REUSE_FROM mete_precompiled)
  if(NOT ARG_TOGETHER OR METE_TOGETHER GREATER 5)
    set(ARG_TOGETHER ${METE_TOGETHER})
  endif()
  mete_together(mete_${name} ${ARG_TOGETHER})
  if(NOT ARG_IN)
    set(ARG_IN mete)
  endif()
  set_property(GLOBAL APPEND PROPERTY METE_OBJECTS_OF_${ARG_IN} $<TARGET_OBJECTS:mete_${name}>)
endfunction()

# mete_library(NAME [STATIC]): of the modules that are in it.
function(mete_library name)
  get_property(objects GLOBAL PROPERTY METE_OBJECTS_OF_${name})
  add_library(${name} ${ARGN} ${objects})
  # Before 1.0 every minor version may change the binary interface.
  set_target_properties(${name} PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endfunction()
