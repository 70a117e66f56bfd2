# ./dev bench: the benchmarks of weightless-tests, built as the product is released; `short` is the part for every change.
# shellcheck shell=bash

# Parts of the link that the short bench must reach, far below what an idle machine shows (0.33 to 0.70, and 0.03): they
# catch a reader that has stopped reading ahead, not one that became a little slower.
WHOLE_FLOOR=0.15
PREAD_FLOOR=0.01

dev_bench() {
    need_workspace
    need_fuse
    if [ "${1:-}" = short ]; then
        bench_short
    else
        cargo build --release --workspace --bin weightless --bin bench
        exec "${CARGO_TARGET_DIR:-target}/release/bench" "$@"
    fi
}

# In the profile of the tests, whose hot crates are optimised as well: the release profile would build everything again.
bench_short() {
    cargo build --workspace --bin weightless --bin bench
    local bench=${CARGO_TARGET_DIR:-target}/debug/bench
    "$bench" whole-50mb whole-270mb whole-500mb --runs 2 --floor "$WHOLE_FLOOR"
    "$bench" pread-1 pread-8 --runs 1 --floor "$PREAD_FLOOR"
}
