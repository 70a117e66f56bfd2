# Shared by the verbs of ./dev: words, packages, the cache folder, parts with a time budget. Builds nothing itself.
# shellcheck shell=bash

# Root's cache must be readable by the ordinary user that the tests also run as, and /root is not.
if [ "$(id -u)" = 0 ]; then
    default_cache=/var/cache/weightless-dev
else
    default_cache=${XDG_CACHE_HOME:-$HOME/.cache}/weightless-dev
fi
export WEIGHTLESS_DEV_CACHE=${WEIGHTLESS_DEV_CACHE:-$default_cache}
unset default_cache
RUST_MIN=1.95

say() { printf '%s\n' "$*" >&2; }

die() {
    say "$*"
    exit 1
}

is_root() { [ "$(id -u)" = 0 ]; }

# need PACKAGE[:FILE-OR-COMMAND]...: installs the Debian packages whose file or command is absent; elsewhere says so.
need() {
    local item package probe missing=()
    for item in "$@"; do
        package=${item%%:*} probe=${item#*:}
        case "$probe" in
            /*) [ -e "$probe" ] || missing+=("$package") ;;
            *) PATH=$PATH:/usr/sbin:/sbin command -v "$probe" >/dev/null || missing+=("$package") ;;
        esac
    done
    [ ${#missing[@]} = 0 ] && return
    if ! command -v apt-get >/dev/null; then
        die "Please install what your system calls these Debian packages: ${missing[*]}"
    fi
    local as_root=()
    if ! is_root; then
        command -v sudo >/dev/null || die "Please install, as root: apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    say "installing ${missing[*]}"
    # The list may be stale or absent on a fresh machine; one that was just made is not asked for twice.
    if ! apt_install "${missing[@]}" 2>/dev/null; then
        "${as_root[@]}" apt-get update -qq
        apt_install "${missing[@]}" || die "apt-get could not install: ${missing[*]}"
    fi
}

# Uses `as_root` of its caller.
apt_install() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" \
        </dev/null >/dev/null 2>"${TMPDIR:-/tmp}/weightless-dev-apt.$$" || {
        cat "${TMPDIR:-/tmp}/weightless-dev-apt.$$" >&2
        return 1
    }
    rm -f "${TMPDIR:-/tmp}/weightless-dev-apt.$$"
}

need_rust() {
    need build-essential:cc pkg-config git
    command -v cargo >/dev/null || die "Rust is missing: get $RUST_MIN or newer from https://rustup.rs, then run this again."
    local have
    have=$(rustc --version | cut -d' ' -f2)
    [ "$(printf '%s\n' "$RUST_MIN" "$have" | sort -V | head -1)" = "$RUST_MIN" ] ||
        die "Rust $have is too old: run \`rustup update\` for $RUST_MIN or newer."
}

# What the whole workspace is built with: Rust, and the libraries of the app's window.
need_workspace() {
    need_rust
    need libwebkit2gtk-4.1-dev:/usr/include/webkitgtk-4.1 libgtk-3-dev:/usr/include/gtk-3.0
}

need_fuse() {
    need fuse3:fusermount3
    [ -e /dev/fuse ] || die "/dev/fuse is missing: load the kernel module (\`modprobe fuse\`) or give the container --device /dev/fuse."
}

# need_cargo_tool NAME: one that is there already is as good; else a wheel, else compiled.
need_cargo_tool() {
    command -v "cargo-$1" >/dev/null && return
    local python
    if python=$(python_env tools dev.d/tools.txt); then
        PATH=$PATH:$(dirname "$python")
    else
        cargo install --locked "cargo-$1"
    fi
}

# The virtual environment NAME under the cache, with the requirements file as its content; made again when that changes.
# Prints its python. --only-binary: a missing wheel must fail here, not start a compiler.
python_env() {
    local name=$1 requirements=$2 dir python
    dir=$WEIGHTLESS_DEV_CACHE/venv-$name
    if ! cmp -s "$requirements" "$dir/requirements.done"; then
        need python3-venv:/usr/share/doc/python3-venv
        # Root's own python may sit in a folder that only root can enter.
        python=python3
        ! is_root || [ ! -x /usr/bin/python3 ] || python=/usr/bin/python3
        say "making the Python environment '$name'"
        rm -rf "$dir"
        mkdir -p "$WEIGHTLESS_DEV_CACHE"
        "$python" -m venv "$dir" >&2
        "$dir/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: -r "$requirements" >&2
        cp "$requirements" "$dir/requirements.done"
    fi
    echo "$dir/bin/python"
}

PART_REPORT=()
PART_FAILED=()

# part NAME BUDGET_MINUTES COMMAND...: runs it, prints its time against the budget, remembers a failure and goes on.
part() {
    local name=$1 budget_min=$2 begin spent status
    shift 2
    say "── $name (budget $budget_min min)"
    begin=$SECONDS
    # In a subshell outside any condition: only so does `set -e` hold inside the function.
    set +e
    (
        set -e
        "$@"
    )
    status=$?
    set -e
    spent=$((SECONDS - begin))
    local line verdict=ok
    [ $spent -le $((budget_min * 60)) ] || verdict="OVER BUDGET"
    [ $status = 0 ] || verdict=FAILED
    line=$(printf '%-28s %3d min %02d s of %3d min  %s' "$name" $((spent / 60)) $((spent % 60)) "$budget_min" "$verdict")
    say "── $line"
    PART_REPORT+=("$line")
    [ $status = 0 ] || PART_FAILED+=("$name")
}

# Ends a verb made of parts: the table, and failure if any part failed.
parts_end() {
    say ""
    printf '%s\n' "${PART_REPORT[@]}" >&2
    [ ${#PART_FAILED[@]} = 0 ] || die "failed: ${PART_FAILED[*]}"
}
