//! The repos that `weightless demo` and `hub-sim` show: a small model, a dataset, and one repo of each right.

use std::io;
use std::path::Path;

use serde_json::{Map, json};

use crate::{Content, RepoDef};

/// Id of the model among the demo's repos.
pub const DEMO_MODEL: &str = "demo/all-MiniLM-L6-v2";

/// The demo's repos. `model_dir` holds the files of all-MiniLM-L6-v2; without it, its tensors' shapes are filled with
/// generated numbers.
pub fn demo_repos(model_dir: Option<&Path>) -> io::Result<Vec<RepoDef>> {
    let model = RepoDef::model(DEMO_MODEL)
        .license("apache-2.0")
        .pipeline_tag("sentence-similarity")
        .library("sentence-transformers")
        .downloads(120_000_000)
        .likes(4_000);
    let model = match model_dir {
        Some(dir) => model.dir(dir)?,
        None => generated_model(model),
    };
    let dataset = (0..4).fold(
        RepoDef::dataset("demo/numbers")
            .license("cc0-1.0")
            .downloads(1_000)
            .file("README.md", "---\nlicense: cc0-1.0\n---\n# Numbers\n\nFour tables of squares.\n"),
        |dataset, part| dataset.file(format!("data/part-{part:05}.csv"), squares(part)),
    );
    Ok(vec![
        model.commit("Add model"),
        dataset,
        RepoDef::model("demo/gated")
            .gated()
            .license("llama3")
            .file("README.md", "# Behind a licence\n")
            .file("model.safetensors", tensors(2, 1 << 20)),
        RepoDef::model("demo/private")
            .private()
            .file("README.md", "# For members\n")
            .file("model.safetensors", tensors(3, 1 << 20)),
        RepoDef::space("demo/space").file("README.md", "---\nsdk: static\n---\n").file("index.html", "<p>hello</p>\n"),
    ])
}

fn generated_model(model: RepoDef) -> RepoDef {
    model
        .file("README.md", "---\nlicense: apache-2.0\n---\n# Generated tensors\n\nThe weights mean nothing.\n")
        .file("config.json", "{\"model_type\": \"bert\", \"hidden_size\": 384}\n")
        .file("model.safetensors", tensors(1, 22 << 20))
}

/// A safetensors file of eight F32 tensors with `floats` numbers in all.
fn tensors(seed: u64, floats: usize) -> Content {
    let each = floats / 8;
    let mut header = Map::new();
    for index in 0..8 {
        let offsets = [index * each * 4, (index + 1) * each * 4];
        let tensor = json!({ "dtype": "F32", "shape": [each], "data_offsets": offsets });
        header.insert(format!("layer.{index}.weight"), tensor);
    }
    let mut header = serde_json::Value::Object(header).to_string();
    // The data starts at a multiple of eight.
    header.push_str(&" ".repeat((8 - header.len() % 8) % 8));
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.reserve(each * 8 * 4);
    let mut state = seed;
    for _ in 0..each * 8 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // The top 24 bits as a number from -1 to 1.
        let number = (state >> 40) as f32 / f32::from(1_u16 << 15) / 256.0 - 1.0;
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    Content::bytes(bytes)
}

fn squares(part: u64) -> String {
    let rows = (part * 20_000..(part + 1) * 20_000).map(|number| format!("{number},{}\n", number * number));
    std::iter::once("number,square\n".to_owned()).chain(rows).collect()
}
