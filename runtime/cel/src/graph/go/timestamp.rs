//! Moments: RFC 3339 as `time.Parse` and `Time.Format` have it, from the year 1 to 9999.

use std::cmp::Ordering;

use chrono::{DateTime, Datelike, FixedOffset, NaiveDate, NaiveDateTime, Offset, TimeZone, Timelike};

/// Seconds since 1970 of the first and the last moment that there is.
const RANGE: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// A moment, and the offset from UTC that it was written with, in seconds.
#[derive(Debug, Clone, Copy)]
pub(in crate::graph) struct Timestamp {
    seconds: i64,
    nanos: u32,
    offset: i32,
}

/// The parts of a moment in a zone.
pub(in crate::graph) enum Part {
    FullYear,
    Month,
    Date,
    DayOfMonth,
    DayOfWeek,
    DayOfYear,
    Hours,
    Minutes,
    Seconds,
    Milliseconds,
}

impl Timestamp {
    /// So many seconds since 1970.
    pub(in crate::graph) fn of_seconds(seconds: i64) -> Option<Self> {
        RANGE.contains(&seconds).then_some(Self { seconds, nanos: 0, offset: 0 })
    }

    pub(in crate::graph) fn seconds(self) -> i64 {
        self.seconds
    }

    /// `2026-01-31T12:00:00.5+01:00`.
    pub(in crate::graph) fn parse(text: &str) -> Option<Self> {
        let (date, rest) = text.split_at_checked(10)?;
        let (time, rest) = rest.strip_prefix('T')?.split_at_checked(8)?;
        let (fraction, zone) = match rest.strip_prefix('.') {
            Some(rest) => {
                let end = rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len());
                (Some(&rest[..end]), &rest[end..])
            }
            None => (None, rest),
        };
        let offset = parse_offset(zone)?;
        let nanos = fraction.map_or(Some(0), parse_fraction)?;
        let local = parse_date(date)?.and_time(parse_time(time)?);
        let seconds = local.and_utc().timestamp() - i64::from(offset);
        RANGE.contains(&seconds).then_some(Self { seconds, nanos, offset })
    }

    /// `2026-01-31`, its beginning in UTC.
    pub(in crate::graph) fn parse_day(text: &str) -> Option<Self> {
        let day = parse_date(text)?;
        Self::of_seconds(day.and_time(chrono::NaiveTime::MIN).and_utc().timestamp())
    }

    pub(in crate::graph) fn add(self, duration: i64) -> Option<Self> {
        let second = super::duration::SECOND.cast_signed();
        let nanos = i64::from(self.nanos) + duration.rem_euclid(second);
        let seconds = self.seconds.checked_add(duration.div_euclid(second))?.checked_add(nanos / second)?;
        let nanos = u32::try_from(nanos % second).ok()?;
        RANGE.contains(&seconds).then_some(Self { seconds, nanos, offset: self.offset })
    }

    /// Which of two is earlier. With what offset they were written does not matter.
    pub(in crate::graph) fn compare(self, other: Self) -> Ordering {
        (self.seconds, self.nanos).cmp(&(other.seconds, other.nanos))
    }

    /// How long after the other it is, in nanoseconds.
    pub(in crate::graph) fn since(self, other: Self) -> Option<i64> {
        let nanos =
            |moment: Self| i128::from(moment.seconds) * i128::from(super::duration::SECOND) + i128::from(moment.nanos);
        i64::try_from(nanos(self) - nanos(other)).ok()
    }

    /// Whether it is the beginning of the year 1: what Go has where nothing was set.
    pub(in crate::graph) fn is_zero(self) -> bool {
        self.seconds == *RANGE.start() && self.nanos == 0
    }

    /// RFC 3339 with the offset that it was written with, and all digits of its fraction.
    pub(in crate::graph) fn format(self) -> String {
        self.shown(self.offset, self.nanos)
    }

    /// The same in UTC.
    pub(in crate::graph) fn format_utc(self) -> String {
        self.shown(0, self.nanos)
    }

    /// The same in UTC, without a fraction.
    pub(in crate::graph) fn format_seconds(self) -> String {
        self.shown(0, 0)
    }

    fn shown(self, offset: i32, nanos: u32) -> String {
        let local = self.local(offset);
        let fraction = if nanos == 0 { String::new() } else { format!(".{nanos:09}") };
        let zone = match offset {
            0 => "Z".to_owned(),
            offset => {
                let minutes = offset.abs() / 60;
                format!("{}{:02}:{:02}", if offset < 0 { '-' } else { '+' }, minutes / 60, minutes % 60)
            }
        };
        let (year, month, day) = (local.year(), local.month(), local.day());
        let (hour, minute, second) = (local.hour(), local.minute(), local.second());
        let fraction = fraction.trim_end_matches('0');
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}{zone}")
    }

    fn local(self, offset: i32) -> NaiveDateTime {
        DateTime::from_timestamp(self.seconds + i64::from(offset), self.nanos).unwrap_or_default().naive_utc()
    }

    /// A part in a zone: a name such as `Europe/Paris`, or an offset such as `-05:30`. The error says which is none.
    pub(in crate::graph) fn part(self, part: &Part, zone: &str) -> Result<i64, String> {
        let local = self.local(self.offset_in(zone)?);
        let one_based = |number: u32| i64::from(number) - 1;
        Ok(match part {
            Part::FullYear => i64::from(local.year()),
            Part::Month => one_based(local.month()),
            Part::Date => i64::from(local.day()),
            Part::DayOfMonth => one_based(local.day()),
            Part::DayOfWeek => i64::from(local.weekday().num_days_from_sunday()),
            Part::DayOfYear => one_based(local.ordinal()),
            Part::Hours => i64::from(local.hour()),
            Part::Minutes => i64::from(local.minute()),
            Part::Seconds => i64::from(local.second()),
            Part::Milliseconds => i64::from(self.nanos / 1_000_000),
        })
    }

    fn offset_in(self, zone: &str) -> Result<i32, String> {
        let unknown = || format!("unknown time zone {}", zone.chars().take(40).collect::<String>());
        if matches!(zone, "" | "UTC" | "Local") {
            return Ok(0);
        }
        if let Some((hours, minutes)) = zone.split_once(':') {
            let negative = zone.starts_with('-');
            let (hours, minutes): (i32, i32) =
                (hours.parse().map_err(|_| unknown())?, minutes.parse().map_err(|_| unknown())?);
            if hours.abs() > 23 || !(0..60).contains(&minutes) {
                return Err(unknown());
            }
            return Ok((hours * 60 + if negative { -minutes } else { minutes }) * 60);
        }
        let named: chrono_tz::Tz = zone.parse().map_err(|_| unknown())?;
        let offset: FixedOffset = named.offset_from_utc_datetime(&self.local(0)).fix();
        Ok(offset.local_minus_utc())
    }
}

