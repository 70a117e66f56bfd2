#!/usr/bin/env bash
# open-way.sh FOLDER... -- COMMAND...: runs the command where every folder on the way to the FOLDERs may be entered by all.
# A closed one (a clone below /root, say) gets an overlay whose top layer has the wider mode; the real one stays as it
# is. To be started in a private mount namespace, as root.
set -euo pipefail

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

while [ "$1" != -- ]; do
    open_way "$1"
    shift
done
shift
# The working folder may lie below a new overlay: enter it anew.
cd "$PWD"
exec "$@"
