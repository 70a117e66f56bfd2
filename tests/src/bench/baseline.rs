//! What the Xet crates offer by themselves for reading a file from start to end: the baselines that our transport is
//! compared with. Never mounts, and is no part of the product.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use async_trait::async_trait;
use clap::ValueEnum;
use futures_util::{StreamExt, TryStreamExt, stream};
use weightless_core::hub::Hub;
use weightless_core::mount::Mount;
use weightless_core::tree::{FileMeta, Node, NodeId, NodeKind};
use xet_client::cas_client::auth::AuthConfig;
use xet_client::cas_client::{Client, RemoteClient, URLProvider};
use xet_client::cas_types::{FileRange, HttpRange, XorbMultiRangeFetch};
use xet_core_structures::merklehash::MerkleHash;
use xet_data::file_reconstruction::FileReconstructor;
use xet_runtime::config::XetConfig;
use xet_runtime::core::XetContext;
use xet_runtime::utils::ByteSize;

/// A way to read a whole file without our transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Baseline {
    /// `xet-data`'s FileReconstructor, as a stream.
    Reconstructor,
    /// `xet-client`'s `get_file_term_data`, called for the terms of pieces.
    Terms,
}

/// The least that a reconstruction asks for: larger ones read small files slower.
const RECONSTRUCTION_BYTES_MIN: u64 = 8 << 20;
/// Pieces whose terms are fetched, and how many of them side by side: what our transport does with a whole file.
const PIECE_BYTES: u64 = 8 << 20;
const PIECES_AT_ONCE: usize = 16;

impl Baseline {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Reconstructor => "reconstructor",
            Self::Terms => "term_data",
        }
    }

    /// Reads the file; returns the time to its first bytes, counted from `begun`.
    pub(super) async fn read(
        self,
        hub: &Hub,
        mount: &Mount,
        node: NodeId,
        read_ahead_mb: u32,
        begun: Instant,
    ) -> Result<Duration> {
        let Some(Node { kind: NodeKind::File(file), .. }) = mount.node(node) else { anyhow::bail!("not a file") };
        let hash = MerkleHash::from_hex(file.xet_hash.as_deref().context("not in Xet storage")?)?;
        let token = hub.xet_read_token(mount.repo(), &mount.commit()).await?;
        let bearer = token.token.bearer();
        let secret = bearer.to_str()?.trim_start_matches("Bearer ").to_owned();
        let auth = AuthConfig::maybe_new(Some(secret), None, None);
        let context = XetContext::with_config(config(read_ahead_mb))?;
        let client: Arc<dyn Client> = RemoteClient::new(
            context.clone(),
            token.cas_url.as_str().trim_end_matches('/'),
            &auth,
            "bench",
            false,
            None,
        );
        match self {
            Self::Reconstructor => reconstruct(&context, &client, hash, &file, begun).await,
            Self::Terms => terms(&client, hash, &file, begun).await,
        }
    }
}

/// Buffers as large as the reader's memory, and no telemetry.
fn config(read_ahead_mb: u32) -> XetConfig {
    let buffer = ByteSize::from(u64::from(read_ahead_mb) << 20);
    let mut config = XetConfig::new();
    config.reconstruction.min_reconstruction_fetch_size = RECONSTRUCTION_BYTES_MIN.into();
    config.reconstruction.download_buffer_size = buffer;
    config.reconstruction.download_buffer_limit = buffer;
    config
}

async fn reconstruct(
    context: &XetContext,
    client: &Arc<dyn Client>,
    hash: MerkleHash,
    file: &FileMeta,
    begun: Instant,
) -> Result<Duration> {
    let mut stream = FileReconstructor::new(context, client, hash).with_file_size(file.size).reconstruct_to_stream();
    let (mut first_byte, mut read) = (None, 0);
    while let Some(bytes) = stream.next().await? {
        first_byte.get_or_insert_with(|| begun.elapsed());
        read += bytes.len() as u64;
    }
    anyhow::ensure!(read == file.size, "{read} bytes of {}", file.size);
    first_byte.context("an empty file")
}

async fn terms(client: &Arc<dyn Client>, hash: MerkleHash, file: &FileMeta, begun: Instant) -> Result<Duration> {
    let pieces = (0..file.size).step_by(PIECE_BYTES as usize).map(|from| {
        let range = FileRange::new(from, (from + PIECE_BYTES).min(file.size));
        piece(client, hash, range, begun)
    });
    let ends: Vec<Duration> = stream::iter(pieces).buffered(PIECES_AT_ONCE).try_collect().await?;
    ends.first().copied().context("an empty file")
}

/// Fetches and decodes what the terms of `range` need; returns when that was there.
async fn piece(client: &Arc<dyn Client>, hash: MerkleHash, range: FileRange, begun: Instant) -> Result<Duration> {
    let answer = client.get_reconstruction(&hash, Some(range)).await?.context("no such file")?;
    for fetch in answer.xorbs.into_values().flatten() {
        let permit = client.acquire_download_permit().await?;
        client.get_file_term_data(Box::new(Signed(fetch)), permit, None, None).await?;
    }
    Ok(begun.elapsed())
}

/// A signed address that is fresh, since it was just asked for.
struct Signed(XorbMultiRangeFetch);

#[async_trait]
impl URLProvider for Signed {
    async fn retrieve_url(&self) -> xet_client::error::Result<(String, Vec<HttpRange>)> {
        Ok((self.0.url.clone(), self.0.ranges.iter().map(|range| range.bytes).collect()))
    }

    async fn refresh_url(&self) -> xet_client::error::Result<()> {
        Ok(())
    }
}
