//! What labs ask etcd for, in HTTP/1.0, for which a client would be too much.

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Whether it is up and well.
pub(crate) async fn health(port: u16) -> anyhow::Result<()> {
    let answer = ask(port, "GET /health HTTP/1.0\r\n\r\n").await?;
    anyhow::ensure!(answer.contains("\"health\":\"true\""), "{answer}");
    Ok(())
}

/// Forgets all that was before now: whoever asks for older revisions is told that they are compacted. Returns the revision.
pub(crate) async fn compact(port: u16) -> anyhow::Result<u64> {
    // A range of one key that nobody has: what is wanted is what the answer's header says.
    let told = post(port, "range", &json!({"key": "AA=="})).await?;
    let revision = told["header"]["revision"].as_str().and_then(|text| text.parse().ok());
    let revision: u64 = revision.with_context(|| format!("etcd told no revision: {told}"))?;
    post(port, "compaction", &json!({"revision": revision.to_string()})).await?;
    Ok(revision)
}

/// One call of its gateway from JSON.
async fn post(port: u16, what: &str, body: &Value) -> anyhow::Result<Value> {
    let body = body.to_string();
    let head =
        format!("POST /v3/kv/{what} HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {}", body.len());
    let answer = ask(port, &format!("{head}\r\n\r\n{body}")).await?;
    let (head, told) = answer.split_once("\r\n\r\n").context("etcd's answer has no end of its head")?;
    anyhow::ensure!(head.split(' ').nth(1) == Some("200"), "etcd: {what}: {answer}");
    serde_json::from_str(told).with_context(|| format!("etcd: {what}: {told}"))
}

async fn ask(port: u16, request: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}
