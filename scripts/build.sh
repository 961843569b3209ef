#!/usr/bin/env bash
# scripts/build.sh PRESET [TARGET...]: configures the preset if need be and builds the targets (or all)
# in build/PRESET.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/env.sh
preset=$1
shift
folder=build/$preset
if [[ ! -f $folder/build.ninja || CMakePresets.json -nt $folder/build.ninja ]]; then
  mkdir -p "$folder"
  if ! cmake --preset "$preset" >"$folder/configure.log" 2>&1; then
    cat "$folder/configure.log"
    echo "build: cmake --preset $preset failed" >&2
    exit 1
  fi
fi
exec ninja -C "$folder" "$@"
