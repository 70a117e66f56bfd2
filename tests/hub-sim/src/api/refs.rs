//! Lists refs and commits.

use axum::response::Response;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Ask, access};
use crate::http::{Refusal, encode_segment};
use crate::repo::{Commit, Repo};

/// Commits on a page, as the Hub cuts them.
const COMMITS_PER_PAGE: usize = 50;

pub(super) fn refs(ask: &Ask, repo: &Repo) -> Result<Response, Refusal> {
    let entry = |name: &str, full: &str, index: usize| json!({ "name": name, "ref": full, "targetCommit": repo.commits[index].sha });
    let under = |prefix: &str| -> Vec<Value> {
        let heads = repo.heads.iter();
        heads
            .filter_map(|(full, &index)| Some((full.strip_prefix(prefix)?, full, index)))
            .map(|(name, full, index)| entry(name, full, index))
            .collect()
    };
    let tags: Vec<Value> =
        repo.tags.iter().map(|(name, &index)| entry(name, &format!("refs/tags/{name}"), index)).collect();
    let mut answer = json!({ "tags": tags, "branches": under("refs/heads/"), "converts": under("refs/convert/") });
    if ask.query.is_on("include_prs") {
        answer["pullRequests"] = under("refs/pr/").into();
    }
    Ok(crate::http::json(&answer))
}

pub(super) fn commits(ask: &Ask, repo: &Repo, revision: &str) -> Result<Response, Refusal> {
    let log = repo.log(ask.commit(repo, revision)?);
    let page: usize = ask.query.get("p").and_then(|page| page.parse().ok()).unwrap_or(0);
    let limit = ask.query.get("limit").and_then(|limit| limit.parse().ok()).unwrap_or(COMMITS_PER_PAGE);
    let limit = limit.clamp(1, COMMITS_PER_PAGE);
    let shown: Vec<Value> =
        log.iter().skip(page * limit).take(limit).map(|&index| commit(repo, &repo.commits[index])).collect();
    let more = log.len() > (page + 1) * limit;
    let next = format!(
        "{}/api/{}/{}/commits/{}?{}",
        ask.hub.addresses.hub,
        repo.kind.plural(),
        repo.id,
        encode_segment(revision),
        ask.query.with("p", &(page + 1).to_string())
    );
    let mut response = crate::http::json(&shown.into());
    let headers = response.headers_mut();
    headers.insert("x-total-count", log.len().into());
    super::tree::link_next(headers, more.then_some(next));
    Ok(response)
}

fn commit(repo: &Repo, commit: &Commit) -> Value {
    let parents: Vec<&str> = commit.parents.iter().map(|&index| repo.commits[index].sha.as_str()).collect();
    json!({
        "id": commit.sha,
        "title": commit.title,
        "message": commit.message,
        "authors": [{ "user": commit.author, "avatar": "/avatars/sim.svg" }],
        "date": iso_date(commit.unix_s),
        "parents": parents,
    })
}

/// Makes a branch at `startingPoint`, or removes it.
pub(super) fn change_branch(ask: &Ask, repo: &Repo, name: &str) -> Result<Response, Refusal> {
    access::check_write(ask)?;
    let full = format!("refs/heads/{name}");
    if ask.method == Method::DELETE {
        return change(ask, repo, |repo| repo.heads.remove(&full).is_some());
    }
    if repo.heads.contains_key(&full) {
        return Err(Refusal::new(StatusCode::CONFLICT, "", format!("Reference already exists: {full}")));
    }
    let start = if ask.body.is_empty() { Value::Null } else { ask.json()?["startingPoint"].clone() };
    let index = ask.commit(repo, start.as_str().unwrap_or("main"))?;
    change(ask, repo, |repo| repo.heads.insert(full, index).is_none())
}

/// Makes a tag on the revision in the path, or removes the tag in the path.
pub(super) fn change_tag(ask: &Ask, repo: &Repo, name: &str) -> Result<Response, Refusal> {
    access::check_write(ask)?;
    if ask.method == Method::DELETE {
        return change(ask, repo, |repo| repo.tags.remove(name).is_some());
    }
    let body = ask.json()?;
    let tag = body["tag"].as_str().ok_or_else(|| Refusal::bad_request("\"tag\" is required"))?;
    if repo.tags.contains_key(tag) {
        return Err(Refusal::new(StatusCode::CONFLICT, "", format!("Tag reference exists already: {tag}")));
    }
    let index = ask.commit(repo, name)?;
    change(ask, repo, |repo| repo.tags.insert(tag.to_owned(), index).is_none())
}

fn change(ask: &Ask, repo: &Repo, change: impl FnOnce(&mut Repo) -> bool) -> Result<Response, Refusal> {
    let done = ask.hub.update(repo.kind, &repo.id, |repo| Ok(change(repo)));
    match done.map_err(|error| Refusal::broken(&error))? {
        true => Ok(crate::http::json(&json!({ "success": true }))),
        false => Err(Refusal::new(StatusCode::NOT_FOUND, "RevisionNotFound", "Invalid rev id")),
    }
}

/// A Unix second as the Hub writes dates.
pub(crate) fn iso_date(unix_s: u64) -> String {
    let (days, second) = (unix_s / 86_400, unix_s % 86_400);
    // Days to civil date by eras of 400 years that start on 1 March.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.000Z", second / 3_600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::iso_date;

    #[test]
    fn dates_are_civil() {
        for (unix_s, date) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_767_225_600, "2026-01-01T00:00:00.000Z"),
            (1_798_761_599, "2026-12-31T23:59:59.000Z"),
        ] {
            assert_eq!(iso_date(unix_s), date);
        }
    }
}
