//! `./dev bench`: how close reads through a mount come to what the link can carry.

fn main() -> anyhow::Result<()> {
    weightless_tests::bench::main()
}
