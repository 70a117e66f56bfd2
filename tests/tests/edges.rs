//! The allowed edges between our crates, so that `plan` stays without a runtime and `core` without an OS. Reads
//! `cargo metadata` and builds nothing.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Every edge that may exist in a build of the product: `from → to`.
const PRODUCT_EDGES: &[(&str, &str)] = &[
    ("weightless-core", "weightless-plan"),
    ("weightless-core", "weightless-control"),
    ("weightless-platform", "weightless-core"),
    ("weightless-cli", "weightless-platform"),
    ("weightless-cli", "weightless-core"),
    ("weightless-cli", "weightless-control"),
    ("weightless-desktop", "weightless-control"),
    // `weightless demo` serves a Hub of its own.
    ("weightless-cli", "weightless-hub-sim"),
];

/// Edges that only tests may have, beside those of the product.
const TEST_EDGES: &[(&str, &str)] = &[
    ("weightless-core", "weightless-hub-sim"),
    ("weightless-platform", "weightless-hub-sim"),
    // Itself, with the feature that its tests are about.
    ("weightless-control", "weightless-control"),
];

/// The crates of tests, which may use everything.
const TEST_CRATES: &[&str] = &["weightless-tests"];

/// What a crate may not take from outside: any name that starts with one of these.
const FORBIDDEN_OUTSIDE: &[(&str, &[&str])] = &[
    ("weightless-plan", &[""]),
    ("weightless-control", &["fuser", "winfsp", "hf-hub", "xet-", "reqwest"]),
    ("weightless-core", &["fuser", "winfsp", "nix", "libc", "windows", "clap"]),
    ("weightless-platform", &["hf-hub", "xet-", "reqwest", "clap"]),
    ("weightless-cli", &["fuser", "winfsp", "hf-hub", "xet-", "reqwest"]),
    ("weightless-desktop", &["fuser", "winfsp", "hf-hub", "xet-", "reqwest", "keyring"]),
    ("weightless-hub-sim", &["fuser", "winfsp"]),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Product,
    Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Edge {
    from: String,
    to: String,
    kind: Kind,
}

#[test]
fn crates_depend_on_each_other_only_as_the_design_allows() {
    let (ours, edges) = declared();
    assert!(ours.len() >= 8, "not the whole workspace: {ours:?}");
    assert!(edges.iter().any(|edge| edge.from == "weightless-core" && edge.to == "weightless-plan"));
    let found: Vec<String> = edges.iter().filter_map(|edge| violation(&ours, edge)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn an_edge_against_the_design_is_found() {
    let ours: BTreeSet<String> = ["plan", "control", "core", "platform", "cli", "tests", "hub-sim", "desktop"]
        .map(|name| format!("weightless-{name}"))
        .into();
    let check = |from: &str, to: &str, kind: Kind, allowed: bool| {
        let edge = Edge { from: from.into(), to: to.into(), kind };
        assert_eq!(violation(&ours, &edge).is_none(), allowed, "{edge:?}");
    };
    use Kind::{Product, Test};
    check("weightless-core", "weightless-plan", Product, true);
    check("weightless-core", "weightless-platform", Product, false);
    check("weightless-core", "weightless-platform", Test, false);
    check("weightless-core", "weightless-hub-sim", Product, false);
    check("weightless-core", "weightless-hub-sim", Test, true);
    check("weightless-plan", "weightless-core", Test, false);
    check("weightless-platform", "weightless-plan", Product, false);
    check("weightless-cli", "weightless-hub-sim", Product, true);
    check("weightless-tests", "weightless-plan", Product, true);
    check("weightless-desktop", "weightless-core", Product, false);
    check("weightless-plan", "tokio", Product, false);
    check("weightless-plan", "rand", Test, true);
    check("weightless-core", "libc", Product, false);
    check("weightless-platform", "fuser", Product, true);
    check("weightless-cli", "xet-client", Product, false);
}

/// What is wrong with this edge, in words; `None` if it is allowed.
fn violation(ours: &BTreeSet<String>, edge: &Edge) -> Option<String> {
    let Edge { from, to, kind } = edge;
    let pair = (from.as_str(), to.as_str());
    if ours.contains(to) {
        let allowed = PRODUCT_EDGES.contains(&pair)
            || TEST_CRATES.contains(&from.as_str())
            || (*kind == Kind::Test && TEST_EDGES.contains(&pair));
        return (!allowed).then(|| format!("{from} → {to} is not an allowed edge ({kind:?})"));
    }
    if *kind == Kind::Test {
        return None;
    }
    let (_, forbidden) = FORBIDDEN_OUTSIDE.iter().find(|(name, _)| name == from)?;
    forbidden.iter().any(|start| to.starts_with(start)).then(|| format!("{from} must not use {to}"))
}

/// The members of this workspace and what their manifests declare, optional and target-specific dependencies included.
fn declared() -> (BTreeSet<String>, Vec<Edge>) {
    let manifest =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is in the workspace").join("Cargo.toml");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--no-deps", "--offline", "--manifest-path"])
        .arg(manifest)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let name = |value: &Value| value["name"].as_str().expect("a name").to_owned();
    let ours = packages.iter().map(name).collect();
    let edges = packages
        .iter()
        .flat_map(|package| {
            let dependencies = package["dependencies"].as_array().expect("dependencies");
            dependencies.iter().map(move |dependency| Edge {
                from: name(package),
                to: name(dependency),
                kind: if dependency["kind"] == "dev" { Kind::Test } else { Kind::Product },
            })
        })
        .collect();
    (ours, edges)
}
