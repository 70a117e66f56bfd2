//! The file as TOML: values out, changes in, everything that a person wrote around them kept. Knows versions, not settings.

use serde_json::{Map, Value as Json};
use toml_edit::{DocumentMut, Item, RawString, Value};

/// The version that this program writes. A file without one is of version 1: people write no version.
pub(super) const VERSION: i64 = 1 + STEPS.len() as i64;
const VERSION_KEY: &str = "version";

/// What brings a file from one version to the next, in order: the first step from 1 to 2.
const STEPS: &[Step] = &[];
type Step = fn(&mut DocumentMut);

/// What a new file begins with.
const HEADER: &str = "\
# Settings of Weightless. What is absent has its default; `weightless config` shows all names, values and defaults.
";

/// A settings file, brought to this version.
#[derive(Debug, Clone)]
pub(super) struct Document {
    toml: DocumentMut,
    version: Version,
}

/// Which version a file says it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// This one, or one that was brought here.
    Known,
    /// One that this program does not know: to be read, not to be written.
    Newer(i64),
    /// Something that is no version.
    Wrong,
}

/// Where and why a file is not TOML. Never repeats the line: a proxy's password may stand in it.
#[derive(Debug)]
pub(super) struct NotToml {
    pub(super) line: usize,
    pub(super) reason: String,
}

impl Document {
    /// `None` is a file that is not there.
    pub(super) fn parse(content: Option<&[u8]>) -> Result<Self, NotToml> {
        Document::parse_with(content, STEPS)
    }

    fn parse_with(content: Option<&[u8]>, steps: &[Step]) -> Result<Self, NotToml> {
        let content = content.unwrap_or(HEADER.as_bytes());
        let line =
            |offset: usize| 1 + content[..offset.min(content.len())].iter().filter(|byte| **byte == b'\n').count();
        let text = std::str::from_utf8(content)
            .map_err(|error| NotToml { line: line(error.valid_up_to()), reason: "it is not UTF-8".to_owned() })?;
        let mut toml = text.parse::<DocumentMut>().map_err(|error| NotToml {
            line: line(error.span().map_or(0, |span| span.start)),
            reason: error.message().lines().next().unwrap_or_default().to_owned(),
        })?;
        let newest = 1 + steps.len() as i64;
        let version = match toml.get(VERSION_KEY).map(Item::as_integer) {
            None => Ok(1),
            Some(Some(version)) if version > newest => Err(Version::Newer(version)),
            Some(Some(version)) if version >= 1 => Ok(version),
            Some(_) => Err(Version::Wrong),
        };
        let version = match version {
            Err(version) => version,
            Ok(version) => {
                for step in steps.iter().skip(usize::try_from(version - 1).unwrap_or(usize::MAX)) {
                    step(&mut toml);
                }
                if version < newest {
                    put(&mut toml, VERSION_KEY, newest.into());
                }
                Version::Known
            }
        };
        Ok(Document { toml, version })
    }

    pub(super) fn version(&self) -> Version {
        self.version
    }

    /// Every value but the version, in the file's order.
    pub(super) fn values(&self) -> impl Iterator<Item = (&str, Json)> {
        self.toml.iter().filter(|(name, _)| *name != VERSION_KEY).map(|(name, item)| (name, json(item)))
    }

    /// Puts a value, or takes it out if it is `null`; the file then says which version it has.
    pub(super) fn change(&mut self, name: &str, value: &Json) {
        let value = match value {
            Json::Null => None,
            Json::Number(number) => number.as_i64().map(Value::from),
            Json::String(text) => Some(Value::from(text.as_str())),
            Json::Bool(is) => Some(Value::from(*is)),
            // No setting is a list or a table; a rule has refused it.
            Json::Array(_) | Json::Object(_) => return,
        };
        if self.toml.get(VERSION_KEY).is_none_or(|_| self.version == Version::Wrong) {
            put(&mut self.toml, VERSION_KEY, VERSION.into());
            self.version = Version::Known;
        }
        match value {
            Some(value) => put(&mut self.toml, name, value),
            None => take(&mut self.toml, name),
        }
    }

    pub(super) fn text(&self) -> String {
        self.toml.to_string()
    }
}

/// Whether they are the same file.
impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

/// Puts a value where the name stands, else at the end of what is no table; comments around it stay.
fn put(toml: &mut DocumentMut, name: &str, mut value: Value) {
    if let Some(old) = toml.get_mut(name).and_then(Item::as_value_mut) {
        *value.decor_mut() = old.decor().clone();
        *old = value;
        return;
    }
    // In a file of comments alone they are what follows the last value, and would move behind the first.
    let comments = if toml.is_empty() { text(Some(toml.trailing())) } else { String::new() };
    toml.insert(name, Item::Value(value));
    if !comments.is_empty() {
        toml.set_trailing("");
        if let Some(mut key) = toml.key_mut(name) {
            key.leaf_decor_mut().set_prefix(comments);
        }
    }
}

