//! Writes a decimal with all of its digits.
//!
//! It does not know schemas.

use num_bigint::BigInt;

/// How many bytes an unscaled value may have: more than 300 digits. Beyond it the record does not decode; the time that writing the
/// digits takes grows with the square of their number.
const UNSCALED_BYTES_MAX: usize = 128;

/// How many zeros a scale may add, in front or behind.
const SCALE_MAX: i64 = 1024;

/// The decimal `unscaled · 10^-scale`, with `scale` digits behind the point. The bytes are big-endian two's complement.
///
/// # Errors
/// Says what is wrong with the parts.
pub(super) fn text(unscaled: &[u8], scale: i64) -> Result<String, String> {
    if unscaled.is_empty() || unscaled.len() > UNSCALED_BYTES_MAX {
        let bytes = unscaled.len();
        return Err(format!("a decimal of {bytes} bytes; 1 to {UNSCALED_BYTES_MAX} are read"));
    }
    if !(-SCALE_MAX..=SCALE_MAX).contains(&scale) {
        return Err(format!("a decimal with the scale {scale}; at most {SCALE_MAX} is read"));
    }
    let digits = BigInt::from_signed_bytes_be(unscaled).to_string();
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits.as_str()),
    };
    let places = usize::try_from(scale.unsigned_abs()).unwrap_or_default();
    if scale < 0 && digits != "0" {
        return Ok(format!("{sign}{digits}{}", "0".repeat(places)));
    }
    if scale <= 0 {
        return Ok(format!("{sign}{digits}"));
    }
    // At least one digit stands before the point.
    let padded = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = padded.split_at(padded.len() - places);
    Ok(format!("{sign}{whole}.{fraction}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_digits_are_kept() {
        assert_eq!(text(&[0x04, 0xd2], 2).unwrap(), "12.34");
        assert_eq!(text(&[0xfb, 0x2e], 3).unwrap(), "-1.234");
        assert_eq!(text(&[0xff], 3).unwrap(), "-0.001");
        assert_eq!(text(&[0], 2).unwrap(), "0.00");
        assert_eq!(text(&[7], 0).unwrap(), "7");
        assert_eq!(text(&[7], -2).unwrap(), "700");
        assert_eq!(text(&[0], -2).unwrap(), "0");
        assert_eq!(text(&[0x7f; 16], 0).unwrap(), "169473963133173273960190490760135540607");
    }

    #[test]
    fn decimals_beyond_the_bounds_are_refused() {
        assert!(text(&[], 0).unwrap_err().contains("0 bytes"));
        assert!(text(&[1; 129], 0).unwrap_err().contains("129 bytes"));
        assert!(text(&[1], i64::MIN).unwrap_err().contains("scale"));
        assert!(text(&[0x7f; 128], 1024).is_ok());
    }
}
