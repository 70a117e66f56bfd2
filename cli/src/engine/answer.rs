//! From a request to its reply. Decides nothing: each method is one call of the host.

use super::host::Host;
use crate::exit::Outcome;
use std::sync::Arc;
use std::time::Duration;
use weightless_control::accounts::{AddAccount, ListAccounts, RemoveAccount, UseAccount};
use weightless_control::message::{Call, Id, Method, Reply, RpcError};
use weightless_control::repos::{DescribeRepo, GetReadme, ListFolder, Search};
use weightless_control::settings::{GetSettings, SetSettings};
use weightless_control::stats::GetStats;
use weightless_control::upkeep::{Diagnose, Doctor, Free, Pause, Stop};
use weightless_control::{AddMount, Event, GetFolder, SetFolder, SetMount, Status, Unmount, UpdateMount};

/// Answers one request. `hello` and `subscribe` are the connection's own and come as an error here.
pub(super) async fn answer(host: &Arc<Host>, id: Id, call: Call) -> Reply {
    match call {
        Call::Status(Status {}) => reply::<Status>(id, Ok(host.status())),
        Call::AddMount(request) => reply::<AddMount>(id, host.add(&request).await),
        Call::Unmount(request) => reply::<Unmount>(id, host.remove(request).await),
        Call::UpdateMount(request) => reply::<UpdateMount>(id, host.update(&request).await),
        Call::SetMount(request) => reply::<SetMount>(id, host.set(&request)),
        Call::GetFolder(GetFolder {}) => reply::<GetFolder>(id, Ok(host.folder_reply(Vec::new()))),
        Call::SetFolder(request) => reply::<SetFolder>(id, host.set_folder(&request).await),
        Call::Pause(request) => reply::<Pause>(id, Ok(host.pause(&request))),
        Call::GetSettings(GetSettings {}) => reply::<GetSettings>(id, Ok(host.settings_reply())),
        Call::SetSettings(SetSettings { changes }) => reply::<SetSettings>(id, host.set_settings(&changes)),
        Call::ListAccounts(ListAccounts {}) => reply::<ListAccounts>(id, Ok(host.hubs.accounts().await)),
        Call::AddAccount(request) => {
            reply::<AddAccount>(id, told(host, host.hubs.add_account(&host.engine, &host.resolved(), &request).await))
        }
        Call::RemoveAccount(request) => {
            reply::<RemoveAccount>(id, told(host, host.hubs.remove_account(&host.engine, &request).await))
        }
        Call::UseAccount(request) => {
            reply::<UseAccount>(id, told(host, host.hubs.use_account(&host.engine, &request).await))
        }
        Call::Search(request) => reply::<Search>(id, host.search(request).await),
        Call::DescribeRepo(request) => reply::<DescribeRepo>(id, host.describe(&request).await),
        Call::ListFolder(request) => reply::<ListFolder>(id, host.list_folder(&request).await),
        Call::GetReadme(request) => reply::<GetReadme>(id, host.readme(&request).await),
        Call::GetStats(GetStats {}) => reply::<GetStats>(id, Ok((*host.stats(Duration::ZERO)).clone())),
        Call::Free(request) => reply::<Free>(id, host.free(request).await),
        Call::Doctor(request) => reply::<Doctor>(id, Ok(host.doctor(&request).await)),
        Call::Diagnose(Diagnose {}) => reply::<Diagnose>(id, Ok(host.diagnostics().await)),
        Call::Stop(request) => reply::<Stop>(id, host.ask_to_stop(&request)),
        Call::Hello(_) | Call::Subscribe(_) => {
            Reply::failure(Some(id), RpcError::new(RpcError::INVALID_REQUEST, "this belongs to the connection"))
        }
    }
}

fn reply<M: Method>(id: Id, outcome: Outcome<M::Reply>) -> Reply {
    match outcome {
        Ok(result) => Reply::success::<M>(id, &result),
        Err(fault) => Reply::failure(Some(id), fault.into()),
    }
}

/// Tells everybody that the accounts have changed, if they have.
fn told<T>(host: &Host, outcome: Outcome<T>) -> Outcome<T> {
    if outcome.is_ok() {
        host.events.tell(Event::Accounts);
    }
    outcome
}
