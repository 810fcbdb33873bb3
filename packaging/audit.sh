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
    said=$(cd "$folder" && "$@" 2>&1 </dev/null)  # its input is the list of files
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

# Every file of the repository that pins or names packages: a new one is asked, or named.
while read -r lock; do
    folder=$(dirname "$lock")
    case $lock in
        *requirements*.lock)
            if command -v pip-audit >/dev/null; then
                audit "pip-audit $lock" 'Found [0-9]+ known vulnerabilit' . pip-audit --disable-pip --require-hashes -r "$lock"
            else
                left_out "$lock" "pip-audit is not installed (pip install pip-audit)"
            fi
            ;;
        *Cargo.lock)
            if command -v cargo-deny >/dev/null; then
                audit "cargo deny $lock" 'error\[(vulnerability|unsound|yanked)' "$folder" cargo deny --all-features check advisories
            elif command -v cargo-audit >/dev/null; then
                audit "cargo audit $lock" 'vulnerabilit(y|ies) found' . cargo audit --file "$lock"
            else
                left_out "$lock" "neither cargo-deny nor cargo-audit is installed (cargo install cargo-deny --locked)"
            fi
            ;;
        *go.sum)
            if command -v govulncheck >/dev/null; then
                audit "govulncheck $lock" 'Vulnerability #|affected by [1-9]' "$folder" govulncheck ./...
            else
                left_out "$lock" "govulncheck is not installed (go install golang.org/x/vuln/cmd/govulncheck@latest)"
            fi
            ;;
        *package-lock.json)
            if command -v npm >/dev/null; then
                audit "npm audit $lock" '[1-9][0-9]* .*vulnerabilit' "$folder" npm audit --omit=dev
            else
                left_out "$lock" "npm is not installed"
            fi
            ;;
        *) left_out "$lock" "no audit of it is known to this script" ;;
    esac
done < <(git ls-files '*.lock' '*go.sum' '*package-lock.json' '*pom.xml' '*Gemfile')

[ "$asked" -gt 0 ] || echo "audit: nothing was asked: this says nothing of holes"
exit "$found"
