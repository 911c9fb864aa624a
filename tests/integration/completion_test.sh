#!/usr/bin/env bash
# The completion scripts, in the shells that they are for; zsh and fish where they are installed.
# usage: completion_test.sh PROGRAM
set -euo pipefail

program=$1
failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
touch "$folder/file.toml"
mkdir "$folder/subfolder"
cd "$folder"

"$program" completion bash >complete.bash
# shellcheck source=/dev/null
source complete.bash

# expect "WANTED" WORD…: completing the last of these words offers what is wanted, in this order.
expect() {
  local wanted=$1 offered
  shift
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  COMPREPLY=()
  _mete || true  # Outside of a completion compopt fails.
  offered="${COMPREPLY[*]}"
  if [[ $offered != "$wanted" ]]; then
    echo "bash: '$*' offers '$offered' instead of '$wanted'"
    failures=$((failures + 1))
  fi
}

expect "check-config commit cancel cluster completion" mete c
expect "set get list del override" mete limit ""
expect "" mete limit set ""
expect "bucket window sliding calendar stock" mete limit set api ""
expect "stock" mete limit set --json --burst 7 --per = 1m api st
expect "" mete limit set api bucket ""
expect "always everysec never" mete limit set api bucket 100 --durable ""
expect "--up-to" mete take api alice --u
expect "file.toml" mete take api alice --tls --tls-ca fil
expect "" mete take api ""
expect "bash zsh fish" mete completion ""
expect "fish" mete completion f
expect "--password --password-file" mete check-config --pass
expect "debug info warning error" mete check-config --log-level ""
expect "warning" mete check-config --log-level w
expect "json" mete check-config --log-format = j
expect "auto text json" mete check-config --log-format =
expect "file.toml" mete check-config fil
expect "file.toml" mete check-config --config fil
expect "subfolder" mete check-config --data ""
expect "" mete check-config --threads ""
expect "--help" mete version --
expect "" mete no-such-command ""

if command -v zsh >/dev/null; then
  "$program" completion zsh >_mete
  zsh -n _mete || failures=$((failures + 1))
  # As the completion system loads it: by autoload, from the path of functions.
  zsh -f -c 'fpath=("$PWD" $fpath); autoload -U compinit; compinit -u -d "$PWD/dump"; [[ $_comps[mete] == _mete ]]' || {
    echo "zsh: compinit does not know mete"
    failures=$((failures + 1))
  }
fi
if command -v fish >/dev/null; then
  "$program" completion fish >mete.fish
  fish --no-execute mete.fish || failures=$((failures + 1))
  offered=$(HOME=$folder fish --no-config -c 'source mete.fish; complete -C "mete check-config --log-level w"' | cut -f1)
  if [[ $offered != warning ]]; then
    echo "fish: offers '$offered' instead of 'warning'"
    failures=$((failures + 1))
  fi
  offered=$(HOME=$folder fish --no-config -c 'source mete.fish; complete -C "mete c"' | cut -f1 | sort | tr '\n' ' ')
  if [[ $offered != "cancel check-config commit completion " ]]; then
    echo "fish: offers '$offered' as commands"
    failures=$((failures + 1))
  fi
fi

exit $((failures > 0))
