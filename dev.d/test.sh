# ./dev test: every test once as who you are, and, when that is root, what meets the kernel again as an ordinary user.
# shellcheck shell=bash
# shellcheck source=dev.d/app.sh
source dev.d/app.sh

# Packages whose tests mount, or run the binary: root may do what users may not, so both must be seen.
USER_TESTS='(package(weightless-platform) + package(weightless-cli) + package(weightless-tests)) - binary(edges)'

dev_test() {
    local name=${1:-all}
    [ $# = 0 ] || shift
    case "$name" in
        all) test_all "$@" ;;
        plan) test_one weightless-plan "$@" ;;
        reader) test_one weightless-core "$@" ;;
        hub) test_one weightless-hub-sim "$@" ;;
        fuse) test_one weightless-platform "$@" ;;
        cli) test_one weightless-cli "$@" ;;
        promises) test_one weightless-tests "$@" ;;
        python)
            test_setup
            # With the whole workspace's features, as ./dev run and the tests build them.
            cargo build --workspace --bin weightless --bin hub-sim
            test_python "$@"
            ;;
        ui) ui_test ;;
        desktop) app_test "$@" ;;
        *) die "unknown part: $name (all plan reader hub fuse cli promises python ui desktop)" ;;
    esac
}

test_setup() {
    need_workspace
    need_cargo_tool nextest
    need_fuse
    need rsync ripgrep:rg attr:getfattr git dbus-x11:dbus-run-session gnome-keyring:gnome-keyring-daemon
    WEIGHTLESS_PYTHON=$(python_env tests tests/python/requirements.txt)
    export WEIGHTLESS_PYTHON
    # Without it the tests on the real model fall back to a generated one.
    if model=$(demo_model); then export WEIGHTLESS_DEMO_MODEL=$model; fi
}

test_all() {
    test_setup
    python_env package python/tests/requirements.txt >/dev/null
    part "build tests" 25 cargo nextest run --workspace --no-run
    if is_root; then
        part "tests as root" 15 cargo nextest run --workspace "$@"
        part "tests as an ordinary user" 10 run_as_user "$@"
    else
        part "tests" 15 cargo nextest run --workspace "$@"
    fi
    # A filter of nextest means one of its tests.
    if [ $# = 0 ]; then
        part "Python package" 3 test_python
        ui_parts
        part "desktop app: build" 6 app_test_setup
        part "desktop app: in a real window" 6 app_test_run
    fi
    parts_end
}

# weightless-cli comes along for its features: with it the dependencies are those of the whole workspace, built once.
test_one() {
    local package=$1
    shift
    if [ "$package" = weightless-plan ]; then
        need_rust
        need_cargo_tool nextest
        cargo nextest run -p "$package" "$@"
    else
        test_setup
        cargo nextest run -p "$package" -p weightless-cli -E "package($package)" "$@"
    fi
}

# The package in python/, from its sources, against the programs that were built before. Writes nothing there.
test_python() {
    local python built=${CARGO_TARGET_DIR:-$ROOT/target}/debug
    python=$(python_env package python/tests/requirements.txt)
    WEIGHTLESS_BIN=$built/weightless WEIGHTLESS_HUB_SIM=$built/hub-sim \
        PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/python/src "$python" -m pytest -q python "$@"
}

# The binaries that root has just built, run as `nobody`: nextest starts them, and lists them, through a runner.
run_as_user() {
    need util-linux:setpriv
    local host home
    host=$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')
    home=$(mktemp -d /tmp/weightless-user.XXXXXX)
    mkdir -m 700 "$home/run" "$home/tmp"
    chmod 755 "$home"
    chown -R nobody: "$home"
    export WEIGHTLESS_USER_HOME=$home
    # By the global name: `home` is gone when the subshell ends.
    trap 'rm -rf "$WEIGHTLESS_USER_HOME"' EXIT
    export "CARGO_TARGET_${host}_RUNNER=$ROOT/dev.d/as-user.sh"
    unshare --mount --propagation private dev.d/user-view.sh "$ROOT" "${CARGO_TARGET_DIR:-$ROOT}" "$WEIGHTLESS_DEV_CACHE" -- \
        cargo nextest run --workspace -E "$USER_TESTS" "$@"
}
