//! AccECN option of TCP headers (RFC 9768 section 3.2.3).

use crate::capture::AccEcnFields;

/// AccECN0: EE0B, ECEB, EE1B.
const KIND_0: u8 = 172;
/// AccECN1: the same fields in the reverse order.
const KIND_1: u8 = 174;
/// Kind, length, and three fields of three bytes.
const LENGTH: u8 = 11;
const NO_OPERATION: u8 = 1;
const END: u8 = 0;

/// AccECN0 with all fields, and a no operation behind it, as Linux aligns it (tcp_options_write).
pub fn encode(fields: &AccEcnFields) -> [u8; LENGTH as usize + 1] {
    let mut option = [NO_OPERATION; LENGTH as usize + 1];
    (option[0], option[1]) = (KIND_0, LENGTH);
    for (place, field) in option[2..].chunks_exact_mut(3).zip([fields.e0b, fields.ceb, fields.e1b]) {
        place.copy_from_slice(&field.to_be_bytes()[1..]);
    }
    option
}

/// The option among `options`, the bytes of a header's options, if it has all three fields.
pub fn decode(mut options: &[u8]) -> Option<AccEcnFields> {
    loop {
        let (&kind, rest) = options.split_first()?;
        match kind {
            END => return None,
            NO_OPERATION => options = rest,
            _ => {
                let length = usize::from(*rest.first()?);
                let option = options.get(..length).filter(|o| o.len() >= 2)?;
                if matches!(kind, KIND_0 | KIND_1) && length == usize::from(LENGTH) {
                    let field = |place: usize| option[place..place + 3].iter().fold(0, |all, byte| all << 8 | u32::from(*byte));
                    let (first, ceb, last) = (field(2), field(5), field(8));
                    let (e0b, e1b) = if kind == KIND_0 { (first, last) } else { (last, first) };
                    return Some(AccEcnFields { e0b, ceb, e1b });
                }
                options = &options[length..];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: AccEcnFields = AccEcnFields { e0b: 0x01_02_03, ceb: 0xff_ff_fe, e1b: 1 };

    #[test]
    fn option_has_bytes_of_rfc() {
        assert_eq!(encode(&FIELDS), [172, 11, 1, 2, 3, 0xff, 0xff, 0xfe, 0, 0, 1, 1]);
    }

    #[test]
    fn both_orders_are_decoded() {
        let timestamps = [1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0];
        let option = encode(&FIELDS);
        assert_eq!(decode(&[&timestamps[..], &option].concat()), Some(FIELDS));
        let mut other = option;
        other[0] = KIND_1;
        assert_eq!(decode(&other), Some(AccEcnFields { e0b: FIELDS.e1b, e1b: FIELDS.e0b, ..FIELDS }));
    }

    #[test]
    fn damaged_options_have_no_fields() {
        let option = encode(&FIELDS);
        for bytes in [&option[..10], &[172], &[172, 0, 1], &[172, 2], &[0, 172, 11], &[]] {
            assert_eq!(decode(bytes), None, "{bytes:?}");
        }
    }
}
