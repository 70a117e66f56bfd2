# ./dev check-cross: the product's crates type-checked for Windows and macOS, on Linux. Links and runs nothing.
# shellcheck shell=bash

CROSS_TARGETS=(x86_64-pc-windows-gnu aarch64-apple-darwin)
CROSS_CRATES=(weightless-plan weightless-control weightless-core weightless-platform weightless-cli)

# Debian's compiler comes with std's source, so std can be made for any target. rustup would fetch a finished one; where
# that is possible, `rustup target add` and `cargo check --target` do the same with less.
CROSS_RUSTC=/usr/bin/rustc
CROSS_CARGO=/usr/bin/cargo

dev_check_cross() {
    need build-essential:cc pkg-config rustc-web:$CROSS_RUSTC cargo-web:$CROSS_CARGO \
        rust-web-src:/usr/lib/rustlib/src/rust/library
    local target
    for target in "${@:-${CROSS_TARGETS[@]}}"; do
        part "std for $target" 4 cross_std "$target"
        part "check for $target" 12 cross_check "$target"
    done
    parts_end
}

# A folder that rustc takes for its own (`--sysroot`), one per compiler version, so that /usr stays as packaged.
cross_sysroot() {
    echo "$WEIGHTLESS_DEV_CACHE/cross/$("$CROSS_RUSTC" -V | cut -d' ' -f2)"
}

# std's metadata for a target, made once. No object code: enough to check against, not to link.
cross_std() {
    local target=$1 sysroot lib work
    sysroot=$(cross_sysroot)
    lib=$sysroot/lib/rustlib/$target/lib
    [ ! -d "$lib" ] || return 0
    work=$(mktemp -d)
    mkdir "$work/src"
    touch "$work/src/lib.rs"
    printf '[package]\nname = "onlystd"\nversion = "0.0.0"\nedition = "2024"\n' >"$work/Cargo.toml"
    # -Z on a stable compiler: this builds the compiler's own library, which may use what is unstable.
    (cd "$work" && RUSTC_BOOTSTRAP=1 RUSTC=$CROSS_RUSTC "$CROSS_CARGO" check --quiet --target "$target" \
        --target-dir "$work/target" -Z build-std=std,panic_abort,proc_macro,test)
    mkdir -p "$lib.new"
    cp "$work/target/$target"/debug/deps/*.rmeta "$lib.new"
    rm -rf "$lib.new"/libonlystd-* "$work"
    mv "$lib.new" "$lib"
}

cross_check() {
    local target=$1 sysroot name upper packages=() crate
    sysroot=$(cross_sysroot)
    name=${target//-/_}
    upper=${name^^}
    for crate in "${CROSS_CRATES[@]}"; do packages+=(-p "$crate"); done
    # C sources of dependencies are not compiled: a check reads no object file.
    env "CC_$name=$ROOT/dev.d/cross/fakecc" "CXX_$name=$ROOT/dev.d/cross/fakecc" "AR_$name=$ROOT/dev.d/cross/fakear" \
        "CARGO_TARGET_${upper}_RUSTFLAGS=--sysroot=$sysroot" \
        PKG_CONFIG_ALLOW_CROSS=1 PKG_CONFIG_PATH="$ROOT/dev.d/cross" \
        RUSTC="$CROSS_RUSTC" "$CROSS_CARGO" check --target "$target" --target-dir target/cross "${packages[@]}"
}
