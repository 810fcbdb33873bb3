#!/usr/bin/env bash
# Builds the container image where no registry of images can be reached, and tries it: the base is made by debootstrap, Rust and
# Go are this machine's. Needs root, buildah, debootstrap, Rust by rustup, and a few gigabytes. It takes several minutes.
#
#   packaging/image.sh [--toolchains "python3 nginx"] [--suite trixie] [--work FOLDER] [--keep] [--lacking]
#
# --lacking only says what is missing, and exits 3 then. All that is made is in a new folder of FOLDER, which --keep leaves.
# Traffic goes to Debian's mirror and to package indexes, as apt, pip and cargo of this machine are set up.
set -euo pipefail
root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
toolchains="python3 nginx" suite=trixie work="" keep="" lacking=""

fail() {
    printf 'error: %s\n\nhint: %s\n' "$1" "$2" >&2
    exit "${3:-2}"
}

while [ $# -gt 0 ]; do
    case $1 in
        --toolchains | --suite | --work)
            [ $# -ge 2 ] || fail "$1 wants a value" "packaging/image.sh $1 VALUE"
            declare "${1#--}=$2"
            shift 2 ;;
        --keep) keep=1; shift ;;
        --lacking) lacking=1; shift ;;
        *) fail "there is no option \`$1\`" 'the head of packaging/image.sh names all of them' ;;
    esac
done

# ---------------------------------------------------------------- what it needs

sysroot=$(rustc --print sysroot 2>/dev/null || true)
goroot=$(go env GOROOT 2>/dev/null || true)
[ "$(id -u)" = 0 ] || fail 'debootstrap and buildah need root here' 'run it as root' 3
for program in buildah debootstrap; do
    command -v "$program" >/dev/null || fail "$program is missing" "apt-get install --no-install-recommends $program" 3
done
[ -d "$sysroot/lib/rustlib" ] && [ -x "$sysroot/bin/cargo" ] || fail 'no Rust toolchain in a folder of its own is here' 'install Rust with rustup' 3
case " $toolchains " in *" go "*) [ -x "$goroot/bin/go" ] || fail 'go is asked for and missing' 'install Go, or leave it out of --toolchains' 3 ;; esac
[ -z "$lacking" ] || exit 0

# ---------------------------------------------------------------- the folder, and what ends with it

mkdir -p "${work:=${TMPDIR:-/var/tmp}}"
work=$(CDPATH='' cd -- "$work" && pwd)
work=$(mktemp -d "$work/fairground-image.XXXXXX")

b() { buildah --root "$work/storage" --runroot "$work/run" --storage-driver "$driver" "$@"; }

