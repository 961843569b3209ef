#!/usr/bin/env bash
# Runs clang-tidy on the C++ files changed since BASE (default: what is not committed), or on all of
# them with ALL=1. A changed header is checked through the .cc files of its own folder.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ${ALL:-0} == 1 ]]; then
  mapfile -t files < <(git ls-files 'cairn/*.cc' 'tools/*.cc')
else
  mapfile -t changed < <(
    git diff --name-only --diff-filter=d "${BASE:-HEAD}" -- 'cairn/' 'tools/' 'tests/'
    git ls-files --others --exclude-standard -- 'cairn/' 'tools/' 'tests/'
  )
  mapfile -t files < <(
    for file in "${changed[@]}"; do
      case $file in
        *.cc) echo "$file" ;;
        *.h) ls "${file%/*}"/*.cc 2>/dev/null || true ;;
      esac
    done | sort -u
  )
fi
# Fuzzers and micro-benchmarks are compiled in other presets than this one.
mapfile -t files < <(printf '%s\n' "${files[@]}" | grep -Ev '_(fuzz|bench)\.cc$' || true)
((${#files[@]})) || { echo "tidy: no C++ file changed" && exit 0; }
[[ -f build/release/compile_commands.json ]] || scripts/build.sh release cairn
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy-19 -p build/release --quiet --warnings-as-errors='*'
echo "tidy: ${#files[@]} files clean"
