//! Moments and durations. As cel-go has it, which reads nothing that RFC 3339 does not allow.

use super::{all_fail, all_true};

#[test]
fn what_is_added_to_a_moment_is_carried() {
    all_true(&[
        "timestamp('2024-01-01T00:00:00.75Z') + duration('500ms') == timestamp('2024-01-01T00:00:01.25Z')",
        "timestamp('2024-01-01T00:00:00.75Z') + duration('2250ms') == timestamp('2024-01-01T00:00:03Z')",
        "timestamp('2024-01-01T00:00:00.999999999Z') + duration('1ns') == timestamp('2024-01-01T00:00:01Z')",
        "timestamp('2024-01-01T00:00:00.25Z') - duration('500ms') == timestamp('2023-12-31T23:59:59.75Z')",
        "timestamp('2024-01-01T00:00:00.25Z') + duration('-500ms') == timestamp('2023-12-31T23:59:59.75Z')",
        "string(timestamp('2024-01-01T00:00:00.75Z') + duration('500ms')) == '2024-01-01T00:00:01.25Z'",
    ]);
}

#[test]
fn one_moment_is_another_when_it_is_the_same_in_utc() {
    all_true(&[
        "timestamp(0) != timestamp(1) && timestamp('2024-01-01T00:00:00Z') != timestamp('2024-01-01T00:00:00.5Z')",
        "timestamp('2024-01-01T00:00:00Z') == timestamp('2024-01-01T01:00:00+01:00')",
        "timestamp('2024-01-01T00:00:00Z') != timestamp('2024-01-01T00:00:00+01:00')",
        "timestamp('2024-01-01T00:30:00+01:00') < timestamp('2024-01-01T00:00:00Z') && timestamp(0) < timestamp('1970-01-01T00:00:00.5Z')",
        "[timestamp(2), timestamp(1)].sort() == [timestamp(1), timestamp(2)] && [timestamp(2), timestamp(2)].distinct().size() == 1",
    ]);
}

#[test]
fn offsets_are_read_as_rfc_3339_has_them() {
    all_true(&[
        "timestamp('2024-01-01T00:00:00-05:30').getHours() == 5 && timestamp('2024-01-01T00:00:00-05:30').getMinutes() == 30",
        "string(timestamp('2024-01-01T00:00:00-05:30')) == '2024-01-01T00:00:00-05:30'",
        "timestamp('2024-01-01T00:00:00+23:59').getMinutes() == 1",
    ]);
    for zone in
        ["+24:00", "+23:60", "+24:60", "+1:00", "+01:0", "+001:00", "+01:000", "+0100", "~01:00", "+0a:00", "+", ""]
    {
        all_fail(&[(&format!("timestamp('2024-01-01T00:00:00{zone}')"), "invalid RFC 3339 timestamp")]);
    }
}

#[test]
fn a_zone_is_less_than_a_day_away() {
    all_true(&[
        "timestamp(0).getHours('23:59') == 23 && timestamp(0).getHours('+23:00') == 23",
        "timestamp(0).getHours('-23:59') == 0 && timestamp(0).getMinutes('-23:59') == 1 && timestamp(0).getDate('-23:59') == 31",
    ]);
    all_fail(&[
        ("timestamp(0).getHours('24:00')", "unknown time zone"),
        ("timestamp(0).getHours('-24:00')", "unknown time zone"),
        ("timestamp(0).getHours('01:60')", "unknown time zone"),
    ]);
}

#[test]
fn no_time_is_no_seconds() {
    all_true(&[
        "string(duration('0s')) == '0s' && string(duration('-0s')) == '0s' && duration('0') == duration('-0s')",
    ]);
}
