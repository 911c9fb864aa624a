#!/usr/bin/env bash
# What the program says of itself: the documents in docs/ are those it would write today, and its manual pages are sound.
# usage: documents_test.sh PROGRAM REPOSITORY
set -euo pipefail

program=$1
repository=$2
failures=0

# expect_current FILE ARGUMENTS: that the file is what `mete ARGUMENTS` prints.
expect_current() {
  local file=$1
  shift
  if ! "$program" "$@" | diff -u "$repository/$file" - ; then
    echo "$file is out of date: build/mete $* >$file"
    failures=$((failures + 1))
  fi
}

expect_current docs/cli.md help --markdown
expect_current docs/configuration.md help --markdown configuration
expect_current docs/commands.md help --markdown commands
expect_current proto/mete/v1/mete.proto help proto

if ! command -v man groff >/dev/null; then
  echo "man or groff is missing: the manual pages are not checked"
else
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  "$program" man --output "$folder"
  for page in "$folder"/*; do
    warnings=$(man --warnings --encoding UTF-8 --local-file "$page" 2>&1 >/dev/null)
    rendered=$(MANWIDTH=100 man --local-file "$page" 2>/dev/null)
    if [[ -n $warnings || $rendered != *NAME*mete*' - '* ]]; then
      echo "$(basename "$page"): ${warnings:-it has no NAME}"
      failures=$((failures + 1))
    fi
  done
  [[ -f $folder/mete.1 && -f $folder/mete.toml.5 && -f $folder/mete-check-config.1 ]] || failures=$((failures + 1))
fi

exit $((failures > 0))
