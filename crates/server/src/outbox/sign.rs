//! Signatures as Standard Webhooks has them: HMAC-SHA256 over id, timestamp and body.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use wire::WebhookSecret;

/// A secret that begins so is base64.
const PREFIX: &str = "whsec_";

/// The value of `webhook-signature`; `None` for a secret that is not what it says.
pub fn signature(secret: &WebhookSecret, id: &str, timestamp: i64, body: &[u8]) -> Option<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(&key(secret.expose())?).expect("a key of any length");
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(body);
    Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
}

/// `whsec_` and base64, or a text that is the key itself.
fn key(secret: &str) -> Option<Vec<u8>> {
    match secret.strip_prefix(PREFIX) {
        Some(encoded) => STANDARD.decode(encoded).ok().filter(|key| !key.is_empty()),
        None => (!secret.is_empty()).then(|| secret.as_bytes().to_vec()),
    }
}

pub fn is_usable(secret: &str) -> bool {
    key(secret).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signed(secret: &str, id: &str, timestamp: i64, body: &str) -> String {
        signature(&secret.to_owned().into(), id, timestamp, body.as_bytes()).unwrap()
    }

    /// The vector that the specification's own libraries are tested with.
    #[test]
    fn the_specifications_vector() {
        let signature = signed(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            r#"{"test": 2432232314}"#,
        );
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_plain_text_is_its_own_key() {
        let plain = signed("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_1", 1, "{}");
        let decoded = signed("whsec_TWZLUTlyOEdLWXFyVHdqVVBEOElMUFpJbzJMYUxhU3c=", "msg_1", 1, "{}");
        assert_eq!(plain, decoded);
    }

    #[test]
    fn every_part_counts() {
        let first = signed("some secret text", "msg_1", 1, "{}");
        for other in [
            signed("some other secret", "msg_1", 1, "{}"),
            signed("some secret text", "msg_2", 1, "{}"),
            signed("some secret text", "msg_1", 2, "{}"),
            signed("some secret text", "msg_1", 1, "[]"),
        ] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn a_secret_that_is_no_base64_is_not_usable() {
        assert!(is_usable("whsec_AAAA") && is_usable("plain"));
        assert!(!is_usable("whsec_") && !is_usable("whsec_?") && !is_usable(""));
    }
}
