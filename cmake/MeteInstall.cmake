# What `cmake --install` puts where: the two libraries and their headers, the program, the license, and the files by which
# other projects find the libraries: a CMake package and pkg-config files. They follow the tree when it is moved.
include(CMakePackageConfigHelpers)

install(TARGETS mete EXPORT mete-targets)
install(TARGETS mete_stores EXPORT mete-stores-targets)
if(TARGET mete_c)
  install(TARGETS mete_c EXPORT mete-c-targets)
endif()
install(TARGETS mete_program)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/mete TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE TYPE DOC)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/proto DESTINATION ${CMAKE_INSTALL_DATADIR}/mete)
# The program writes them when it is built (src/CMakeLists.txt); each shell looks in a place of its own.
install(DIRECTORY ${METE_MAN_DIRECTORY}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
install(DIRECTORY ${METE_MAN_DIRECTORY}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man5 FILES_MATCHING PATTERN "*.5")
install(FILES ${METE_COMPLETION_DIRECTORY}/mete DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${METE_COMPLETION_DIRECTORY}/_mete DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${METE_COMPLETION_DIRECTORY}/mete.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
# Not the directory of libraries, which may be one of an architecture: systemd has one place for all.
install(FILES ${PROJECT_SOURCE_DIR}/packaging/systemd/mete.service ${PROJECT_SOURCE_DIR}/packaging/systemd/mete.socket
  DESTINATION lib/systemd/system)
if(BUILD_SHARED_LIBS)
  file(RELATIVE_PATH libraries_from_program ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(mete_program PROPERTIES INSTALL_RPATH "$ORIGIN/${libraries_from_program}")
  set_target_properties(mete_stores PROPERTIES INSTALL_RPATH "$ORIGIN")
endif()

# find_package(mete) gives the target mete::mete, with COMPONENTS stores mete::stores as well, and with c mete::c.
set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/mete)
install(EXPORT mete-targets NAMESPACE mete:: DESTINATION ${package_directory})
install(EXPORT mete-stores-targets NAMESPACE mete:: DESTINATION ${package_directory})
if(TARGET mete_c)
  install(EXPORT mete-c-targets NAMESPACE mete:: DESTINATION ${package_directory})
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mete-config-version.cmake COMPATIBILITY SameMinorVersion)
configure_file(${CMAKE_CURRENT_LIST_DIR}/mete-config.cmake.in ${PROJECT_BINARY_DIR}/mete-config.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/mete-config.cmake ${PROJECT_BINARY_DIR}/mete-config-version.cmake
  DESTINATION ${package_directory})

# pkg-config mete, mete-stores and mete-c. The prefix is told from where the file lies.
set(pkgconfig_directory ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH prefix_from_pkgconfig ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pkgconfig ${prefix_from_pkgconfig})
foreach(package mete mete-stores mete-c)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${package}.pc.in ${PROJECT_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${package}.pc DESTINATION ${pkgconfig_directory})
endforeach()
