//! A proxy that is the only way to some names, as in a company that inspects TLS: it takes HTTP `CONNECT` and SOCKS 5, ends TLS with
//! certificates of an authority of its own, and counts what it carries. Refuses every name that it does not know.

use anyhow::{Context, Result, bail, ensure};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;

/// The head of a `CONNECT`; clients send a few hundred bytes.
const HEAD_BYTES_MAX: usize = 8 << 10;

/// The proxy; ends when dropped.
#[derive(Debug)]
pub struct Gateway {
    address: SocketAddr,
    authority: String,
    carried: Arc<Carried>,
    serving: AbortHandle,
}

/// Connections by name, of those that got through TLS.
#[derive(Debug, Default)]
struct Carried(Mutex<BTreeMap<String, u64>>);

impl Gateway {
    /// Carries connections for each of `names`, on port 443, to the plain socket beside it.
    pub async fn start(names: &[(&str, SocketAddr)]) -> Result<Gateway> {
        let (authority, acceptor) = tls(names.iter().map(|(name, _)| (*name).to_owned()).collect())?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let names: Arc<BTreeMap<String, SocketAddr>> =
            Arc::new(names.iter().map(|(name, to)| ((*name).to_owned(), *to)).collect());
        let carried = Arc::<Carried>::default();
        let log = Arc::clone(&carried);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (names, acceptor, log) = (Arc::clone(&names), acceptor.clone(), Arc::clone(&log));
                // A client that is refused, or refuses, is what tests look at from its own side.
                tokio::spawn(async move { carry(stream, &names, &acceptor, &log).await });
            }
        });
        Ok(Gateway { address, authority, carried, serving: serving.abort_handle() })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The certificate of its authority, as PEM.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Connections that it has carried for a name.
    pub fn carried(&self, name: &str) -> u64 {
        self.carried.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied().unwrap_or(0)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// An authority, and a server that has a certificate of it for `names`.
fn tls(names: Vec<String>) -> Result<(String, TlsAcceptor)> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate()?;
    let authority = params.self_signed(&key)?.pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(names)?.signed_by(&key, &issuer)?;
    let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)?;
    Ok((authority, TlsAcceptor::from(Arc::new(config))))
}

async fn carry(
    mut stream: TcpStream,
    names: &BTreeMap<String, SocketAddr>,
    acceptor: &TlsAcceptor,
    carried: &Carried,
) -> Result<()> {
    let mut first = [0];
    ensure!(stream.peek(&mut first).await? == 1, "nothing came");
    let (name, port, accepted): (_, _, &[u8]) = if first[0] == 5 {
        let (name, port) = socks(&mut stream).await?;
        (name, port, &[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
    } else {
        let (name, port) = connect(&mut stream).await?;
        (name, port, b"HTTP/1.1 200 Connection established\r\n\r\n")
    };
    let to = names.get(&name).filter(|_| port == 443).context("a name that is not carried")?;
    stream.write_all(accepted).await?;
    let mut stream = acceptor.accept(stream).await?;
    *carried.0.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default() += 1;
    let mut host = TcpStream::connect(to).await?;
    copy_bidirectional(&mut stream, &mut host).await?;
    Ok(())
}

/// The name and port of a `CONNECT` (RFC 9110, section 9.3.6).
async fn connect(stream: &mut TcpStream) -> Result<(String, u16)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        ensure!(head.len() < HEAD_BYTES_MAX, "a head without an end");
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head)?;
    let mut words = head.split(' ');
    if words.next() != Some("CONNECT") {
        stream.write_all(b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n").await?;
        bail!("not a CONNECT: {head}");
    }
    let (name, port) = words.next().and_then(|to| to.rsplit_once(':')).context("no host and port")?;
    Ok((name.to_owned(), port.parse()?))
}

/// The name and port that a SOCKS 5 client asks for without a password (RFC 1928).
async fn socks(stream: &mut TcpStream) -> Result<(String, u16)> {
    stream.read_u8().await?;
    let mut methods = vec![0; usize::from(stream.read_u8().await?)];
    stream.read_exact(&mut methods).await?;
    stream.write_all(&[5, 0]).await?;
    let mut request = [0; 4];
    stream.read_exact(&mut request).await?;
    ensure!(request == [5, 1, 0, 3], "not a connection to a name: {request:?}");
    let mut name = vec![0; usize::from(stream.read_u8().await?)];
    stream.read_exact(&mut name).await?;
    Ok((String::from_utf8(name)?, stream.read_u16().await?))
}
