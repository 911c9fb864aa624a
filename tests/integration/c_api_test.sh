#!/usr/bin/env bash
# Installs the build, and uses mete/c.h as a stranger would: a program in C by pkg-config and by find_package, one in
# C++, and the binding of examples/python. Then looks whether the library shows nothing else.
#
# usage: c_api_test.sh SOURCE_DIRECTORY BUILD_DIRECTORY
set -euo pipefail

source_directory=$1
build_directory=$2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

prefix="$work/installed here"  # A space in the path must do no harm.
cmake --install "$build_directory" --prefix "$prefix" >/dev/null
libraries=$(dirname "$(find "$prefix" -name libmete_c.so)")
export LD_LIBRARY_PATH=$libraries

echo "== what is visible"
nm --dynamic --defined-only "$libraries/libmete_c.so" | awk '$2 != "A" { print $3 }' | sort >"$work/visible"
grep -oE '\bmete_[a-z_]+\(' "$prefix/include/mete/c.h" | tr -d '(' | sort -u | sed 's/$/@@METE_1/' >"$work/declared"
diff "$work/declared" "$work/visible" || fail "the library does not show what the header declares, and nothing else"
objdump -p "$libraries/libmete_c.so" | grep 'SONAME *libmete_c.so.1$' >/dev/null || fail "the library is not libmete_c.so.1"
! ldd "$libraries/libmete_c.so" | grep -E 'libpq|libnghttp2|libssl' || fail "limits in this process need the libraries above"

echo "== pkg-config"
eval "flags=($(PKG_CONFIG_LIBDIR=$libraries/pkgconfig pkg-config --cflags --libs mete-c))"
cc -std=c99 -Wall -Wextra -Wpedantic -Werror "$source_directory/tests/integration/c/program.c" "${flags[@]}" -o "$work/program"
"$work/program" "$work/data"
echo '#include <mete/c.h>
int main() { mete_limit limit = METE_LIMIT_INIT; return limit.burst == 0 ? 0 : 1; }' >"$work/main.cc"
c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror "$work/main.cc" "${flags[@]}" -o "$work/cxx"
"$work/cxx"

echo "== find_package"
cmake -G Ninja -S "$source_directory/tests/integration/c" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF >/dev/null
cmake --build "$work/cmake" >/dev/null
"$work/cmake/program" "$work/data2"

echo "== Python"
expected='requests allowed: 3 of 5
try again in 20 s or less: True
credits for 43 more: True
credits for 1 more: False
unknown limit: NOLIMIT unknown limit '\''nothing'\'''
actual=$(METE_C_LIBRARY=$libraries/libmete_c.so /usr/bin/python3 -B "$source_directory/examples/python/example.py") ||
  fail "the example ended with status $?"
[[ $actual == "$expected" ]] || fail "the example printed:"$'\n'"$actual"$'\n'"instead of:"$'\n'"$expected"
METE_C_LIBRARY=$libraries/libmete_c.so PYTHONPATH=$source_directory/examples/python \
  /usr/bin/python3 -B "$source_directory/tests/integration/c/binding_test.py" || fail "the binding of Python"
