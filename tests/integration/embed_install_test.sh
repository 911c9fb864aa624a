#!/usr/bin/env bash
# Installs the build, moves the installed tree, and builds examples/embed against it as a stranger would: once with
# find_package, once with nothing but pkg-config's flags.
#
# usage: embed_install_test.sh SOURCE_DIRECTORY BUILD_DIRECTORY COMPILER
set -euo pipefail

source_directory=$1
build_directory=$2
compiler=$3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

check_output() {
  local expected='requests allowed: the burst
credits for 43 more: yes
credits for 1 more: no'
  local actual
  actual=$("$1") || fail "$1 ended with status $?"
  [[ $actual == "$expected" ]] || fail "$1 printed:"$'\n'"$actual"$'\n'"instead of:"$'\n'"$expected"
}

echo "== install, then move the tree elsewhere"
cmake --install "$build_directory" --prefix "$work/first" >/dev/null
prefix="$work/moved here"  # A space in the path must do no harm.
mv "$work/first" "$prefix"
for file in bin/mete include/mete/mete.h share/doc/mete/LICENSE lib/systemd/system/mete.service; do
  [[ -s $prefix/$file ]] || fail "$file is not installed"
done
for header in "$source_directory"/include/mete/*.h; do
  cmp "$header" "$prefix/include/mete/$(basename "$header")"
done
"$prefix/bin/mete" --help >/dev/null || fail "the installed program does not start"
! grep -rIlF -e "$work/first" -e "$source_directory" -e "$build_directory" "$prefix/lib" "$prefix/include" ||
  fail "the files above name a directory of this machine"

echo "== find_package"
cmake -G Ninja -S "$source_directory/examples/embed" -B "$work/cmake" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
cmake --build "$work/cmake"
grep -F "mete_DIR:PATH=$prefix/" "$work/cmake/CMakeCache.txt" || fail "another installation of mete was found"
check_output "$work/cmake/embed"

echo "== pkg-config"
package=$(find "$prefix" -name mete.pc)
quoted_flags=$(PKG_CONFIG_LIBDIR=$(dirname "$package") pkg-config --cflags --libs mete)
echo "$quoted_flags"
flags=()
eval "flags=($quoted_flags)"  # pkg-config quotes for a shell.
"$compiler" -std=c++20 "$source_directory/examples/embed/main.cc" "${flags[@]}" -o "$work/pkgconfig_embed"
LD_LIBRARY_PATH=$(dirname "$(dirname "$package")") check_output "$work/pkgconfig_embed"
