//! The broker's own HTTP endpoints, asked in HTTP/1.0, for which a client would be too much.

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The body of `GET path`.
///
/// # Errors
/// When nobody listens, or the answer is not 200; says what it was.
pub(crate) async fn get(address: &str, path: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").context("not HTTP")?;
    anyhow::ensure!(head.split(' ').nth(1) == Some("200"), "{path}: {head}\n{body}");
    Ok(body.to_owned())
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
