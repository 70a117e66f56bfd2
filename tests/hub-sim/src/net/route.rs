//! Names the kind of each request, so that counters and scripts speak of "tree pages" and "xorb data" rather than of
//! paths. Never looks at anything but site, method and path.

use http::Method;
use serde::{Deserialize, Serialize};

/// Which of the three hosts a listener plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Site {
    /// The API and `resolve`.
    Hub,
    /// The Xet content-addressed store: reconstructions and uploads.
    Cas,
    /// The host that signed URLs point to.
    Data,
}

impl Site {
    /// Every site, in the order of its discriminant.
    pub const ALL: [Self; 3] = [Self::Hub, Self::Cas, Self::Data];
}

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// `GET /api/models/{repo}`
    Info,
    /// `…/revision/{rev}`
    Revision,
    /// `…/refs`
    Refs,
    /// `…/tree/{rev}/{path}`, one page
    Tree,
    /// `POST …/paths-info/{rev}`
    PathsInfo,
    /// `HEAD` or `GET /{repo}/resolve/{rev}/{path}`, redirect or bytes
    Resolve,
    /// `…/xet-read-token/{rev}` and `…/xet-write-token/{rev}`
    XetToken,
    /// `/api/whoami-v2`
    Whoami,
    /// `GET /api/models?search=…`
    Search,
    /// `/{repo}/raw/{rev}/README.md`
    Readme,
    /// `…/preupload/{rev}`
    Preupload,
    /// `…/commit/{rev}`
    Commit,
    /// `/{repo}.git/info/lfs/…`
    Lfs,
    /// A file's terms, asked of the store
    Reconstruction,
    /// Bytes of a xorb, behind a signed URL
    XorbData,
    /// Bytes of a plain file, behind a signed URL
    PlainData,
    /// Chunks, xorbs, shards and parts sent to the store
    Upload,
    /// Whatever else
    Other,
}

impl Route {
    /// Every route, in the order of its discriminant.
    pub const ALL: [Self; 18] = [
        Self::Info,
        Self::Revision,
        Self::Refs,
        Self::Tree,
        Self::PathsInfo,
        Self::Resolve,
        Self::XetToken,
        Self::Whoami,
        Self::Search,
        Self::Readme,
        Self::Preupload,
        Self::Commit,
        Self::Lfs,
        Self::Reconstruction,
        Self::XorbData,
        Self::PlainData,
        Self::Upload,
        Self::Other,
    ];

    /// The routes that carry file contents of any size.
    pub const DATA: [Self; 2] = [Self::XorbData, Self::PlainData];

    /// Classifies a request.
    #[must_use]
    pub fn of(site: Site, method: &Method, path: &str) -> Self {
        match site {
            Site::Hub => hub(path),
            Site::Cas => cas(method, path),
            Site::Data => data(method, path),
        }
    }
}

fn hub(path: &str) -> Route {
    let mut segments = path.trim_start_matches('/').split('/');
    match segments.next() {
        Some("api") => {}
        _ => return hub_file(path),
    }
    let repo: Vec<&str> = match segments.next() {
        Some("models" | "datasets" | "spaces") => segments.filter(|segment| !segment.is_empty()).take(3).collect(),
        Some("whoami-v2") => return Route::Whoami,
        Some("resolve-cache") => return Route::Resolve,
        _ => return Route::Other,
    };
    // A repo id has one or two segments. A verb in third place wins, so that `org/tree` may be a repo.
    match repo[..] {
        [] => Route::Search,
        [_, _, verb] if let Some(route) = verb_route(verb) => route,
        [_, verb, ..] if let Some(route) = verb_route(verb) => route,
        [_] | [_, _] => Route::Info,
        _ => Route::Other,
    }
}

fn verb_route(verb: &str) -> Option<Route> {
    Some(match verb {
        "revision" => Route::Revision,
        "refs" => Route::Refs,
        "tree" => Route::Tree,
        "paths-info" => Route::PathsInfo,
        "xet-read-token" | "xet-write-token" => Route::XetToken,
        "preupload" => Route::Preupload,
        "commit" => Route::Commit,
        _ => return None,
    })
}

