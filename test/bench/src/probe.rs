//! The broker's own HTTP endpoints, asked in HTTP/1.0, for which a client would be too much.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// An answer, and how it came.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) body: String,
    /// From before the connection until the first byte.
    pub(crate) first: Duration,
    /// The same until the last.
    pub(crate) whole: Duration,
    /// All bytes, those of the head included.
    pub(crate) bytes: usize,
}

/// The body of `GET path`.
///
/// # Errors
/// When nobody listens, or the answer is not 200; says what it was.
pub(crate) async fn get(address: &str, path: &str) -> anyhow::Result<String> {
    Ok(fetch(address, path).await?.body)
}

/// The answer to `GET path`, by a connection of its own.
///
/// # Errors
/// As of [`get`].
pub(crate) async fn fetch(address: &str, path: &str) -> anyhow::Result<Answer> {
    let began = Instant::now();
    let mut stream = ask(address, path).await?;
    let mut answer = vec![0_u8; 1];
    stream.read_exact(&mut answer).await.context("no answer")?;
    let first = began.elapsed();
    stream.read_to_end(&mut answer).await?;
    let (whole, bytes) = (began.elapsed(), answer.len());
    let answer = String::from_utf8(answer).context("the answer is no text")?;
    let (head, body) = answer.split_once("\r\n\r\n").context("not HTTP")?;
    anyhow::ensure!(head.split(' ').nth(1) == Some("200"), "{path}: {head}\n{body}");
    Ok(Answer { body: body.to_owned(), first, whole, bytes })
}

/// Asks for a path. The connection ends with the answer.
///
/// # Errors
/// When nobody listens.
pub(crate) async fn ask(address: &str, path: &str) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes()).await?;
    Ok(stream)
}

/// The sum of a metric over its labels, in the text format of Prometheus; 0 when it is not there.
pub(crate) fn metric(text: &str, name: &str) -> f64 {
    let samples = text.lines().filter_map(|line| line.strip_prefix(name));
    samples
        .filter(|rest| rest.starts_with(['{', ' ']))
        .filter_map(|rest| rest.rsplit_once(' ')?.1.parse::<f64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp)]

    use super::*;

    #[test]
    fn a_metric_is_the_sum_of_its_samples() {
        let text = "# TYPE depth gauge\ndepth{name=\"a b\"} 3\ndepth{name=\"c\"} 4\ndepth_other 9\nplain 2\n";
        assert_eq!((metric(text, "depth"), metric(text, "plain"), metric(text, "none")), (7.0, 2.0, 0.0));
    }
}
