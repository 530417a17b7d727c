//! Packet classifiers of a guest kernel (`driver/tag.h`): the scenario's shims that assign classes of service, encoded as in protocol frames.

use forebay_experiment::transport::Chosen;
use forebay_types::Bytes;
use forebay_types::param::Values;

/// Numbers of a tagger (`FB_TAGS` in `driver/protocol_frames.h`).
pub const TAGS: usize = 9;
/// `FB_TAG_SERVICE`.
pub const SERVICE: u64 = 1;
/// `FB_TAG_PIAS`.
pub const PIAS: u64 = 2;
/// `FB_TAG_PRIN`.
pub const PRIN: u64 = 3;
/// Names of the shims that do so in a guest.
pub const SHIMS: [&str; 3] = ["pias", "prin", "service"];

/// The numbers of what tags the packets of a transport with `shims`; all 0 where nothing does.
///
/// # Errors
/// A shim that the guest does not have with the parameters of the scenario: the reason, and the legal values.
pub fn tag(shims: &[Chosen]) -> Result<[u64; TAGS], String> {
    let mut tag = [0; TAGS];
    for shim in shims {
        let v = &shim.values;
        match shim.name {
            "service" => tag[..2].copy_from_slice(&[SERVICE, v.int("class").unsigned_abs()]),
            "prin" if v.bool("priority") => {
                tag[..3].copy_from_slice(&[PRIN, v.int("class").unsigned_abs(), u64::from(v.bool("prio-retransmit"))]);
            }
            // The rest of it is a congestion control (`congestion_controls.rs`).
            "prin" => {}
            "pias" => tag = pias(v)?,
            // Of another place (`shims.rs`).
            _ => {}
        }
    }
    Ok(tag)
}

fn pias(v: &Values) -> Result<[u64; TAGS], String> {
    let Some(sizes) = v.opt_names("demotion-thresholds") else {
        return Err(
            "`table` of `pias` is known to the simulator alone; legal: `demotion-thresholds` with the sizes themselves".into()
        );
    };
    let mut tag = [u64::MAX; TAGS];
    tag[0] = PIAS;
    tag[1] = u64::from(v.text("per") == "message");
    for (place, size) in tag[2..].iter_mut().zip(&sizes) {
        *place = size.parse::<Bytes>().map_err(|e| e.to_string())?.0;
    }
    Ok(tag)
}
