#!/usr/bin/env bash
# Makes the lab ready through its own door, which installs what requirements.lock pins by hash, and puts it on the job's PATH.
set -euo pipefail
lab=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
engine=$lab/engine/target/release/fairload

# A checkout's files are newer than any cached engine. The cache's key holds their content, so the engine is of them.
[ "${CACHE_HIT:-}" != true ] || [ ! -x "$engine" ] || touch "$engine"

# Counting runs the server under QEMU's user mode. Of services time alone is measured.
if [ "${COUNT:-false}" = true ] && [ -z "${URL_A:-}${URL_B:-}" ] && ! command -v "qemu-$(uname -m)" >/dev/null; then
    sudo apt-get update -q
    sudo apt-get install -y -q --no-install-recommends qemu-user
fi

programs=$RUNNER_TEMP/fairground/bin
mkdir -p "$programs"
ln -sfn "$lab/fairground" "$programs/fairground"
printf '%s\n' "$programs" >>"$GITHUB_PATH"
"$programs/fairground" --version
