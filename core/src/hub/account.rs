//! Who asks a Hub: a token that may change while mounts live, and the view of the Hub that goes with it. Asks nothing.

use crate::token::Token;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

/// What one account sees of one Hub. Two are never the same, and a new token is a new view: whatever was answered or fetched
/// for one view says nothing of what another may have, so every cache of answers and of content has it in its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct View(u64);

impl View {
    /// A view that no other is.
    pub fn fresh() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        View(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Its number, of which no two views have the same.
    pub(crate) fn number(self) -> u64 {
        self.0
    }
}

/// The account of a Hub.
#[derive(Debug)]
pub(super) struct Account {
    /// Token and view, which change together. Std: held for a copy or a swap, never across an await.
    now: RwLock<(Option<Token>, View)>,
}

impl Account {
    pub(super) fn new(token: Option<Token>) -> Self {
        Account { now: RwLock::new((token, View::fresh())) }
    }

    pub(super) fn token(&self) -> Option<Token> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    pub(super) fn is_known(&self) -> bool {
        self.now.read().unwrap_or_else(PoisonError::into_inner).0.is_some()
    }

    pub(super) fn view(&self) -> View {
        self.now.read().unwrap_or_else(PoisonError::into_inner).1
    }

    /// Takes another token; returns the view that ended. The same token again changes nothing.
    pub(super) fn replace(&self, token: Option<Token>) -> Option<View> {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        if now.0 == token {
            return None;
        }
        Some(std::mem::replace(&mut *now, (token, View::fresh())).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_token_is_another_view_and_the_same_one_is_not() {
        let token = |text| Some(Token::new(text).unwrap());
        let account = Account::new(token("hf_one"));
        let first = account.view();
        assert_eq!(account.replace(token("hf_one")), None);
        assert_eq!((account.view(), account.is_known()), (first, true));
        assert_eq!(account.replace(None), Some(first));
        assert!(account.view() != first && !account.is_known());
        let second = account.view();
        assert_eq!(account.replace(token("hf_one")), Some(second));
        assert!(![first, second].contains(&account.view()), "a view does not come back with its token");
        assert_eq!(account.token(), token("hf_one"));
    }
}
