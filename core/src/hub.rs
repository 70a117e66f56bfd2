//! The Hub API: commits, trees, resolving, tokens. Every request goes through one client of ours.
