//! Systems whose way to tell is not built yet: the number has to do.

use super::Program;
use std::path::Path;

pub(super) fn of_thread(_tid: u32) -> Option<Program> {
    None
}

pub(super) fn may_have_open(_pid: u32, _path: &Path) -> bool {
    true
}
