//! What other languages know of the protocol: `docs/control.md` for people, `ui/src/protocol.ts` for the app's windows. Both
//! are written from the types; a file that is not what the types say fails here. `UPDATE=1 cargo nextest run -E
//! 'binary(schema)' --workspace` writes them.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use ts_rs::TS;
use weightless_control::accounts::*;
use weightless_control::events::*;
use weightless_control::folder::*;
use weightless_control::message::Call;
use weightless_control::mounts::*;
use weightless_control::repos::*;
use weightless_control::settings::*;
use weightless_control::stats::*;
use weightless_control::upkeep::*;
use weightless_control::{Fault, Hello, Method};

/// One method, described.
struct Described {
    name: &'static str,
    params: Value,
    reply: Value,
    params_type: String,
    reply_type: String,
}

/// Every method with its types. `Call::NAMES` says that none is missing.
fn methods(generator: &mut SchemaGenerator, types: &mut Types) -> Vec<Described> {
    fn one<M: Method + JsonSchema + TS + 'static>(generator: &mut SchemaGenerator, types: &mut Types) -> Described
    where
        M::Reply: JsonSchema + TS + 'static,
    {
        let schema = |schema: schemars::Schema| schema.to_value();
        types.add::<M>();
        types.add::<M::Reply>();
        Described {
            name: M::NAME,
            params: schema(generator.root_schema_for::<M>()),
            reply: schema(generator.root_schema_for::<M::Reply>()),
            params_type: M::schema_name().into_owned(),
            reply_type: M::Reply::schema_name().into_owned(),
        }
    }
    macro_rules! all {
        ($($method:ident)+) => { vec![$(one::<$method>(generator, types)),+] };
    }
    all![
        Hello Status AddMount Unmount SetMount UpdateMount GetFolder SetFolder Pause GetSettings SetSettings ListAccounts AddAccount
        RemoveAccount UseAccount Search DescribeRepo ListFolder GetReadme GetStats Subscribe Free Doctor Diagnose Stop
    ]
}

/// TypeScript declarations by name: the order in which ts-rs visits dependencies changes from build to build.
struct Types {
    config: ts_rs::Config,
    declarations: BTreeMap<String, String>,
}

impl Types {
    fn new() -> Self {
        // Sizes stay below 2^53, so that a JSON number holds them.
        let config = ts_rs::Config::new().with_large_int("number");
        Types { config, declarations: BTreeMap::new() }
    }

    fn add<T: TS + 'static + ?Sized>(&mut self) {
        struct Visit<'a>(&'a mut Types);
        impl ts_rs::TypeVisitor for Visit<'_> {
            fn visit<T: TS + 'static + ?Sized>(&mut self) {
                self.0.add::<T>();
            }
        }
        // Types of the language itself have no file to live in.
        if T::output_path().is_none() {
            return;
        }
        let name = T::ident(&self.config);
        if self.declarations.contains_key(&name) {
            return;
        }
        let mut text = String::new();
        for line in T::docs().unwrap_or_default().lines() {
            let _ = writeln!(text, "{}", line.trim_end());
        }
        let _ = writeln!(text, "export {}\n", T::decl(&self.config).trim_end());
        self.declarations.insert(name, text);
        T::visit_dependencies(&mut Visit(self));
    }
}

#[test]
fn the_windows_know_the_protocol_as_it_is() {
    let mut types = Types::new();
    let described = methods(&mut generator(), &mut types);
    types.add::<EventMessage>();
    types.add::<Fault>();
    let mut text = String::from(
        "// Written from the types of core/control; `UPDATE=1 cargo nextest run --workspace -E 'binary(schema)'` writes it anew.\n\n",
    );
    text.extend(types.declarations.into_values());
    text += "/** Every method: what it takes, what it gives. */\nexport interface Methods {\n";
    for method in &described {
        let _ = writeln!(
            text,
            "  \"{}\": {{ params: {}; reply: {} }};",
            method.name, method.params_type, method.reply_type
        );
    }
    text += "}\n";
    check(&root().join("ui/src/protocol.ts"), &text);
}

