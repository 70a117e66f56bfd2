//! What a file-system adapter shows: nodes by their ids, folders, files that are read. Two things are shown: one repo
//! ([`Mount`](crate::mount::Mount)) and all of the Hub ([`HubFolder`](crate::folder::HubFolder)). An adapter is made for one of
//! them, so nothing stands between a read and its reader.
//!
//! Every call answers at once, or returns a future to be polled once inline and spawned if it is not ready; none blocks a
//! thread.

use crate::Result;
use crate::reader::{OpenFile, Reply};
use crate::tree::{Directory, Node, NodeId, Totals};
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::runtime::Handle;

/// What is shown.
pub trait Volume: fmt::Debug + Send + Sync + 'static {
    /// Where replies that wait are run.
    fn runtime(&self) -> &Handle;

    /// Sums over the files known so far.
    fn totals(&self) -> Totals;

    /// What a node shows as its time.
    fn modified(&self, node: NodeId) -> SystemTime;

    /// A node that was handed out before. Never waits; `None` if it is not there any more.
    fn node(&self, id: NodeId) -> Option<Node>;

    /// Finds `name` in `parent` among what is known; asks nobody.
    fn known(&self, parent: NodeId, name: &str) -> Option<Node>;

    /// Finds `name` in `parent`.
    fn lookup(self: Arc<Self>, parent: NodeId, name: Box<str>) -> impl Future<Output = Result<Node>> + Send + 'static;

    /// Lists a folder, whole.
    fn read_dir(self: Arc<Self>, dir: NodeId) -> impl Future<Output = Result<Arc<Directory>>> + Send + 'static;

    /// Opens a file for the process `opener`, where that is known; asks nothing of the network.
    ///
    /// # Errors
    /// The node is no file, or not there any more; or the volume is going away.
    fn open(&self, node: NodeId, opener: Option<u32>) -> Result<OpenFile>;

    /// Reads `len` bytes at `offset`, cut at the end of the file. `reply` is called once.
    fn read(&self, handle: OpenFile, offset: u64, len: u32, reply: Reply);

    /// Closes a handle that was opened of `node`.
    fn close(&self, node: NodeId, handle: OpenFile);

    /// Extended attributes of a node, those that are known.
    fn attributes(&self, node: NodeId) -> Vec<(&'static str, String)>;

    /// Fails every waiting read and refuses new files; called before unmounting. Waits for nothing.
    fn shut_down(&self);

    /// Whether what the system is told of a node holds for ever, or may be another thing in a minute.
    fn lasting(&self, _node: NodeId) -> Lasting {
        Lasting { name: true, listing: true }
    }

    /// The system is about to be told of a node, and may use its id until as many calls of [`forgotten`](Volume::forgotten) say
    /// that it does not any more.
    fn told(&self, _node: NodeId) {}

    /// The system has forgotten what it was told of a node `count` times.
    fn forgotten(&self, _node: NodeId, _count: u64) {}

    /// The volume is mounted: from now on `drop_name` asks the system to forget a name. Called from a thread that may block.
    fn attach(&self, _drop_name: DropName) {}
}

/// What of a node never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lasting {
    /// That its name leads to it.
    pub name: bool,
    /// What is listed in it.
    pub listing: bool,
}

/// Asks the system to forget a name. Blocks until it has done so.
pub type DropName = Box<dyn Fn(&Dropped) + Send + Sync>;

/// A name that is to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The folder it is in.
    pub parent: NodeId,
    /// The name.
    pub name: Arc<str>,
    /// The same from the volume's root on.
    pub path: String,
    /// Not if a program is there that would notice.
    pub unless_held: bool,
}
