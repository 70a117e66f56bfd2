# ./dev bench: the benchmarks of weightless-tests, built as the product is released.
# shellcheck shell=bash

dev_bench() {
    need_rust
    need_fuse
    cargo build --release -p weightless-cli -p weightless-tests --bins
    exec "${CARGO_TARGET_DIR:-target}/release/bench" "$@"
}
