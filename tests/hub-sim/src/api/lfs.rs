//! The batch call of git-lfs: says where to put and where to get objects.

use axum::response::Response;
use serde_json::{Value, json};

use super::{Ask, access};
use crate::http::{ByteSource, Refusal};
use crate::repo::Repo;

pub(super) fn batch(ask: &Ask, repo: &Repo) -> Result<Response, Refusal> {
    let body = ask.json()?;
    let upload = body["operation"] == "upload";
    if upload {
        access::check_write(ask)?;
    } else {
        access::check_gate(ask, repo)?;
    }
    let objects = body["objects"].as_array().ok_or_else(|| Refusal::bad_request("\"objects\" is required"))?;
    let answers: Vec<Value> = objects.iter().map(|object| answer(ask, object, upload)).collect();
    let mut response = crate::http::json(&json!({ "transfer": "basic", "objects": answers, "hash_algo": "sha256" }));
    let content_type = http::HeaderValue::from_static("application/vnd.git-lfs+json; charset=utf-8");
    response.headers_mut().insert("content-type", content_type);
    Ok(response)
}

fn answer(ask: &Ask, object: &Value, upload: bool) -> Value {
    let sha256 = object["oid"].as_str().unwrap_or_default();
    let mut answer = json!({ "oid": sha256, "size": object["size"], "authenticated": true });
    let known = match ask.hub.store.file_by_sha256(sha256) {
        Some(file) => Some(ByteSource::File(file)),
        None => ask.hub.object(sha256),
    };
    match (known, upload) {
        (Some(_), true) => {}
        (Some(source), false) => {
            answer["actions"] = json!({ "download": { "href": ask.hub.object_url("lfs", sha256, source) } });
        }
        (None, true) => {
            let path = format!("/lfs/{sha256}");
            let query = ask.hub.signer.query(&path, "", ask.hub.lifetimes().signed_url);
            let href = format!("{}{path}?{query}", ask.hub.addresses.data);
            answer["actions"] = json!({ "upload": { "href": href, "header": {} } });
        }
        (None, false) => answer["error"] = json!({ "code": 404, "message": "Object does not exist on the server" }),
    }
    answer
}
