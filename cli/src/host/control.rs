//! The server side of the control protocol: one socket a process, for its own user only. Owns no mount: what is asked is
//! answered by an [`Owner`].

use std::fs;
use std::future::Future;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use weightless_control::hello::{PROTOCOL_NEWEST, PROTOCOL_OLDEST};
use weightless_control::{
    Call, Fault, Hello, Id, Lines, Reply, Request, RpcError, Status, StatusReply, Unmount, Unmounted, Welcome,
};

/// Clients served at once; each costs a task and at most one message. Further ones wait in the socket's queue.
const CLIENTS_MAX: usize = 64;
/// A client that says nothing for this long is let go of, so that forgotten ones do not fill the places.
const CLIENT_IDLE_MS: u64 = 300_000;
/// A client that does not take its reply for this long is let go of.
const REPLY_MS: u64 = 5_000;
/// At the end, how long replies under way are waited for.
const DRAIN_MS: u64 = 2_000;

/// Answers what clients ask.
pub(crate) trait Owner: Send + Sync + 'static {
    /// What is mounted; at once.
    fn status(&self) -> StatusReply;
    /// Unmounts.
    fn unmount(&self, request: Unmount) -> impl Future<Output = Result<Unmounted, Fault>> + Send;
}

/// A socket that is listened on. It is gone with [`Server::close`].
#[derive(Debug)]
pub(crate) struct Server {
    socket: PathBuf,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Server {
    /// Listens at `socket`, mode 0600. The name appears only once somebody listens behind it, since a socket that refuses is
    /// taken for a dead process's and removed.
    pub(crate) fn open(socket: PathBuf, owner: Arc<impl Owner>) -> io::Result<Self> {
        let hidden = socket.with_extension("new");
        let _ = fs::remove_file(&hidden);
        let listener = UnixListener::bind(&hidden)?;
        fs::set_permissions(&hidden, fs::Permissions::from_mode(0o600))?;
        fs::rename(&hidden, &socket)?;
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(listen(listener, owner, stopped));
        Ok(Server { socket, stop, task })
    }

    /// Where.
    #[cfg(test)]
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Takes the socket away and ends all connections, after the replies under way.
    pub(crate) async fn close(mut self) {
        remove(&self.socket);
        self.stop.send_replace(true);
        if timeout(Duration::from_millis(DRAIN_MS), &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        remove(&self.socket);
    }
}

fn remove(socket: &Path) {
    match fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(socket = %socket.display(), %error, "the control socket stays");
        }
        _ => {}
    }
}

