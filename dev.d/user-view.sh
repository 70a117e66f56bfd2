#!/usr/bin/env bash
# user-view.sh FOLDER... -- COMMAND...: runs the command where an ordinary user may do what a desktop lets users do: enter
# every folder on the way to the FOLDERs, and use /dev/fuse. The real folders and the real device keep their modes. To be
# started in a private mount namespace, as root.
set -euo pipefail

# A closed folder (a clone below /root, say) gets an overlay whose top layer has the wider mode.
# Opens the outermost closed folder on the way by an overlay, and those below it inside that overlay.
open_way() {
    local at="" covered=no name
    local -a names
    IFS=/ read -ra names <<<"${1#/}"
    for name in "${names[@]}"; do
        at=$at/$name
        [ $(($(stat -c '0%a' "$at") & 1)) = 0 ] || continue
        [ $covered = yes ] || cover "$at"
        covered=yes
        chmod o+x "$at"
    done
}

cover() {
    local top
    top=$(mktemp -d)
    mount -t tmpfs -o mode=755 tmpfs "$top"
    mkdir "$top/upper" "$top/work"
    chmod --reference="$1" "$top/upper"
    mount -t overlay -o "lowerdir=$1,upperdir=$top/upper,workdir=$top/work" overlay "$1"
}

# udev gives the device mode 666; some containers and small systems have it for root alone.
open_fuse() {
    [ "$(stat -c %a /dev/fuse)" != 666 ] || return 0
    local top
    top=$(mktemp -d)
    mount -t tmpfs -o mode=755 tmpfs "$top"
    mknod -m 666 "$top/fuse" c 10 229
    mount --bind "$top/fuse" /dev/fuse
}

open_fuse
while [ "$1" != -- ]; do
    open_way "$1"
    shift
done
shift
# The working folder may lie below a new overlay: enter it anew.
cd "$PWD"
exec "$@"
