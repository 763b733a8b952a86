//! The colours of the style sheet, judged as WCAG 2.2 does (1.4.3 and 1.4.11, level AA).

use std::collections::BTreeMap;

const STYLE: &str = include_str!("style.css");

/// `#rrggbb` by the name of its variable.
fn colours(text: &str) -> BTreeMap<&str, &str> {
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("--")?.strip_suffix(';')?.split_once(": "));
    lines.collect()
}

/// Relative luminance.
fn luminance(colour: &str) -> f64 {
    let channel = |at: usize| {
        let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
        if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
}

fn contrast(one: &str, other: &str) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn everything_can_be_read_in_light_and_dark() {
    assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 0.001);
    let (light, rest) = STYLE.split_once("@media (prefers-color-scheme: dark)").unwrap();
    let (dark, _) = rest.split_once("\n}\n").unwrap();
    let schemes = [("light", colours(light)), ("dark", colours(dark))];
    assert_eq!(schemes[0].1.keys().collect::<Vec<_>>(), schemes[1].1.keys().collect::<Vec<_>>());
    for (scheme, colours) in &schemes {
        for ground in ["ground", "panel"] {
            for ink in ["ink", "quiet", "link", "good", "busy", "bad"] {
                let found = contrast(colours[ink], colours[ground]);
                assert!(found >= 4.5, "{scheme}: {ink} on {ground}: {found}");
            }
            let found = contrast(colours["edge"], colours[ground]);
            assert!(found >= 3.0, "{scheme}: edges on {ground}: {found}");
        }
    }
}

#[test]
fn no_colour_is_outside_of_the_variables() {
    let elsewhere = STYLE.lines().filter(|line| line.contains('#') && !line.trim().starts_with("--"));
    assert_eq!(elsewhere.collect::<Vec<_>>(), [""; 0]);
    assert!(!STYLE.contains("url(") && !STYLE.contains("@import"), "nothing is loaded");
}
