//! `login`, `logout`, `accounts`: who asks the Hub. The token goes to the engine once, over its socket, and is never printed.

use crate::args::{AccountsArgs, LoginArgs, LogoutArgs};
use crate::exit::{Outcome, io_fault};
use crate::output::{self, Format};
use crate::processes;
use std::io::{self, BufRead, IsTerminal};
use std::time::Duration;
use weightless_control::accounts::{Accounts, AddAccount, ListAccounts, RemoveAccount, TokenSource, UseAccount};
use weightless_control::{ClientError, Fault, Method};

/// The Hub is asked once, and the keychain may wait for its owner.
const ANSWER_MS_MAX: u64 = 45_000;

pub(crate) fn login(args: &LoginArgs) -> Outcome {
    let token = token()?;
    let account = ask(&AddAccount { token, endpoint: args.endpoint.clone() })?;
    let note = if account.is_default { ", and asks from now on" } else { "" };
    output::note(format_args!("logged in as {}{note}", account.name));
    Ok(())
}

/// Typed without being shown, or the first line of what is piped in.
fn token() -> Outcome<String> {
    let stdin = io::stdin();
    let text = if stdin.is_terminal() {
        output::note("A token from the Hub's page Settings, Access Tokens (it is not shown):");
        rpassword::read_password().map_err(|error| io_fault("the terminal", &error))?
    } else {
        let mut line = String::new();
        stdin.lock().read_line(&mut line).map_err(|error| io_fault("standard input", &error))?;
        line
    };
    let text = text.trim().to_owned();
    if text.is_empty() {
        return Err(Fault::new("usage", "no token was given"));
    }
    Ok(text)
}

pub(crate) fn logout(args: &LogoutArgs) -> Outcome {
    let name = match &args.name {
        Some(name) => name.clone(),
        None => default_name(&ask(&ListAccounts {})?)?,
    };
    let left = ask(&RemoveAccount { name: name.clone() })?;
    output::note(format_args!("{name} and its token are forgotten"));
    if let Some(next) = left.accounts.iter().find(|account| account.is_default) {
        output::note(format_args!("{} asks from now on", next.name));
    }
    Ok(())
}

fn default_name(accounts: &Accounts) -> Outcome<String> {
    let ours = |source| source == TokenSource::Keychain;
    let account = accounts.accounts.iter().find(|account| account.is_default && ours(account.source));
    account.map(|account| account.name.clone()).ok_or_else(|| {
        Fault::new("not_logged_in", "no account of the keychain is in use")
            .advise("weightless accounts shows what there is. Tokens of the environment and of `hf auth login` are theirs to remove.")
    })
}

pub(crate) fn run(args: &AccountsArgs) -> Outcome {
    let accounts = match &args.choose {
        Some(name) => ask(&UseAccount { name: name.clone() })?,
        None => ask(&ListAccounts {})?,
    };
    match Format::of(args.json) {
        Format::Json => output::json(&accounts),
        Format::Text => {
            if accounts.accounts.is_empty() {
                output::note("No account. Public repos need none; for others: weightless login.");
            }
            text(&accounts).iter().for_each(output::line);
            if let Some(reason) = &accounts.no_keychain {
                output::note(reason);
            }
        }
    }
    Ok(())
}

fn text(accounts: &Accounts) -> Vec<String> {
    let rows: Vec<Vec<String>> = accounts
        .accounts
        .iter()
        .map(|account| {
            let source = match account.source {
                TokenSource::Keychain => "keychain",
                TokenSource::Environment => "environment",
                TokenSource::File => "file",
                TokenSource::Other => "elsewhere",
            };
            vec![
                if account.is_default { "*" } else { " " }.to_owned(),
                output::plain(&account.name),
                output::plain(&account.endpoint),
                source.to_owned(),
                output::plain(account.role.as_deref().unwrap_or_default()),
            ]
        })
        .collect();
    output::table(&rows, &[])
}

fn ask<M: Method>(request: &M) -> Outcome<M::Reply> {
    processes::engine(Duration::from_millis(ANSWER_MS_MAX))?.call(request).map_err(ClientError::into_fault)
}
