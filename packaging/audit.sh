#!/usr/bin/env bash
# Known holes in what the project uses, by each audit that is installed. One that is left out says why. Ends with 1 where one found
# a hole. One that cannot get its data is left out, too: no network is no hole, and no proof of none.
set -uo pipefail
cd "$(dirname "$0")/.."
found=0 asked=0

left_out() { echo "audit: left out  $1: $2"; }

# One audit: its name, a pattern of what it says of a hole, its folder, and its command.
audit() {
    local name=$1 pattern=$2 folder=$3 said code
    shift 3
    said=$(cd "$folder" && "$@" 2>&1)
    code=$?
    if [ "$code" -eq 0 ]; then
        echo "audit: clean     $name"
        asked=$((asked + 1))
    elif grep -qE "$pattern" <<<"$said"; then
        echo "audit: HOLES     $name"
        sed 's/^/    /' <<<"$said"
        found=1 asked=$((asked + 1))
    else
        left_out "$name" "it ended with $code: $(grep -vE '^[[:space:]]*$' <<<"$said" | tail -n 1)"
    fi
}

if command -v pip-audit >/dev/null; then
    for lock in requirements.lock requirements-dev.lock requirements-docs.lock servers/*/requirements.lock servers/*/requirements.txt; do
        [ -e "$lock" ] && audit "pip-audit $lock" 'Found [0-9]+ known vulnerabilit' . pip-audit --disable-pip --require-hashes -r "$lock"
    done
else
    left_out pip-audit "it is not installed (pip install pip-audit)"
fi

for lock in engine/Cargo.lock servers/*/Cargo.lock; do
    [ -e "$lock" ] || continue
    if command -v cargo-deny >/dev/null; then
        audit "cargo deny $lock" 'error\[(vulnerability|unsound|yanked)' "$(dirname "$lock")" cargo deny --all-features check advisories
    elif command -v cargo-audit >/dev/null; then
        audit "cargo audit $lock" 'vulnerabilit(y|ies) found' . cargo audit --file "$lock"
    else
        left_out "$lock" "neither cargo-deny nor cargo-audit is installed (cargo install cargo-deny --locked)"
    fi
done

for lock in servers/*/go.sum; do
    [ -e "$lock" ] || continue
    if command -v govulncheck >/dev/null; then
        audit "govulncheck $(dirname "$lock")" 'Vulnerability #|affected by [1-9]' "$(dirname "$lock")" govulncheck ./...
    else
        left_out "$lock" "govulncheck is not installed (go install golang.org/x/vuln/cmd/govulncheck@latest)"
    fi
done

for lock in servers/*/package-lock.json; do
    [ -e "$lock" ] || continue
    if command -v npm >/dev/null; then
        audit "npm audit $(dirname "$lock")" '[1-9][0-9]* .*vulnerabilit' "$(dirname "$lock")" npm audit --omit=dev
    else
        left_out "$lock" "npm is not installed"
    fi
done

left_out "servers with Maven or Ruby" "no audit of theirs is known to this script"
[ "$asked" -gt 0 ] || echo "audit: nothing was asked: this says nothing of holes"
exit "$found"