async fn listen(listener: UnixListener, owner: Arc<impl Owner>, stop: watch::Receiver<bool>) {
    let uid = nix::unistd::geteuid().as_raw();
    let mut clients = JoinSet::new();
    let mut stopped = stop.clone();
    loop {
        tokio::select! {
            () = told(&mut stopped) => break,
            Some(_) = clients.join_next() => {}
            accepted = listener.accept(), if clients.len() < CLIENTS_MAX => match accepted {
                Ok((stream, _)) if stream.peer_cred().is_ok_and(|peer| peer.uid() == uid) => {
                    clients.spawn(serve(stream, owner.clone(), stop.clone()));
                }
                Ok(_) => tracing::warn!("another user was refused at the control socket"),
                Err(error) => {
                    tracing::warn!(%error, "a client could not be accepted");
                    // Out of descriptors: accepting again at once would spin.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
        }
    }
    drop(listener);
    while clients.join_next().await.is_some() {}
}

/// Resolves once the server is to stop. Its own function, since the guard that `wait_for` gives may not cross an await.
async fn told(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|&stop| stop).await;
}

/// One client, from its hello to its end.
async fn serve(mut stream: UnixStream, owner: Arc<impl Owner>, mut stop: watch::Receiver<bool>) {
    let mut lines = Lines::default();
    let mut piece = [0; 4 << 10];
    let mut greeted = false;
    loop {
        let answer = match lines.take() {
            Ok(Some(line)) => answer(&line, &*owner, &mut greeted).await,
            Ok(None) => {
                let read = tokio::select! {
                    biased;
                    read = timeout(Duration::from_millis(CLIENT_IDLE_MS), stream.read(&mut piece)) => read,
                    () = told(&mut stop) => return,
                };
                match read {
                    Ok(Ok(count)) if count > 0 => lines.push(&piece[..count]),
                    _ => return,
                }
                continue;
            }
            Err(error) => Reply::failure(None, RpcError::new(RpcError::INVALID_REQUEST, error.to_string())),
        };
        let fatal = answer.outcome.as_ref().is_err_and(RpcError::is_fatal);
        let sent = timeout(Duration::from_millis(REPLY_MS), stream.write_all(&answer.line())).await;
        if fatal || !matches!(sent, Ok(Ok(()))) {
            return;
        }
    }
}

async fn answer(line: &[u8], owner: &impl Owner, greeted: &mut bool) -> Reply {
    let Request { id, call } = match Request::parse(line) {
        Ok(request) => request,
        Err(malformed) => return Reply::failure(malformed.id, malformed.error),
    };
    match call {
        Call::Hello(hello) => {
            let reply = welcome(id, &hello);
            *greeted = reply.outcome.is_ok();
            reply
        }
        _ if !*greeted => Reply::failure(Some(id), RpcError::new(RpcError::VERSION, "hello comes first")),
        Call::Status(Status {}) => Reply::success::<Status>(id, &owner.status()),
        Call::Unmount(request) => match owner.unmount(request).await {
            Ok(unmounted) => Reply::success::<Unmount>(id, &unmounted),
            Err(fault) => Reply::failure(Some(id), fault.into()),
        },
        _ => Reply::failure(Some(id), RpcError::new(RpcError::UNKNOWN_METHOD, "this process serves one mount")),
    }
}

fn welcome(id: Id, hello: &Hello) -> Reply {
    match hello.settle(PROTOCOL_OLDEST, PROTOCOL_NEWEST) {
        Some(protocol) => Reply::success::<Hello>(
            id,
            &Welcome { protocol, version: env!("CARGO_PKG_VERSION").to_owned(), pid: std::process::id() },
        ),
        None => {
            let message = format!(
                "this process speaks protocol {PROTOCOL_OLDEST} to {PROTOCOL_NEWEST}, the client {} to {}",
                hello.protocol_oldest, hello.protocol_newest
            );
            Reply::failure(Some(id), RpcError::new(RpcError::VERSION, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weightless_control::{Client, EngineStatus, MESSAGE_BYTES_MAX, UnmountManner};

    struct Nothing;

    impl Owner for Nothing {
        fn status(&self) -> StatusReply {
            let engine = EngineStatus {
                pid: 1,
                version: "0".into(),
                started_unix_s: 0,
                budget_bytes: 0,
                held_bytes: 0,
                is_paused: false,
                log: String::new(),
            };
            StatusReply { engine, mounts: Vec::new() }
        }
        async fn unmount(&self, request: Unmount) -> Result<Unmounted, Fault> {
            Err(Fault::new("not_mounted", request.dir))
        }
    }

    /// Runs `client` on a thread of its own against a server that owns nothing.
    fn against_server(client: impl FnOnce(&Path) + Send + 'static) {
        let temp = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = Server::open(temp.path().join("1.sock"), Arc::new(Nothing)).unwrap();
            let socket = server.socket().to_owned();
            tokio::task::spawn_blocking(move || client(&socket)).await.unwrap();
            let socket = server.socket().to_owned();
            server.close().await;
            assert!(!socket.exists());
        });
    }

    fn connect(socket: &Path) -> Client<weightless_control::client::DeadlineStream> {
        Client::connect(socket, &Hello::new("test"), Duration::from_secs(60)).unwrap()
    }

    #[test]
    fn a_client_is_served_until_it_leaves() {
        against_server(|socket| {
            let mut client = connect(socket);
            assert_eq!(client.welcome().pid, std::process::id());
            assert!(client.call(&Status {}).unwrap().mounts.is_empty());
            let unmount = Unmount { dir: "/m".into(), manner: UnmountManner::Refuse };
            assert_eq!(client.call(&unmount).unwrap_err().into_fault().code, "not_mounted");
            assert!(client.call(&Status {}).is_ok());
        });
    }

    #[test]
    fn the_socket_is_for_its_user_only() {
        against_server(|socket| {
            let mode = fs::metadata(socket).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        });
    }

    #[test]
    fn what_cannot_be_read_gets_an_error_and_a_closed_connection() {
        use std::io::{Read, Write};
        against_server(|socket| {
            let huge = vec![b'x'; MESSAGE_BYTES_MAX + 2];
            for message in [
                &b"hello\n"[..],
                b"\x00\xff\xfe\x80\n",
                b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}\n",
                b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\",\"params\":{\"client\":\"x\",\"protocol_oldest\":9,\"protocol_newest\":9}}\n",
                &huge,
            ] {
                let mut stream = std::os::unix::net::UnixStream::connect(socket).unwrap();
                // The server may answer and close before it has taken all of a huge message.
                let _ = stream.write_all(message);
                let mut said = Vec::new();
                let _ = stream.read_to_end(&mut said);
                let reply = Reply::parse(said.strip_suffix(b"\n").unwrap_or(&said));
                // Closing with bytes unread resets the connection, which may take the reply along.
                if message.len() <= MESSAGE_BYTES_MAX {
                    assert!(reply.unwrap().outcome.unwrap_err().is_fatal());
                }
            }
            let mut half = std::os::unix::net::UnixStream::connect(socket).unwrap();
            half.write_all(b"{\"jsonrpc\":").unwrap();
            half.shutdown(std::net::Shutdown::Write).unwrap();
            assert_eq!(half.read(&mut [0; 1]).unwrap(), 0);
            assert!(connect(socket).call(&Status {}).is_ok());
        });
    }

    #[test]
    fn closing_does_not_wait_for_idle_clients() {
        let temp = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let server = Server::open(temp.path().join("1.sock"), Arc::new(Nothing)).unwrap();
            let mut client = UnixStream::connect(server.socket()).await.unwrap();
            server.close().await;
            // A connection that the server had not accepted yet is reset rather than ended.
            assert!(matches!(client.read(&mut [0; 1]).await, Ok(0) | Err(_)));
        });
    }
}
