//! A secret that is sent as `Authorization: Bearer`, and where the user's own is found. Never printed, never written.

use crate::net::Env;
use crate::{Error, ErrorKind, Result};
use reqwest::header::HeaderValue;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Longest token that is believed, in bytes; the Hub's are 37, OAuth and Xet tokens a few kilobytes.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// A bearer token: the user's for the Hub, or a short-lived one for the data service. Opaque; its `Debug` prints nothing
/// of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(HeaderValue);

impl Token {
    /// A token from its text, white space around it removed. Fails on what no header can carry.
    pub fn new(text: &str) -> Result<Self> {
        let text = text.trim();
        if text.is_empty() || text.len() > TOKEN_BYTES_MAX || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(no_token(""));
        }
        let mut header = HeaderValue::from_str(&format!("Bearer {text}")).map_err(|_| no_token(""))?;
        header.set_sensitive(true);
        Ok(Token(header))
    }

    /// The value of the `Authorization` header, marked as sensitive.
    pub fn bearer(&self) -> HeaderValue {
        self.0.clone()
    }

    /// The token itself, for the keychain.
    pub(crate) fn secret(&self) -> &str {
        self.0.to_str().ok().and_then(|header| header.strip_prefix("Bearer ")).unwrap_or_default()
    }

    /// Reads a token file: the first line that is not empty. A file that cannot be read is an error that names it.
    pub fn from_file(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let mut text = String::new();
        std::fs::File::open(path)
            .and_then(|file| file.take(TOKEN_BYTES_MAX as u64 + 1).read_to_string(&mut text))
            .map_err(|error| unreadable(&name, error))?;
        let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        Token::new(line).map_err(|_| no_token(&name))
    }

    /// Finds the user's token as the Hub's own tools do: the given file, `HF_TOKEN`, the file `HF_TOKEN_PATH`, the file
    /// `token` in `HF_HOME` (else `~/.cache/huggingface`) that `hf auth login` writes. `None`: not logged in.
    ///
    /// A file that was named must hold a token; the one of `hf auth login` may be missing.
    pub fn find(file: Option<&Path>, env: Env<'_>) -> Result<Option<Self>> {
        if let Some(file) = file {
            return Token::from_file(file).map(Some);
        }
        first(&Offer::all(env))
    }
}

/// A place where the user's own token may lie, beside our keychain.
#[derive(Clone, PartialEq, Eq)]
pub enum Offer {
    /// An environment variable that is set, and what it holds.
    Variable {
        /// `HF_TOKEN`, or its older name.
        name: &'static str,
        /// What is hoped to be a token.
        text: String,
    },
    /// A file, which may be missing or empty: nobody is logged in then.
    File(PathBuf),
}

impl Offer {
    /// The places in the order in which the Hub's own tools look; touches no file.
    pub fn all(env: Env<'_>) -> Vec<Self> {
        let variable = |name| env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let from_variable = |name| variable(name).map(|text| Offer::Variable { name, text });
        let mut offers = Vec::new();
        offers.extend(from_variable("HF_TOKEN").or_else(|| from_variable("HUGGING_FACE_HUB_TOKEN")));
        if variable("HF_HUB_DISABLE_IMPLICIT_TOKEN").is_some_and(|value| is_true(&value)) {
            return offers;
        }
        let home = || variable("HOME").or_else(|| variable("USERPROFILE"));
        let expand = |path: String| match (path.strip_prefix("~/"), home()) {
            (Some(rest), Some(home)) => Path::new(&home).join(rest),
            _ => PathBuf::from(path),
        };
        let cache = || {
            variable("HF_HOME")
                .map(expand)
                .or_else(|| variable("XDG_CACHE_HOME").map(|cache| expand(cache).join("huggingface")))
                .or_else(|| home().map(|home| Path::new(&home).join(".cache/huggingface")))
        };
        let file = variable("HF_TOKEN_PATH").map(expand).or_else(|| cache().map(|home| home.join("token")));
        offers.extend(file.map(Offer::File));
        offers
    }

    /// What the place is called where it is shown: the variable's name, the file's path.
    pub fn name(&self) -> String {
        match self {
            Offer::Variable { name, .. } => (*name).to_owned(),
            Offer::File(path) => path.display().to_string(),
        }
    }

