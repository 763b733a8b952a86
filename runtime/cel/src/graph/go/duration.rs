//! Durations, in nanoseconds: `time.ParseDuration` and `Duration.String`.

use super::number;

const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3600 * SECOND),
];

pub(in crate::graph) const SECOND: u64 = 1_000_000_000;

/// Reads `1h30m`, `-1.5s`, `0`.
pub(in crate::graph) fn parse(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let most = 1_u64 << 63;
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (whole, after) = split_digits(rest);
        let (fraction, after) = after.strip_prefix('.').map_or(("", after), split_digits);
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let end = after.find(|char: char| char == '.' || char.is_ascii_digit()).unwrap_or(after.len());
        let (name, next) = after.split_at(end);
        let (_, unit) = UNITS.iter().find(|(unit, _)| *unit == name)?;
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let part = whole.checked_mul(*unit)?.checked_add(fraction_of(fraction, *unit))?;
        total = total.checked_add(part).filter(|total| *total <= most)?;
        rest = next;
    }
    match (negative, i64::try_from(total)) {
        (false, Ok(total)) => Some(total),
        (true, Ok(total)) => Some(-total),
        (true, Err(_)) => Some(i64::MIN),
        (false, Err(_)) => None,
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len()))
}

/// So much of a unit; digits beyond what an hour has nanoseconds do not count.
fn fraction_of(digits: &str, unit: u64) -> u64 {
    let digits = &digits[..digits.len().min(18)];
    let number = u128::from(digits.parse::<u64>().unwrap_or(0));
    let scale = 10_u128.pow(u32::try_from(digits.len()).unwrap_or(0));
    u64::try_from(number * u128::from(unit) / scale).unwrap_or(0)
}

/// `1h0m0s`, `1.5s`, `1µs`, `0s`.
pub(in crate::graph) fn format(duration: i64) -> String {
    let sign = if duration < 0 { "-" } else { "" };
    let nanos = duration.unsigned_abs();
    let decimal = |unit: u64, name: &str| {
        let (whole, rest) = (nanos / unit, nanos % unit);
        let width = unit.ilog10() as usize;
        let fraction = if rest == 0 { String::new() } else { format!(".{rest:0width$}") };
        format!("{sign}{whole}{}{name}", fraction.trim_end_matches('0'))
    };
    match nanos {
        1..1_000 => decimal(1, "ns"),
        1_000..1_000_000 => decimal(1_000, "µs"),
        1_000_000..SECOND => decimal(1_000_000, "ms"),
        _ => {
            let (minutes, rest) = (nanos / (60 * SECOND), nanos % (60 * SECOND));
            let (seconds, rest) = (rest / SECOND, rest % SECOND);
            let fraction = if rest == 0 { String::new() } else { format!(".{rest:09}") };
            let seconds = format!("{seconds}{}s", fraction.trim_end_matches('0'));
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{sign}{seconds}"),
                (0, minutes) => format!("{sign}{minutes}m{seconds}"),
                (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}"),
            }
        }
    }
}

/// `3600s`, `1.5s`: what `string()` makes of it.
pub(in crate::graph) fn in_seconds(duration: i64) -> String {
    let second = SECOND.cast_signed();
    let seconds = number::of_int(duration / second) + number::of_int(duration % second) / number::of_uint(SECOND);
    format!("{}s", number::plain(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_as_go_does() {
        for (text, nanos, shown) in [
            ("1h30m", 5400 * 1_000_000_000, "1h30m0s"),
            ("1.5h", 5400 * 1_000_000_000, "1h30m0s"),
            ("-1.5s", -1_500_000_000, "-1.5s"),
            ("+.5s", 500_000_000, "500ms"),
            ("1.s", 1_000_000_000, "1s"),
            ("0", 0, "0s"),
            ("-0", 0, "0s"),
            ("1h1h", 7200 * 1_000_000_000, "2h0m0s"),
            ("1us", 1000, "1µs"),
            ("1.5µs", 1500, "1.5µs"),
            ("1ns", 1, "1ns"),
            ("90s", 90_000_000_000, "1m30s"),
            ("1.000000001s", 1_000_000_001, "1.000000001s"),
            ("-9223372036854775808ns", i64::MIN, "-2562047h47m16.854775808s"),
        ] {
            assert_eq!(parse(text), Some(nanos), "{text}");
            assert_eq!(format(nanos), shown, "{text}");
        }
        for text in
            ["", "-", "1", "1d", "s", ".s", "x", " 1s", "1s ", "1 s", "9223372036854775808ns", "3000000h", "1e3s"]
        {
            assert_eq!(parse(text), None, "{text:?}");
        }
        assert_eq!(in_seconds(1), "0.000000001s");
        assert_eq!(in_seconds(3_661_000_000_000), "3661s");
    }
}
