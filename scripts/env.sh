# Sourced by the other scripts. A cargo older than 1.87 cannot build our crates' dependencies: where the
# PATH leads to such a one, or to none, Debian's cargo-web in /usr/bin goes first.
CAIRN_CARGO_MINIMUM=1.87.0

# cargo_is_recent CARGO: whether that command exists and is new enough.
cargo_is_recent() {
  local version
  version=$("$1" --version 2>/dev/null | cut -d' ' -f2) || return 1
  [[ -n $version ]] && printf '%s\n' "$CAIRN_CARGO_MINIMUM" "$version" | sort --version-sort --check=quiet
}

if ! cargo_is_recent cargo && cargo_is_recent /usr/bin/cargo; then
  export PATH=/usr/bin:$PATH
fi
