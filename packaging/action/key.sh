#!/usr/bin/env bash
# The cache's key: of what the lab's environment and its load engine are made from, and of what they run on.
set -euo pipefail
lab=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)

sources() {
    cd "$lab"
    find engine/src requirements.lock engine/Cargo.toml engine/Cargo.lock -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
    # An environment names its interpreter and its own place by path, and the engine links the system's C library.
    printf '%s\n' "$lab" "$(readlink -f -- "$(command -v python3)")" "$(python3 -V)" "$(uname -m)" "$(getconf GNU_LIBC_VERSION)"
}

sum=$(sources | sha256sum)
{
    printf 'key=fairground-%s\n' "${sum%% *}"
    printf 'lab=%s\n' "$lab"
} >>"$GITHUB_OUTPUT"