fn hub_file(path: &str) -> Route {
    if path.contains(".git/info/lfs/") {
        Route::Lfs
    } else if path.contains("/resolve/") {
        Route::Resolve
    } else if path.contains("/raw/") {
        if path.ends_with("/README.md") { Route::Readme } else { Route::Resolve }
    } else {
        Route::Other
    }
}

fn cas(method: &Method, path: &str) -> Route {
    if path.contains("/reconstructions") {
        Route::Reconstruction
    } else if method == Method::GET && path.contains("xorb") {
        Route::XorbData
    } else if ["/chunks", "/xorb", "/shards"].iter().any(|part| path.contains(part)) {
        Route::Upload
    } else {
        Route::Other
    }
}

fn data(method: &Method, path: &str) -> Route {
    if method == Method::PUT || method == Method::POST {
        Route::Upload
    } else if path.contains("xorb") {
        Route::XorbData
    } else {
        Route::PlainData
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_has_its_kind() {
        let get = Method::GET;
        let cases: &[(Site, &Method, &str, Route)] = &[
            (Site::Hub, &get, "/api/models", Route::Search),
            (Site::Hub, &get, "/api/models/", Route::Search),
            (Site::Hub, &get, "/api/datasets/org/name", Route::Info),
            (Site::Hub, &get, "/api/models/gpt2", Route::Info),
            (Site::Hub, &get, "/api/models/org/name/revision/main", Route::Revision),
            (Site::Hub, &get, "/api/models/gpt2/revision/refs%2Fpr%2F1", Route::Revision),
            (Site::Hub, &get, "/api/models/org/name/refs", Route::Refs),
            (Site::Hub, &get, "/api/spaces/org/name/tree/main/a/b", Route::Tree),
            (Site::Hub, &get, "/api/models/gpt2/tree/main", Route::Tree),
            (Site::Hub, &get, "/api/models/org/tree/refs", Route::Refs),
            (Site::Hub, &get, "/api/models/org/name/treesize/main/", Route::Other),
            (Site::Hub, &Method::POST, "/api/models/org/name/paths-info/main", Route::PathsInfo),
            (Site::Hub, &get, "/api/models/org/name/xet-read-token/main", Route::XetToken),
            (Site::Hub, &get, "/api/models/org/name/xet-write-token/main", Route::XetToken),
            (Site::Hub, &get, "/api/whoami-v2", Route::Whoami),
            (Site::Hub, &Method::POST, "/api/models/org/name/preupload/main", Route::Preupload),
            (Site::Hub, &Method::POST, "/api/models/org/name/commit/main", Route::Commit),
            (Site::Hub, &Method::POST, "/org/name.git/info/lfs/objects/batch", Route::Lfs),
            (Site::Hub, &Method::HEAD, "/org/name/resolve/main/README.md", Route::Resolve),
            (Site::Hub, &get, "/datasets/org/name/resolve/main/api/models/x", Route::Resolve),
            (Site::Hub, &get, "/org/name/raw/main/README.md", Route::Readme),
            (Site::Hub, &get, "/org/name/raw/main/config.json", Route::Resolve),
            (Site::Hub, &get, "/", Route::Other),
            (Site::Cas, &get, "/v1/reconstructions/abc", Route::Reconstruction),
            (Site::Cas, &get, "/v2/reconstructions/abc", Route::Reconstruction),
            (Site::Cas, &Method::POST, "/v1/xorbs/default/abc", Route::Upload),
            (Site::Cas, &Method::HEAD, "/v1/xorbs/default/abc", Route::Upload),
            (Site::Cas, &get, "/v1/chunks/default/abc", Route::Upload),
            (Site::Cas, &Method::POST, "/v1/shards", Route::Upload),
            (Site::Data, &get, "/xorbs/default/abc", Route::XorbData),
            (Site::Data, &get, "/files/abc", Route::PlainData),
            (Site::Data, &Method::PUT, "/files/abc", Route::Upload),
        ];
        for (site, method, path, route) in cases {
            assert_eq!(Route::of(*site, method, path), *route, "{site:?} {method} {path}");
        }
    }

    #[test]
    fn discriminants_index_the_lists() {
        assert!(Route::ALL.iter().enumerate().all(|(index, route)| *route as usize == index));
        assert!(Site::ALL.iter().enumerate().all(|(index, site)| *site as usize == index));
    }
}
