# ./dev app: the tray app from this source tree, on this desktop; also tests it for other verbs.
# shellcheck shell=bash
# shellcheck source=dev.d/run.sh
source dev.d/run.sh
# shellcheck source=dev.d/ui.sh
source dev.d/ui.sh

dev_app() {
    need_workspace
    need_fuse
    # Loaded when it is first used: the app runs without, and shows no tray.
    need "libayatana-appindicator3-1:/usr/lib/$(cc -dumpmachine)/libayatana-appindicator3.so.1"
    ui_build
    cargo build --workspace --bin weightless --bin weightless-desktop --bin hub-sim
    [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] || die "The app is built. To start it, run this in a graphical session: \
there is neither DISPLAY nor WAYLAND_DISPLAY."
    if [ "${1:-}" = --demo ]; then
        shift
        app_demo "$@"
    else
        exec "${CARGO_TARGET_DIR:-target}/debug/weightless-desktop" "$@"
    fi
}

# The app on a Hub of its own: something to search and to mount without the network. An engine that runs already keeps its
# own Hub.
app_demo() {
    local bin=${CARGO_TARGET_DIR:-target}/debug hub said args=(--demo) model
    local sockets=${XDG_RUNTIME_DIR:-/tmp}/weightless
    [ -n "${XDG_RUNTIME_DIR:-}" ] || sockets+=-$(id -u)
    if [ -S "$sockets/engine.sock" ]; then
        say "an engine runs already and keeps its own Hub: \`weightless engine stop\` ends it"
    fi
    if model=$(demo_model); then args+=(--model "$model"); fi
    said=$(mktemp)
    "$bin/hub-sim" "${args[@]}" >"$said" &
    hub=$!
    # shellcheck disable=SC2064 # as they are now
    trap "kill $hub; rm -f '$said'" EXIT
    until [ -s "$said" ]; do
        kill -0 $hub || die "the demo's Hub did not start"
        sleep 0.1
    done
    WEIGHTLESS_ENDPOINT=$(head -1 "$said") "$bin/weightless-desktop" "$@"
}

# Display, panel, keyring and browser driver of the tests.
need_desk() {
    need xvfb:Xvfb dbus-daemon:dbus-daemon dbus-bin:dbus-send gnome-keyring:gnome-keyring-daemon \
        python3-dbus:/usr/lib/python3/dist-packages/dbus python3-gi:/usr/lib/python3/dist-packages/gi \
        "gir1.2-gdkpixbuf-2.0:/usr/lib/$(cc -dumpmachine)/girepository-1.0/GdkPixbuf-2.0.typelib" \
        webkit2gtk-driver:WebKitWebDriver xdotool imagemagick:import fonts-dejavu-core:/usr/share/fonts/truetype/dejavu \
        adwaita-icon-theme:/usr/share/icons/Adwaita \
        "libayatana-appindicator3-1:/usr/lib/$(cc -dumpmachine)/libayatana-appindicator3.so.1"
}

app_test_setup() {
    need_workspace
    need_fuse
    need_desk
    ui_build
    npm_install tests/desktop
    cargo build --workspace --bin weightless --bin weightless-desktop --bin hub-sim
}

# In a folder of its own, which is looked through afterwards: whatever is left of the run ends with it, however it ended.
app_test_run() {
    local dir status=0
    dir=$(mktemp -d /tmp/weightless-desk.XXXXXX)
    WEIGHTLESS_DESK_DIR=$dir timeout --kill-after=20 480 node --test --test-reporter=spec "$@" tests/desktop/desktop.test.mjs ||
        status=$?
    node tests/desktop/sweep.mjs "$dir"
    return $status
}

app_test() {
    app_test_setup
    app_test_run "$@"
}