/// All digits, so many of them.
fn number(text: &str) -> Option<u32> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

fn parse_date(text: &str) -> Option<NaiveDate> {
    let [year, month, day] = fields(text, '-', [4, 2, 2])?;
    NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day)
}

fn parse_time(text: &str) -> Option<chrono::NaiveTime> {
    let [hour, minute, second] = fields(text, ':', [2, 2, 2])?;
    chrono::NaiveTime::from_hms_opt(hour, minute, second)
}

fn fields(text: &str, separator: char, widths: [usize; 3]) -> Option<[u32; 3]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; 3];
    for (out, width) in numbers.iter_mut().zip(widths) {
        *out = number(parts.next().filter(|part| part.len() == width)?)?;
    }
    parts.next().is_none().then_some(numbers)
}

/// Digits behind the point, in nanoseconds; what is finer is cut off.
fn parse_fraction(digits: &str) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    let digits = &digits[..digits.len().min(9)];
    Some(number(digits)? * 10_u32.pow(u32::try_from(9 - digits.len()).ok()?))
}

fn parse_offset(zone: &str) -> Option<i32> {
    if zone == "Z" {
        return Some(0);
    }
    let (sign, rest) = zone.split_at_checked(1)?;
    let (hours, minutes) = rest.split_once(':').filter(|(hours, minutes)| hours.len() == 2 && minutes.len() == 2)?;
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let seconds = i32::try_from((hours * 60 + minutes) * 60).ok().filter(|_| hours < 24 && minutes < 60)?;
    match sign {
        "+" => Some(seconds),
        "-" => Some(-seconds),
        _ => None,
    }
}
