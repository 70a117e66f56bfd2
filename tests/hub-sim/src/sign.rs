//! Signed addresses and Xet tokens that expire. Never decides who may have one.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sha2::Digest;

use crate::repo::hex;

/// What a Xet token allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    Read,
    Write,
}

/// Why a signature or a token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Expired,
    Wrong,
}

/// Signs and checks with a secret of its own.
#[derive(Debug)]
pub(crate) struct Signer {
    secret: [u8; 32],
}

impl Signer {
    pub(crate) fn new() -> Self {
        let seed = format!("{:?} {}", SystemTime::now(), std::process::id());
        Self { secret: sha2::Sha256::digest(seed).into() }
    }

    /// The query of a signed address for this path and this `Range` value, empty if any range is fine.
    pub(crate) fn query(&self, path: &str, range: &str, lifetime: Duration) -> String {
        let expires = unix_s() + lifetime.as_secs();
        let signature = self.signature(&["url", path, range, &expires.to_string()]);
        let range = match range {
            "" => String::new(),
            range => format!("X-Xet-Signed-Range={}&", range.replace('=', "%3D").replace(',', "%2C")),
        };
        format!("{range}Expires={expires}&Signature={signature}")
    }

    pub(crate) fn check_query(&self, path: &str, range: &str, expires: &str, signature: &str) -> Result<(), Refused> {
        if signature != self.signature(&["url", path, range, expires]) {
            return Err(Refused::Wrong);
        }
        in_time(expires)
    }

    /// A token and the Unix second it expires at.
    pub(crate) fn xet_token(&self, scope: Scope, lifetime: Duration) -> (String, u64) {
        let expires = unix_s() + lifetime.as_secs();
        let scope = scope_name(scope);
        (format!("xet_{scope}_{expires}_{}", self.signature(&["token", scope, &expires.to_string()])), expires)
    }

    pub(crate) fn check_xet_token(&self, token: &str) -> Result<Scope, Refused> {
        let parts: Vec<&str> = token.split('_').collect();
        let ["xet", scope, expires, signature] = parts[..] else { return Err(Refused::Wrong) };
        if signature != self.signature(&["token", scope, expires]) {
            return Err(Refused::Wrong);
        }
        in_time(expires)?;
        Ok(if scope == scope_name(Scope::Write) { Scope::Write } else { Scope::Read })
    }

    fn signature(&self, parts: &[&str]) -> String {
        let mut digest = sha2::Sha256::new_with_prefix(self.secret);
        for part in parts {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        hex(&digest.finalize()[..16])
    }
}

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Read => "read",
        Scope::Write => "write",
    }
}

fn in_time(expires: &str) -> Result<(), Refused> {
    let expires: u64 = expires.parse().map_err(|_| Refused::Wrong)?;
    if unix_s() < expires { Ok(()) } else { Err(Refused::Expired) }
}

fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
