//! The one place where the runner makes randomness: jitter, and the part of its name that makes it unique.

/// Between 0 and 1.
pub fn jitter() -> f64 {
    f64::from(u32::from_be_bytes(random())) / f64::from(u32::MAX)
}

/// Six letters and digits.
pub fn suffix() -> String {
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    random::<6>().iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect()
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}
