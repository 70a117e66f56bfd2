# ./dev check: what a reader of the code and its dependencies relies on; runs no product code but the edges test.
# shellcheck shell=bash

dev_check() {
    need_workspace
    need_cargo_tool nextest
    need_cargo_tool deny
    part "format" 1 cargo fmt --all --check
    part "shell scripts" 1 check_shell
    part "Python package" 1 check_python
    part "licences and bans" 3 check_deny
    part "clippy" 15 cargo clippy --workspace --all-targets -- -D warnings
    part "documentation" 4 check_doc
    # The whole workspace, so that dependencies are built with the features that the tests build them with: once.
    part "crate edges" 25 cargo nextest run --workspace -E "binary(edges)"
    parts_end
}

check_doc() { RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items; }

check_shell() {
    need shellcheck
    git ls-files dev .ci "*.sh" "*/fakecc" "*/fakear" | xargs shellcheck -x
}

check_python() {
    local python
    python=$(python_env package python/tests/requirements.txt)
    "$python" -m ruff check --no-cache python
    "$python" -m ruff format --no-cache --check python
    check_types linux src tests
    # The module of the named pipe is looked at there alone.
    check_types win32 src
}

# check_types SYSTEM FOLDER...: mypy, as if on SYSTEM. Uses `python` of its caller.
check_types() {
    (cd python && "$python" -m mypy --cache-dir "$WEIGHTLESS_DEV_CACHE/mypy-$1" --platform "$@")
}

# Advisories need the RustSec database, which is fetched from its own host: asked for by hand, where that can be reached.
check_deny() {
    cargo-deny --all-features check --hide-inclusion-graph licenses bans sources
    say "advisories are not part of this: \`cargo deny check advisories\` where its database can be reached"
}