    /// The token, if there is one. Reads the file.
    ///
    /// # Errors
    /// What lies there is no token, or the file cannot be read.
    pub fn token(&self) -> Result<Option<Token>> {
        let path = match self {
            Offer::Variable { name, text } => {
                return Token::new(text).map(Some).map_err(|_| no_token(name));
            }
            Offer::File(path) => path,
        };
        // An empty file is what a log-out leaves behind.
        match std::fs::metadata(path) {
            Ok(file) if file.len() > 0 => Token::from_file(path).map(Some),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unreadable(&path.display().to_string(), error)),
        }
    }
}

/// Names the place, and nothing of what lies there.
impl fmt::Debug for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Offer({})", self.name())
    }
}

/// The token that the Hub's own tools would use: that of the first place which has one.
pub(crate) fn first(offers: &[Offer]) -> Result<Option<Token>> {
    offers.iter().find_map(|offer| offer.token().transpose()).transpose()
}

/// What lies at `place` is no token; the place is empty where it is clear.
fn no_token(place: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, place).saying("this is no token").advise("A token is one word, such as hf_….")
}

fn unreadable(place: &str, error: std::io::Error) -> Error {
    Error::new(ErrorKind::InvalidInput, place)
        .saying(format!("the token file cannot be read: {error}"))
        .advise("")
        .because(error)
}

fn is_true(value: &str) -> bool {
    matches!(value.to_ascii_uppercase().as_str(), "1" | "ON" | "YES" | "TRUE")
}

/// Tells that it is one, and nothing of it.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(token: &Token) -> String {
        token.bearer().to_str().unwrap().to_owned()
    }

    #[test]
    fn a_token_is_never_printed() {
        let token = Token::new("hf_secretsecret").unwrap();
        let header = token.bearer();
        assert_eq!(format!("{token:?} {header:?}"), "Token Sensitive");
        for wrong in ["", " ", "two words", "line\nline", "hf_\u{e9}"] {
            assert!(Token::new(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_token_is_found_where_the_hubs_own_tools_keep_it() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, content: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, content).unwrap();
            path.display().to_string()
        };
        let given = put("given", "\n hf_given \n");
        let named = put("named", "hf_named");
        let empty = put("empty", "");
        put("home/token", "hf_home\n");
        put("user/.cache/huggingface/token", "hf_user");
        put("xdg/huggingface/token", "hf_xdg");
        let at = |name: &str| dir.path().join(name).display().to_string();
        let none = None::<&str>;
        for (file, env, expected) in [
            (Some(given.as_str()), vec![("HF_TOKEN", "hf_env".to_owned())], Some("hf_given")),
            (none, vec![("HF_TOKEN", " hf_env\n".into()), ("HF_TOKEN_PATH", named.clone())], Some("hf_env")),
            (none, vec![("HUGGING_FACE_HUB_TOKEN", "hf_old".into())], Some("hf_old")),
            (none, vec![("HF_TOKEN", String::new()), ("HF_TOKEN_PATH", named.clone())], Some("hf_named")),
            (none, vec![("HF_TOKEN_PATH", empty), ("HOME", at("user"))], None),
            (none, vec![("HF_HOME", at("home")), ("HOME", at("user"))], Some("hf_home")),
            (none, vec![("HF_HOME", "~/.cache/huggingface".into()), ("HOME", at("user"))], Some("hf_user")),
            (none, vec![("XDG_CACHE_HOME", at("xdg")), ("HOME", at("user"))], Some("hf_xdg")),
            (none, vec![("HOME", at("user"))], Some("hf_user")),
            (none, vec![("USERPROFILE", at("user"))], Some("hf_user")),
            (none, vec![("HOME", at("user")), ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1".into())], None),
            (none, vec![("HOME", at("nobody"))], None),
            (none, vec![], None),
        ] {
            let lookup = |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone());
            let token = Token::find(file.map(Path::new), &lookup).unwrap();
            assert_eq!(token.as_ref().map(text), expected.map(|t| format!("Bearer {t}")), "{env:?}");
        }
        let missing = dir.path().join("missing");
        assert!(Token::find(Some(&missing), &|_| None).unwrap_err().subject().contains("missing"));
    }
}
