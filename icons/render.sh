#!/usr/bin/env bash
# Renders icons/src/*.svg to what desktops want: PNG sizes, .ico, .icns, and the tray in three inks. Run after a change.
# Needs rsvg-convert, ImageMagick's convert and png2icns (Debian: librsvg2-bin imagemagick icnsutils).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
PATH=/usr/bin:$PATH

SIZES=(16 24 32 48 64 128 256 512 1024)
TRAY_SIZES=(16 22 24 32 44 48 64)
STATES=(idle busy paused error update)
# The night sky of the dark variant, for the two colours of the day's.
NIGHT=(-e 's/#2f5fe0/#131c44/' -e 's/#35c3e6/#3a4fae/')

main() {
    rm -rf app app-dark file folder tray
    mkdir app app-dark file folder tray
    local size
    for size in "${SIZES[@]}"; do
        png "$size" "app/$size.png" <"$(app_source "$size")"
        sed "${NIGHT[@]}" "$(app_source "$size")" | png "$size" "app-dark/$size.png"
        png "$size" "file/$size.png" <src/file.svg
        png "$size" "folder/$size.png" <src/folder.svg
    done
    for name in app app-dark file folder; do
        bundle "$name"
        # 1024 is there for the .icns; nobody asks for it as a file, but for the app itself.
        [ "$name" = app ] || rm "$name/1024.png"
    done
    render_tray
}

# Small sizes are drawn for themselves: a scaled-down picture is a blur.
app_source() {
    case "$1" in
        16) echo src/app-16.svg ;;
        24 | 32) echo src/app-32.svg ;;
        *) echo src/app.svg ;;
    esac
}

# png SIZE OUT [STYLESHEET], the SVG on its input. No time stamps, so that the same source gives the same file.
png() {
    rsvg-convert -w "$1" -h "$1" ${3:+--stylesheet "$3"} |
        convert - -strip -define png:exclude-chunks=date,time -define png:compression-level=9 "$2"
}

bundle() {
    convert "$1"/{16,24,32,48,64,256}.png "$1.ico"
    png2icns "$1.icns" "$1"/{16,32,48,128,256,512,1024}.png >/dev/null
}

# template: black with alpha, for macOS, which paints it; light and dark: the ink for a panel of that kind.
render_tray() {
    local state size ink style
    style=$(mktemp)
    for ink in template:#000000 light:#303030 dark:#f5f5f5; do
        echo "svg { color: ${ink#*:} }" >"$style"
        for state in "${STATES[@]}"; do
            for size in "${TRAY_SIZES[@]}"; do
                png "$size" "tray/$state-${ink%%:*}-$size.png" "$style" <"src/tray-$state.svg"
            done
        done
    done
    rm "$style"
}

main
