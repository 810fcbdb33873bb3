#!/usr/bin/env bash
# Compares two revisions of a stack, or two services: the summary into the job's, the page's path as an output, the lab's exit code passed on.
# What somebody else wrote (STACK, BASE, …) comes as variables, is never part of this script, and is no option of a command.
set -euo pipefail
kept=$RUNNER_TEMP/fairground
said=$kept/said.txt result=$kept/result.json summary=$kept/summary.md
mkdir -p "$kept"
rm -f "$said" "$result" "$summary"
cd "$GITHUB_WORKSPACE"

fail() {
    printf '## Fairground could not compare\n\n    %s\n' "$1" >>"$GITHUB_STEP_SUMMARY"
    printf '%s\n' "$1" >&2
    printf 'exit-code=2\n' >>"$GITHUB_OUTPUT"
    exit 2
}

# A revision as its commit: names may hold a comma or begin with a dash, and a commit cannot.
commit() {
    [ "$2" != . ] || { printf .; return; }
    git rev-parse --quiet --verify --end-of-options "$2^{commit}" ||
        fail "the input $1 names no commit that is here; actions/checkout needs fetch-depth: 0" >/dev/null
}

words=() page=compare.html
if [ -n "${URL_A:-}${URL_B:-}" ]; then
    [ -z "${STACK:-}" ] || fail 'the inputs stack and url-a are given; leave one of them out'
    for name in URL_A URL_B BUDGET; do
        input=${name,,}
        [ -n "${!name:-}" ] || fail "the input ${input/_/-} is empty"
    done
    words=(try "--url=$URL_A" "--against=$URL_B" "--budget=$BUDGET" "--results=$kept/results" "--markdown=$summary" --json)
    [ -z "${FAIL_ON:-}" ] || words+=("--fail-on=$FAIL_ON")
    [ -z "${HEADER:-}" ] || words+=("--header=$HEADER")
    [ -z "${REQUESTS:-}" ] || words+=("--requests=$REQUESTS")
    # A shell of its own for each command; `exec` would be the person's to write. The lab takes the word apart by `shlex`,
    # which does not know the forms in which bash quotes a line's end.
    [ -z "${COMMAND_B:-}" ] ||
        words+=("--against-command=$(python3 -c 'import shlex, sys; print(shlex.join(["sh", "-c", sys.argv[1]]))' "$COMMAND_B")")
    [ -z "${COMMAND_A:-}" ] || words+=(-- sh -c "$COMMAND_A")
    called=services
else
    [ -z "${HEADER:-}${REQUESTS:-}" ] || fail 'the inputs header and requests go with url-a and url-b; leave them out'
    for name in STACK BASE HEAD BUDGET; do
        [ -n "${!name:-}" ] || fail "the input ${name,,} is empty"
    done
    base=$(commit base "$BASE") && head=$(commit head "$HEAD") || exit 2

    words=(compare "--revisions=${base:0:12},${head:0:12}" "--budget=$BUDGET" "--results=$kept/results" "--markdown=$summary" --json)
    [ -z "${WORKLOAD:-}" ] || words+=("--workload=$WORKLOAD")
    case ${COUNT:-false} in
        true) words+=(--count) page=count.html ;;
        false) ;;
        *) fail "the input count is \`$COUNT\`; write true or false" ;;
    esac
    [ -z "${FAIL_ON:-}" ] || words+=("--fail-on=$FAIL_ON")
    words+=(-- "$STACK")
    called=$STACK${WORKLOAD:+-$WORKLOAD}
fi
# An artifact's name is taken once in a workflow, and its jobs may compare the same under other versions.
called=$called-$(head -c 8 /proc/sys/kernel/random/uuid)

code=0
{ fairground "${words[@]}" >"$result"; } 2>&1 | tee "$said" >&2 || code=${PIPESTATUS[0]}

if [ -s "$summary" ]; then
    cat "$summary" >>"$GITHUB_STEP_SUMMARY"
    # The page and what it was made from; the record's logs stay behind.
    folder=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["folder"])' "$result")
    {
        printf 'page=%s\n' "$folder/$page"
        printf 'folder=%s\n' "$folder"
        printf 'artifact=fairground-%s\n' "$(printf %s "$called" | tr -c 'A-Za-z0-9_.-' -)"
    } >>"$GITHUB_OUTPUT"
else
    {
        printf '## Fairground could not compare\n\n'
        tail -n 20 "$said" | sed 's/^/    /'
    } >>"$GITHUB_STEP_SUMMARY"
fi
printf 'exit-code=%s\n' "$code" >>"$GITHUB_OUTPUT"
exit "$code"