#[test]
fn the_document_says_what_the_types_say() {
    let described = methods(&mut generator(), &mut Types::new());
    let names: Vec<&str> = described.iter().map(|method| method.name).collect();
    assert_eq!(names, Call::NAMES);
    let mut text = String::from(INTRODUCTION);
    for method in &described {
        let _ = writeln!(text, "### `{}`\n", method.name);
        describe(&mut text, "Parameters", &method.params);
        describe(&mut text, "Result", &method.reply);
    }
    text += "## Events\n\nParameters of the notification `event`, after `subscribe`.\n\n";
    describe(&mut text, "Parameters", &generator().root_schema_for::<EventMessage>().to_value());
    text += "## Faults\n\n`error.data` of a reply with code -32000.\n\n";
    describe(&mut text, "Fields", &generator().root_schema_for::<Fault>().to_value());
    text += "## Types\n\n";
    let mut definitions = serde_json::Map::new();
    let schemas = described.iter().flat_map(|method| [&method.params, &method.reply]).cloned();
    for schema in schemas.chain([generator().root_schema_for::<EventMessage>().to_value()]) {
        definitions.extend(schema["$defs"].as_object().cloned().unwrap_or_default());
    }
    for (name, schema) in &definitions {
        let _ = writeln!(text, "### {name}\n");
        describe(&mut text, "Fields", schema);
    }
    check(&root().join("docs/control.md"), &text);
}

const INTRODUCTION: &str = "\
# The control protocol

Written from the types of `core/control` (see `core/control/tests/schema.rs`): do not edit.

The engine listens on a Unix socket, `engine.sock` in `$XDG_RUNTIME_DIR/weightless` (without that variable
`/tmp/weightless-UID`), mode 0600, and serves its own user only. Messages are JSON-RPC 2.0, one a line, at most 1 MiB, no
batches. The first request is `hello`; it settles the newest protocol that both sides speak. What a newer side adds is
passed over by an older one. A line that cannot be read gets an error and the connection ends; an unknown method or
parameters that do not fit get an error and it goes on. A request that was understood and failed has the code -32000 and a
fault as `data`. Sizes are bytes, rates bytes a second, times seconds since 1970 unless the name says otherwise.

```
→ {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\",\"params\":{\"client\":\"me 1.0\",\"protocol_oldest\":1,\"protocol_newest\":1}}
← {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocol\":1,\"version\":\"0.1.0\",\"pid\":4711}}
```

## Methods

";

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().into_generator()
}

/// A schema as a list: name, type, whether it may be absent, what it is.
fn describe(text: &mut String, title: &str, schema: &Value) {
    if let Some(about) = schema["description"].as_str() {
        let _ = writeln!(text, "{}\n", one_line(about));
    }
    let cases = schema["oneOf"].as_array().or_else(|| schema["enum"].as_array());
    if let Some(cases) = cases {
        for case in cases {
            let name = case["const"].as_str().or_else(|| case.as_str());
            let tag = case["properties"].as_object().and_then(|fields| {
                fields.iter().find_map(|(field, schema)| Some(format!("{field}: \"{}\"", schema["const"].as_str()?)))
            });
            let label = name.map(|name| format!("\"{name}\"")).or(tag).unwrap_or_else(|| kind(case));
            let _ = writeln!(text, "- `{label}`: {}", one_line(case["description"].as_str().unwrap_or_default()));
            fields(text, case, "  ");
        }
        text.push('\n');
        return;
    }
    if schema["properties"].as_object().is_none_or(serde_json::Map::is_empty) {
        let _ = writeln!(text, "{title}: none.\n");
        return;
    }
    let _ = writeln!(text, "{title}:\n");
    fields(text, schema, "");
    text.push('\n');
}

fn fields(text: &mut String, schema: &Value, indent: &str) {
    let required: BTreeSet<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        if field["const"].is_string() {
            continue;
        }
        let may = if required.contains(name.as_str()) { "" } else { ", may be absent" };
        let about = one_line(field["description"].as_str().unwrap_or_default());
        let _ = writeln!(text, "{indent}- `{name}` ({}{may}): {about}", kind(field));
    }
}

fn kind(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap_or_default().to_owned();
    }
    if let Some(any) = schema["anyOf"].as_array() {
        return any.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    let named = match &schema["type"] {
        Value::String(name) => name.clone(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    };
    if named == "array" { format!("list of {}", kind(&schema["items"])) } else { named }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn check(path: &Path, expected: &str) {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().expect("a file")).expect("its folder");
        std::fs::write(path, expected).expect("the file is written");
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(found == expected, "{} is not what the types say: run with UPDATE=1", path.display());
}
