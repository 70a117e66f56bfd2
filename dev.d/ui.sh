# ./dev ui: the window in a browser, on a simulated engine; also builds and tests it for other verbs.
# shellcheck shell=bash

UI_NODE_MIN=20

need_node() {
    command -v npm >/dev/null || die "Node.js is missing: get $UI_NODE_MIN or newer from https://nodejs.org or your system's packages."
    local have
    have=$(node --version | sed 's/^v//; s/\..*//')
    [ "$have" -ge "$UI_NODE_MIN" ] || die "Node.js $have is too old: $UI_NODE_MIN or newer is needed."
}

ui_install() { npm_install ui; }

# npm_install FOLDER: npm ci takes all of node_modules away first, so only when the lock is another one.
npm_install() {
    need_node
    cmp -s "$1/package-lock.json" "$1/node_modules/.lock.done" && return
    say "installing the packages of $1/"
    (cd "$1" && npm ci --silent)
    cp "$1/package-lock.json" "$1/node_modules/.lock.done"
}

# The product's bundle in ui/dist, which src-tauri embeds. Skipped if nothing that it is made of is newer.
ui_build() {
    ui_install
    # Not inside dist, which the app embeds as it is.
    local done=ui/node_modules/.dist.done
    # Without assets it is the page that stands in for it (src-tauri/build.rs).
    if [ -d ui/dist/assets ] && [ -f $done ] &&
        [ -z "$(find ui icons/src \( -path ui/node_modules -o -path ui/dist \) -prune -o -type f -newer $done -print -quit)" ]; then
        return
    fi
    (cd ui && npm run --silent build)
    touch $done
}

ui_test() {
    ui_parts
    parts_end
}

# Generous budgets: they share two cores with whatever else runs.
ui_parts() {
    ui_install
    need chromium
    part "window: types" 4 npm --prefix ui run --silent check
    part "window: components" 4 npm --prefix ui run --silent test
    part "window: in a browser" 8 npm --prefix ui run --silent e2e
    part "window: bundle" 3 ui_build
}

# `./dev ui shots FOLDER` takes pictures of every section; else serves it, with `?scenario=busy` and others.
dev_ui() {
    ui_install
    if [ "${1:-}" = shots ]; then
        need chromium
        shift
        local folder
        folder=$(realpath "${1:?a folder for the pictures}")
        exec npm --prefix ui run --silent shots -- "$folder" "${@:2}"
    fi
    say "scenarios: ?scenario=usual, empty, busy, error, first-run, first-run-no-driver, no-keychain, starting, lost, failed"
    cd ui || exit
    exec node node_modules/vite/bin/vite.js --mode simulated "$@"
}
