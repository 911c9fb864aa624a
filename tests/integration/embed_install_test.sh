#!/usr/bin/env bash
# Installs the build, moves the installed tree, and builds examples/embed and the programs of embed/ against it as a
# stranger would: once with find_package, once with nothing but pkg-config's flags, once with shared libraries.
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

# Debian's redis-server, for limits that lie elsewhere.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
redis-server --port "$port" --bind 127.0.0.1 --save '' --dir "$work" >"$work/redis.log" &
redis=$!
trap 'kill "$redis"; rm -rf "$work"' EXIT
for ((i = 0; i < 300; ++i)); do
  redis-cli -p "$port" ping >"$work/ping" 2>&1 && break
  sleep 0.1
done
[[ $(<"$work/ping") == PONG ]] || fail "Redis does not start: $(<"$work/redis.log")"

libraries_of_stores='libpq|libnghttp2|libssl|libcrypto|libboost'

check_lean() {
  local expected='allowed: 1000, allocations: 0
url: no store for '\''redis://127.0.0.1'\'': this program has '\''embedded:DIR'\'' and '\''embedded:'\'' alone; all others are in the library mete::stores (pkg-config: mete-stores), to be linked as well'
  local actual
  actual=$("$1") || fail "$1 ended with status $?"
  [[ $actual == "$expected" ]] || fail "$1 printed:"$'\n'"$actual"$'\n'"instead of:"$'\n'"$expected"
  ! ldd "$1" | grep -E "$libraries_of_stores" || fail "$1 needs the libraries above for limits in memory"
}

check_stores() {
  redis-cli -p "$port" flushall >/dev/null
  local actual
  actual=$("$1" "redis://127.0.0.1:$port?timeout=20s") || fail "$1 ended with status $?"
  [[ $actual == 'allowed: 1, two more: 0' ]] || fail "$1 printed: $actual"
  ldd "$1" | grep -E "$libraries_of_stores" >/dev/null || fail "check_lean would not notice the libraries of $1"
}

echo "== find_package"
build_with_cmake() {
  cmake -G Ninja -S "$1" -B "$2" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
  cmake --build "$2"
  grep -F "mete_DIR:PATH=$prefix/" "$2/CMakeCache.txt" || fail "another installation of mete was found"
}
build_with_cmake "$source_directory/examples/embed" "$work/cmake"
check_output "$work/cmake/embed"
programs=$source_directory/tests/integration/embed
build_with_cmake "$programs" "$work/programs"
check_lean "$work/programs/lean"
check_stores "$work/programs/stores"
check_stores "$work/programs/stores_last"

echo "== pkg-config"
libraries=$(dirname "$(dirname "$(find "$prefix" -name mete.pc)")")
build_with_pkg_config() {
  local flags=() quoted
  quoted=$(PKG_CONFIG_LIBDIR=$libraries/pkgconfig pkg-config --cflags --libs "$1")
  echo "$quoted"
  eval "flags=($quoted)"  # pkg-config quotes for a shell.
  "$compiler" -std=c++20 "$2" "${flags[@]}" -o "$3"
}
export LD_LIBRARY_PATH=$libraries
build_with_pkg_config mete "$source_directory/examples/embed/main.cc" "$work/pkgconfig_embed"
check_output "$work/pkgconfig_embed"
build_with_pkg_config mete "$programs/lean.cc" "$work/pkgconfig_lean"
check_lean "$work/pkgconfig_lean"
build_with_pkg_config mete-stores "$programs/stores.cc" "$work/pkgconfig_stores"
check_stores "$work/pkgconfig_stores"

if [[ -e $libraries/libmete.a ]]; then
  echo "== the same as shared libraries"
  shared() {
    local name=$1
    shift
    "$compiler" -shared -Wl,--whole-archive "$libraries/lib$name.a" -Wl,--no-whole-archive "$@" -o "$libraries/lib$name.so"
    rm "$libraries/lib$name.a"
  }
  shared mete -pthread
  shared mete_stores -L"$libraries" -lmete -lpq -lnghttp2 -lssl -lcrypto -lboost_context
  build_with_pkg_config mete "$programs/lean.cc" "$work/shared_lean"
  check_lean "$work/shared_lean"
  build_with_pkg_config mete-stores "$programs/stores.cc" "$work/shared_stores"
  ldd "$work/shared_stores" | grep libmete_stores.so >/dev/null || fail "the shared library is not in use"
  check_stores "$work/shared_stores"
fi