clean() {
    code=$?
    [ "$code" = 0 ] || printf 'failed in the step "%s"\n' "${step:-the beginning}" >&2
    if [ -n "$keep" ]; then
        printf 'kept: %s\nby hand: buildah --root %s/storage --runroot %s/run --storage-driver %s images\n' "$work" "$work" "$work" "${driver:-vfs}" >&2
        return
    fi
    [ -z "${driver:-}" ] || b rm --all >/dev/null 2>&1 || :
    # An overlay that is still mounted must not be deleted through.
    while read -r _ folder _; do
        case $folder in "$work"/*) umount --lazy -- "$folder" || : ;; esac
    done </proc/mounts
    rm -rf --one-file-system -- "$work"
}
trap clean EXIT
trap 'exit 130' INT TERM

began=$SECONDS step=""
# Says how long the step before took, and begins the next.
begin() {
    [ -z "$step" ] || printf '%4d s  %s\n' "$((SECONDS - began))" "$step" >&2
    began=$SECONDS step=$1
}

driver=overlay
b info >/dev/null 2>&1 || driver=vfs
b info >/dev/null || fail 'buildah cannot keep images here' "read the line above; --work FOLDER names another place" 3
printf '{"default": [{"type": "insecureAcceptAnything"}]}\n' >"$work/policy.json"   # nothing is pulled: all images are made here
with=(--isolation=chroot --network=host)
made=(--signature-policy "$work/policy.json" --pull-never)

# ---------------------------------------------------------------- the images that are otherwise downloaded

begin "debootstrap of $suite"
mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' | awk '$2 !~ /security|updates|backports/ && /debian/ {print $1; exit}')
[ -n "$mirror" ] || fail "apt's sources name no mirror of Debian" 'apt-get indextargets lists what they name' 3
container=$(b from scratch)
folder=$(b mount "$container")
debootstrap --variant=minbase --include=ca-certificates "$suite" "$folder" "$mirror" >"$work/debootstrap.log" 2>&1 ||
    fail "debootstrap failed: $(tail -n 1 "$work/debootstrap.log")" "its log is $work/debootstrap.log; --keep keeps it" 1
printf 'deb %s %s main\n' "$mirror" "$suite" >"$folder/etc/apt/sources.list"
apt-config dump --format '%f "%v";%n' Acquire::http::Proxy Acquire::https::Proxy >"$folder/etc/apt/apt.conf.d/90proxy"
# Authorities that this machine trusts beside the usual ones: a proxy in front of package indexes may have its own.
if compgen -G '/usr/local/share/ca-certificates/*.crt' >/dev/null; then
    cp /usr/local/share/ca-certificates/*.crt "$folder/usr/local/share/ca-certificates/"
    chroot "$folder" update-ca-certificates >/dev/null
fi
rm -rf "$folder"/var/cache/apt/archives/*.deb "$folder"/var/lib/apt/lists/*
b umount "$container" >/dev/null
b commit --quiet --rm --signature-policy "$work/policy.json" "$container" localhost/base >/dev/null

begin "an image of this machine's Rust"
container=$(b from "${made[@]}" localhost/base)
b run "${with[@]}" "$container" -- sh -c 'apt-get update -q && apt-get install -y -q --no-install-recommends gcc libc6-dev' >"$work/rust.log" 2>&1 ||
    fail "gcc could not be installed: $(tail -n 1 "$work/rust.log")" "its log is $work/rust.log; --keep keeps it" 1
folder=$(b mount "$container")
mkdir -p "$folder/usr/local/rust" "$folder/usr/local/cargo"
tar -C "$sysroot" --exclude=./share --exclude=./lib/rustlib/src -cf - . | tar -C "$folder/usr/local/rust" --no-same-owner -xf -
b umount "$container" >/dev/null
b config --env "PATH=/usr/local/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" --env CARGO_HOME=/usr/local/cargo "$container"
b commit --quiet --rm --signature-policy "$work/policy.json" "$container" localhost/rust >/dev/null

go=localhost/base
case " $toolchains " in *" go "*)
    begin "an image of this machine's Go"
    container=$(b from "${made[@]}" localhost/base)
    folder=$(b mount "$container")
    mkdir -p "$folder/usr/local/go"
    tar -C "$goroot" --exclude=./test -cf - . | tar -C "$folder/usr/local/go" --no-same-owner -xf -
    b umount "$container" >/dev/null
    b commit --quiet --rm --signature-policy "$work/policy.json" "$container" localhost/go >/dev/null
    go=localhost/go ;;
esac

# ---------------------------------------------------------------- the image

# Configuration that may hold an index's address goes in as a secret, which no layer keeps.
secrets=()
for file in "${PIP_CONFIG_FILE:-}" /etc/pip.conf "${XDG_CONFIG_HOME:-$HOME/.config}/pip/pip.conf" "$HOME/.pip/pip.conf"; do
    if [ -n "$file" ] && [ -f "$file" ]; then pip=$file; secrets+=(--secret "id=pip,src=$file"); break; fi
done
for file in "${CARGO_HOME:-$HOME/.cargo}/config.toml" "${CARGO_HOME:-$HOME/.cargo}/config"; do
    if [ -f "$file" ]; then secrets+=(--secret "id=cargo,src=$file"); break; fi
done

begin "buildah bud, with the toolchains $toolchains"
b bud "${with[@]}" "${made[@]}" --build-arg BASE=localhost/base --build-arg RUST_IMAGE=localhost/rust --build-arg GO_IMAGE="$go" \
    --build-arg TOOLCHAINS="$toolchains" "${secrets[@]}" --file "$root/Containerfile" --tag localhost/fairground "$root" >"$work/bud.log" 2>&1 ||
    fail "the image could not be built:
$(tail -n 15 "$work/bud.log")" "its log is $work/bud.log; --keep keeps it" 1

# ---------------------------------------------------------------- what it does

container=$(b from "${made[@]}" localhost/fairground)
install -d -o 1000 -g 1000 "$work/results" "$work/cache"
mounts=(--volume "$work/results:/lab/results" --volume "$work/cache:/cache")
[ -z "${pip:-}" ] || mounts+=(--volume "$pip:/etc/pip.conf:ro")
in_image() { b run "${with[@]}" "${mounts[@]}" "$container" -- "$@"; }
lab() { in_image /usr/local/libexec/fairground/entry "$@"; }

begin 'version, user and doctor'
lab --version
[ "$(in_image id -u)" = 1000 ] || fail 'the image runs as root' 'the last USER of the Containerfile says who runs' 1
lab doctor || fail 'the doctor found no load engine' 'the wheel has it as bin/fairload' 1
lab doctor --json >"$work/doctor.json"

begin 'a short run'
# Any server that can be had in the image: those of Python need no compiler.
lab list --json >"$work/list.json"
stack=$(python3 - "$work/list.json" <<'PYTHON'
import json, sys
rows = json.load(open(sys.argv[1]))["stacks"]
print(next((row["id"] for row in rows if row["state"] != "not here" and row["language"] == "Python"), ""))
PYTHON
)
[ -n "$stack" ] || fail 'no server of Python can be had in the image' "look at $work/list.json; --keep keeps it" 1
code=0
lab run --stack "$stack" --workload ping --workload db-ping --connections 2 --window 1 --blocks 1 --no-controls --quiet || code=$?
# 3: what else runs on this machine voided it.
[ "$code" = 0 ] || [ "$code" = 3 ] || fail "the run of $stack in the image ended with exit code $code" "its records are in $work/results; --keep keeps them" 1
python3 - "$work/results" <<'PYTHON'
import json, pathlib, sys
lines = [line for path in pathlib.Path(sys.argv[1]).glob("*/entries.jsonl") for line in path.read_text().splitlines()]
trials = [json.loads(line) for line in lines]
wrong = [trial["findings"] for trial in trials if trial["verdict"] == "rejected" or not trial["result"]]
sys.exit(f"trials of the run in the image measured nothing: {wrong}" if wrong or not trials else 0)
PYTHON

begin ''
folder=$(b mount "$container")
for name in "$folder/source" "$folder/lab/.git" "$folder/opt/fairground/bin/cargo"; do
    [ ! -e "$name" ] || fail "the image holds ${name#"$folder"}" 'the last stage takes wheels and toolchains alone' 1
done
printf 'the image: %s MB, its toolchains %s; the folder %s: %s MB\n' \
    "$(du -sxm "$folder" | cut -f1)" "$toolchains" "$work" "$(du -sm "$work" | cut -f1)" >&2
