//! The network's strings in JSON, for tests in other languages and benchmarks in other processes. Never counted, never
//! slowed, never scripted.
//!
//! | request | does |
//! | --- | --- |
//! | `GET /__sim/counters` | the [`Snapshot`] |
//! | `GET /__sim/requests` | the latest request lines |
//! | `POST /__sim/reset` | counters to zero |
//! | `GET`, `PUT /__sim/link` | the [`Link`]; a profile's name sets that profile |
//! | `POST /__sim/rules` | adds a [`Rule`] |
//! | `DELETE /__sim/rules` | clears the script |
//! | `POST /__sim/release` | ends every stall |
//! | `POST /__sim/{down,up,cut}/{site}` | refuses, accepts, resets |

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::StatusCode;
use serde::Deserialize;

use super::counters::{Request, Snapshot};
use super::link::{Link, Profile};
use super::route::Site;
use super::script::{Rule, RuleId};
use super::{Inner, Network};

/// The paths that are the control endpoint's on the Hub's own host.
pub(super) const PREFIX: &str = "/__sim/";

#[derive(Deserialize)]
#[serde(untagged)]
enum NewLink {
    Named(Profile),
    Spelled(Link),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Turn {
    Down,
    Up,
    Cut,
}

pub(super) fn router(inner: Arc<Inner>) -> Router {
    Router::new()
        .route("/__sim/counters", get(counters))
        .route("/__sim/requests", get(requests))
        .route("/__sim/reset", post(reset))
        .route("/__sim/link", get(link).put(set_link))
        .route("/__sim/rules", post(add_rule).delete(clear_rules))
        .route("/__sim/release", post(release))
        .route("/__sim/{turn}/{site}", post(turn))
        .with_state(Network { inner })
}

async fn counters(State(network): State<Network>) -> Json<Snapshot> {
    Json(network.counters().snapshot())
}

async fn requests(State(network): State<Network>) -> Json<Vec<Request>> {
    Json(network.counters().requests())
}

async fn reset(State(network): State<Network>) -> StatusCode {
    network.counters().reset();
    StatusCode::NO_CONTENT
}

async fn link(State(network): State<Network>) -> Json<Link> {
    Json(network.link())
}

async fn set_link(State(network): State<Network>, Json(link): Json<NewLink>) -> Json<Link> {
    network.set_link(match link {
        NewLink::Named(profile) => profile.link(),
        NewLink::Spelled(link) => link,
    });
    Json(network.link())
}

async fn add_rule(State(network): State<Network>, Json(rule): Json<Rule>) -> Json<RuleId> {
    Json(network.script().add(rule))
}

async fn clear_rules(State(network): State<Network>) -> StatusCode {
    network.script().clear();
    StatusCode::NO_CONTENT
}

async fn release(State(network): State<Network>) -> StatusCode {
    network.release();
    StatusCode::NO_CONTENT
}

async fn turn(State(network): State<Network>, Path((turn, site)): Path<(Turn, Site)>) -> StatusCode {
    // A cut of the Hub's own host would cut this answer too: it happens after the answer.
    let turned = async move {
        match turn {
            Turn::Down => network.down(site).await,
            Turn::Up => network.up(site).await,
            Turn::Cut => network.cut(site).await,
        }
    };
    if site == Site::Hub {
        tokio::spawn(turned);
        StatusCode::ACCEPTED
    } else {
        turned.await;
        StatusCode::NO_CONTENT
    }
}
