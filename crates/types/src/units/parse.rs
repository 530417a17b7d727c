//! Parsing of "number + unit" texts.
//!
//! Decimals are read as decimals (mantissa and power of ten), not through binary floats, so "0.1us" is exactly 100 000 ps.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Reason why a quantity was refused, with the legal forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuantityError(pub String);

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for QuantityError {}

/// Reads `text` as a non-negative decimal followed by one of `units` (name, value of one unit in base units).
/// The product must be a whole number of base units that fits `u64`.
pub(crate) fn quantity(text: &str, what: &str, units: &[(&str, u64)]) -> Result<u64, QuantityError> {
    let legal = || units.iter().map(|u| u.0).collect::<Vec<_>>().join(", ");
    let t = text.trim();
    let split = t.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(t.len());
    let (number, unit) = (t[..split].replace('_', ""), t[split..].trim());
    if number.is_empty() || number == "." || number.matches('.').count() > 1 {
        return Err(QuantityError(format!("`{text}` is not a {what}: write a number and a unit ({})", legal())));
    }
    let Some(&(_, scale)) = units.iter().find(|u| u.0 == unit) else {
        let hint = if unit.is_empty() { "the unit is missing".to_owned() } else { format!("unknown unit `{unit}`") };
        return Err(QuantityError(format!("`{text}` is not a {what}: {hint}; legal units are {}", legal())));
    };
    let (whole, frac) = number.split_once('.').unwrap_or((&number, ""));
    let frac = frac.trim_end_matches('0');
    let too_large = || QuantityError(format!("`{text}` is too large for a {what}"));
    if frac.len() > 18 || whole.len() > 20 {
        return Err(QuantityError(format!("`{text}` has too many digits for a {what}")));
    }
    let mantissa: u128 = format!("0{whole}{frac}").parse().map_err(|_| too_large())?;
    let product = mantissa.checked_mul(u128::from(scale)).ok_or_else(too_large)?;
    let divisor = 10u128.pow(frac.len() as u32);
    if !product.is_multiple_of(divisor) {
        return Err(QuantityError(format!("`{text}` is finer than the smallest {what} that can be represented")));
    }
    u64::try_from(product / divisor).map_err(|_| too_large())
}
