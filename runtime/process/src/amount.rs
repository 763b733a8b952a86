//! Amounts as people write them in flags: durations, sizes.

use std::time::Duration;

/// `90s`, `10m`, `24h`, `500ms`, or several of them in a row, as Go's durations have it.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no duration: use for example 90s, 10m or 24h");
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).filter(|at| *at > 0).ok_or_else(wrong)?;
        let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let unit = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let millis = match &rest[..unit] {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return Err(wrong()),
        };
        total += Duration::from_millis(number.checked_mul(millis).ok_or_else(wrong)?);
        rest = &rest[unit..];
    }
    if text.is_empty() { Err(wrong()) } else { Ok(total) }
}

/// `65536`, `64Ki`, `1Mi` or `1G`: bytes, as Kubernetes' quantities have them.
pub fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no size: use for example 65536, 64Ki or 1Mi");
    let unit = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..unit].parse().map_err(|_| wrong())?;
    let factor: u64 = match &text[unit..] {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        _ => return Err(wrong()),
    };
    number.checked_mul(factor).ok_or_else(wrong)
}

/// The same, of memory: less than 16 MiB is of no use.
pub fn memory(text: &str) -> Result<usize, String> {
    let bytes = size(text).ok().and_then(|bytes| usize::try_from(bytes).ok());
    bytes
        .filter(|bytes| *bytes >= 16 << 20)
        .ok_or_else(|| format!("{text:?} is no amount of memory: use for example 600Mi or 2Gi, and 16Mi at least"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration("1h30m"), Ok(Duration::from_mins(90)));
        assert!(duration("10").is_err() && duration("").is_err() && duration("x").is_err());
    }

    #[test]
    fn amounts_of_memory() {
        assert_eq!((memory("600Mi"), memory("1G"), memory("2Gi")), (Ok(600 << 20), Ok(1_000_000_000), Ok(2 << 30)));
        for wrong in ["", "Mi", "1.5Gi", "1", "15Mi", "99999999999999Gi", "1Ti"] {
            assert!(memory(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!((size("64Ki"), size("1Mi"), size("10")), (Ok(65536), Ok(1_048_576), Ok(10)));
        assert!(size("").is_err() && size("Ki").is_err() && size("1.5Mi").is_err() && size("99999999999Gi").is_err());
    }
}