/// Takes a value out; the comments above and behind it stay, above what follows.
fn take(toml: &mut DocumentMut, name: &str) {
    let next = toml.iter().skip_while(|(key, _)| *key != name).nth(1).map(|(key, _)| key.to_owned());
    let Some((key, item)) = toml.remove_entry(name) else { return };
    let mut comments = text(key.leaf_decor().prefix());
    let behind = text(item.as_value().and_then(|value| value.decor().suffix()));
    if behind.trim_start().starts_with('#') {
        comments.push_str(behind.trim_start());
        comments.push('\n');
    }
    if comments.trim().is_empty() {
        return;
    }
    let next = next.as_deref();
    match next.and_then(|next| toml.get_mut(next)) {
        Some(Item::Table(table)) if !table.is_dotted() => {
            let before = text(table.decor().prefix());
            table.decor_mut().set_prefix(comments + &before);
        }
        Some(Item::Value(_)) => {
            if let Some(mut key) = next.and_then(|next| toml.key_mut(next)) {
                let before = text(key.leaf_decor().prefix());
                key.leaf_decor_mut().set_prefix(comments + &before);
            }
        }
        _ => {
            let before = text(Some(toml.trailing()));
            toml.set_trailing(comments + &before);
        }
    }
}

fn text(raw: Option<&RawString>) -> String {
    raw.and_then(RawString::as_str).unwrap_or_default().to_owned()
}

/// A TOML value as JSON: times become texts, tables and lists are told apart and no more.
fn json(item: &Item) -> Json {
    match item {
        Item::None => Json::Null,
        Item::Value(Value::Integer(number)) => (*number.value()).into(),
        Item::Value(Value::Float(number)) => (*number.value()).into(),
        Item::Value(Value::String(text)) => text.value().as_str().into(),
        Item::Value(Value::Boolean(is)) => (*is.value()).into(),
        Item::Value(Value::Datetime(time)) => time.value().to_string().into(),
        Item::Value(Value::Array(_)) | Item::ArrayOfTables(_) => Json::Array(Vec::new()),
        Item::Value(Value::InlineTable(_)) | Item::Table(_) => Json::Object(Map::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_change_leaves_everything_else_as_a_person_wrote_it() {
        #[track_caller]
        fn check(before: &str, name: &str, value: Json, after: &str) {
            let mut document = Document::parse(Some(before.as_bytes())).unwrap();
            document.change(name, &value);
            assert_eq!(document.text(), after);
        }
        let rich = "# top\nversion = 1\n\n# mine\na = 1 # why\n# theirs\nb = \"x\"\n\n[other]\nc = 1 # stays\n# end\n";
        check(rich, "a", json!(2), &rich.replace("a = 1", "a = 2"));
        check(rich, "b", json!("y\"z"), &rich.replace("\"x\"", "'y\"z'"));
        check(rich, "d", json!(true), &rich.replace("\"x\"\n", "\"x\"\nd = true\n"));
        check(rich, "a", json!(null), &rich.replace("a = 1 # why\n", "# why\n"));
        check(rich, "b", json!(null), &rich.replace("b = \"x\"\n", ""));
        check(rich, "none", json!(null), rich);
        check("version = 1\na = 1\n# end\n", "a", json!(null), "version = 1\n# end\n");
        check("version = 1\n# last\na = 1", "a", json!(null), "version = 1\n# last\n");
        check("a = 1", "a", json!(2), "a = 2\nversion = 1\n");
        check("# only words\n", "a", json!(2), "# only words\nversion = 1\na = 2\n");
        check("", "a", json!(2), "version = 1\na = 2\n");
        check("version = \"x\" # ?\n", "a", json!(2), "version = 1 # ?\na = 2\n");
        let mut new = Document::parse(None).unwrap();
        new.change("a", &json!(1));
        assert_eq!(new.text(), format!("{HEADER}version = 1\na = 1\n"));
    }

    #[test]
    fn a_file_that_is_not_toml_is_told_by_its_line_and_not_repeated() {
        #[track_caller]
        fn check(content: &[u8], line: usize) {
            let error = Document::parse(Some(content)).unwrap_err();
            assert_eq!(error.line, line, "{error:?}");
            assert!(!error.reason.is_empty() && !error.reason.contains("secret"), "{error:?}");
        }
        check(b"a = 1\nb", 2);
        check(b"a = 1\n\nproxy = http://me:secret@proxy\n", 3);
        check(b"proxy = \"http://me:secret@proxy\n", 1);
        check(b"a = 1\nb = 2\na = 3\n", 3);
        check(b"a = 1\nb = \"\xff\"\n", 2);
        check(b"{\n", 1);
    }

    #[test]
    fn an_old_file_is_brought_here_step_by_step_and_a_new_one_is_left_alone() {
        const STEPS: &[Step] = &[
            |toml| {
                if let Some((key, item)) = toml.remove_entry("old") {
                    toml.insert_formatted(&toml_edit::Key::new("new").with_leaf_decor(key.leaf_decor().clone()), item);
                }
            },
            |toml| put(toml, "third", 3.into()),
        ];
        #[track_caller]
        fn check(before: &str, version: Version, after: &str) {
            let document = Document::parse_with(Some(before.as_bytes()), STEPS).unwrap();
            assert_eq!((document.version(), document.text().as_str()), (version, after));
        }
        check("# c\nold = 7\n", Version::Known, "# c\nnew = 7\nthird = 3\nversion = 3\n");
        check("version = 1\nold = 7\n", Version::Known, "version = 3\nnew = 7\nthird = 3\n");
        check("version = 2\nold = 7\n", Version::Known, "version = 3\nold = 7\nthird = 3\n");
        check("version = 3\nold = 7\n", Version::Known, "version = 3\nold = 7\n");
        check("version = 4\nold = 7\n", Version::Newer(4), "version = 4\nold = 7\n");
        check("version = 0\n", Version::Wrong, "version = 0\n");
        check("version = \"1\"\n", Version::Wrong, "version = \"1\"\n");
    }
}
