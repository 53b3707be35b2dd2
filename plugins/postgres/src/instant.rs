//! Points in time as PostgreSQL reads them without asking for a session's time zone.
//!
//! It must not know what they are the times of.

const SECONDS_A_DAY: i64 = 86_400;

/// The first and the last second that a year of four digits has: 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z.
const SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// An RFC 3339 text, at whatever offset, as the same instant in UTC with microseconds. Digits beyond them are left out.
pub(crate) fn from_rfc3339(text: &str) -> Option<String> {
    let (date, rest) = (text.get(..10)?, text.get(10..)?);
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (time, rest) = (rest.get(..8)?, rest.get(8..)?);
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    let (micros, zone) = match rest.strip_prefix('.') {
        Some(rest) => fraction(rest)?,
        None => (0, rest),
    };
    // A leap second is the first one of the next minute.
    let sane = day <= days_in(year, month)? && day > 0 && hour < 24 && minute < 60 && second <= 60;
    let local = days_since_1970(year, month, day) * SECONDS_A_DAY + hour * 3600 + minute * 60 + second;
    sane.then(|| shown(local - offset(zone)?, micros)).flatten()
}

/// Milliseconds since 1970, Kafka's way of telling the time.
pub(crate) fn from_millis(millis: i64) -> Option<String> {
    shown(millis.div_euclid(1000), millis.rem_euclid(1000) * 1000)
}

/// Three numbers of so many digits, parted by `by`.
fn numbers(text: &str, by: char, digits: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(by);
    let mut next = |digits| {
        let part: &str = parts.next()?;
        let plain = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| part.parse().ok()).flatten()
    };
    Some([next(digits[0])?, next(digits[1])?, next(digits[2])?])
}

/// The microseconds of a fraction, and what follows it.
fn fraction(text: &str) -> Option<(i64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let digits = &text[..end];
    let micros = format!("{digits:0<6}").get(..6)?.parse().ok()?;
    (!digits.is_empty()).then_some((micros, &text[end..]))
}

/// How many seconds a zone is ahead of UTC.
fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let [hours, minutes, _] = numbers(&format!("{}:00", zone.strip_prefix(['+', '-'])?), ':', [2, 2, 2])?;
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn shown(seconds: i64, micros: i64) -> Option<String> {
    if !SECONDS.contains(&seconds) {
        return None;
    }
    let (days, rest) = (seconds.div_euclid(SECONDS_A_DAY), seconds.rem_euclid(SECONDS_A_DAY));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z"))
}

fn days_in(year: i64, month: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => Some(if leap { 29 } else { 28 }),
        4 | 6 | 9 | 11 => Some(30),
        1..=12 => Some(31),
        _ => None,
    }
}

/// Counted in years that begin in March, so that the odd day comes last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}

/// The other way round.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_the_same_at_every_offset() {
        for text in [
            "2024-02-29T23:30:00.25Z",
            "2024-02-29t23:30:00.250000z",
            "2024-03-01 01:00:00.2500009+01:30",
            "2024-02-29T00:00:00.25-23:30",
        ] {
            assert_eq!(from_rfc3339(text).as_deref(), Some("2024-02-29T23:30:00.250000Z"), "{text}");
        }
        assert_eq!(from_rfc3339("2016-12-31T23:59:60Z").as_deref(), Some("2017-01-01T00:00:00.000000Z"));
    }

    #[test]
    fn milliseconds_and_texts_tell_the_same_time() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (-1, "1969-12-31T23:59:59.999000Z"),
            (951_782_400_001, "2000-02-29T00:00:00.001000Z"),
            (SECONDS.start() * 1000, "0001-01-01T00:00:00.000000Z"),
            (SECONDS.end() * 1000 + 999, "9999-12-31T23:59:59.999000Z"),
        ] {
            assert_eq!(from_millis(millis).as_deref(), Some(text));
            assert_eq!(from_rfc3339(text).as_deref(), Some(text));
        }
        assert_eq!(from_millis(SECONDS.end() * 1000 + 1000), None);
        assert_eq!(from_millis(i64::MIN), None);
    }

    #[test]
    fn every_day_of_four_centuries_comes_back() {
        for days in -200_000..200_000 {
            let (year, month, day) = date(days);
            assert_eq!(days_since_1970(year, month, day), days);
            assert!((1..=days_in(year, month).unwrap()).contains(&day));
        }
    }

    #[test]
    fn what_is_no_instant_is_none() {
        for text in [
            "",
            "2024-01-01",
            "2024-01-01T00:00:00",
            "2023-02-29T00:00:00Z",
            "2024-13-01T00:00:00Z",
            "2024-01-00T00:00:00Z",
            "2024-01-01T24:00:00Z",
            "2024-01-01T00:60:00Z",
            "2024-01-01T00:00:00.Z",
            "2024-01-01T00:00:00+1",
            "2024-01-01T00:00:00+24:00",
            "+024-01-01T00:00:00Z",
            "0000-12-31T00:00:00Z",
            "0001-01-01T00:00:00+01:00",
            "2024-01-01T00:00:00ZZ",
            "2024-01-0é",
        ] {
            assert_eq!(from_rfc3339(text), None, "{text}");
        }
    }
}
