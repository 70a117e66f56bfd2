# ./dev package: app and command line as packages of this system.
# shellcheck shell=bash
# shellcheck source=dev.d/app.sh
source dev.d/app.sh

# dev_package [--debug] [deb|rpm|appimage|app|dmg|nsis]...: what is named, else what Linux can make without the network. A debug
# package is quick to make and large, for looking at what is in it.
dev_package() {
    local profile=release build=(--release) bundle=() host
    if [ "${1:-}" = --debug ]; then
        profile=debug build=() bundle=(--debug)
        shift
    fi
    [ $# -gt 0 ] || set -- deb rpm
    need_workspace
    ui_build
    npm_install src-tauri
    cargo build --workspace --bin weightless --bin weightless-desktop "${build[@]}"
    # Tauri wants to know for which system a program is, and puts it into the package without that.
    host=$(rustc -vV | sed -n 's/^host: //p')
    mkdir -p src-tauri/binaries
    cp "${CARGO_TARGET_DIR:-target}/$profile/weightless" "src-tauri/binaries/weightless-$host"
    # The program beside the app is named in a file of its own: without it, nobody needs a finished one to build the workspace.
    (cd src-tauri && node node_modules/@tauri-apps/cli/tauri.js bundle "${bundle[@]}" --ci \
        --config tauri.bundle.conf.json --bundles "$(IFS=, && echo "$*")")
}
