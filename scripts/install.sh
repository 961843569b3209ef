#!/usr/bin/env bash
# Installs what packages.apt names and this machine lacks.
#   scripts/install.sh build    what building needs
#   scripts/install.sh test     that and what testing needs
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/env.sh

is_installed() {
  [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# missing_packages SECTION: the section's packages that this machine lacks, one a line.
missing_packages() {
  local section='' package tool _
  while read -r package tool _; do
    case $package in
      '' | '#'*) continue ;;
      '['*) section=$package && continue ;;
    esac
    [[ $section == "[$1]" ]] || continue
    [[ -n $tool ]] && command -v "$tool" >/dev/null && continue
    is_installed "$package" || echo "$package"
  done <packages.apt
}

case ${1:-build} in
  build) sections=(build) ;;
  test) sections=(build test) ;;
  *) echo "install: unknown section '$1'; it is build or test" >&2 && exit 2 ;;
esac

missing=()
for section in "${sections[@]}"; do
  mapfile -t -O "${#missing[@]}" missing < <(missing_packages "$section")
done
cargo_is_recent cargo || missing+=(cargo-web)
((${#missing[@]})) || exit 0

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "install: no root rights and no sudo; as root, run: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "install: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -q
if ! "${as_root[@]}" apt-get install -q -y --no-install-recommends "${missing[@]}"; then
  echo "install: apt-get could not install ${missing[*]}; the lines above say why" >&2
  exit 1
fi
source scripts/env.sh
cargo_is_recent cargo || {
  echo "install: cargo is still older than $CAIRN_CARGO_MINIMUM or absent; install a newer one" >&2
  exit 1
}
