//! An access token is shown once and seen nowhere else; what it is recognised by says nothing of it.

use wire::{LeaseHash, TokenHash, TokenId, TokenKey, TokenSecret};

fn minted(id: u128, byte: u8) -> TokenSecret {
    TokenSecret::minted(TokenId::from_u128(id), [byte; 32])
}

#[test]
fn a_token_prints_nothing_of_itself() {
    for token in [minted(7, 0xa5), TokenSecret::from("hunter2".to_owned())] {
        for shown in [format!("{token:?}"), format!("{token:#?}"), format!("{:?}", Some(&token))] {
            assert!(!shown.contains(token.expose()) && !shown.contains("a5a5"), "{shown}");
            assert!(shown.contains("hidden"), "{shown}");
        }
        let key = format!("{:?}", token.key());
        assert!(!key.contains(token.expose()) && !key.contains("a5a5"), "{key}");
    }
}

#[test]
fn a_minted_token_names_itself_and_holds_256_bits() {
    let id = TokenId::from_u128(u128::MAX);
    let letters = &id.to_string()["tok_".len()..];
    assert_eq!(letters.len(), 26);
    let token = TokenSecret::minted(id, [0xa5; 32]);
    assert_eq!(token.expose(), format!("dci_{letters}_{}", "a5".repeat(32)));
    assert_eq!(token.key(), TokenKey { id, hash: token.hash() });
}

#[test]
fn a_token_is_known_again_by_its_key() {
    let token = minted(7, 1);
    let sent = serde_json::to_string(&token).unwrap();
    assert_eq!(sent, format!("\"{}\"", token.expose()));
    let received: TokenSecret = serde_json::from_str(&sent).unwrap();
    assert_eq!(received.key(), token.key());
    assert_ne!(minted(7, 2).hash(), token.hash(), "other bits, another proof");
    assert_ne!(minted(8, 1).hash(), token.hash(), "the same bits of another token prove nothing");
    assert_eq!(TokenHash::from_bytes(*token.hash().as_bytes()), token.hash());
}

/// Anybody may send any text: it leads nowhere, and never to a panic.
#[test]
fn a_text_that_we_did_not_mint_names_no_token() {
    let letters = "0".repeat(26);
    let texts = [
        String::new(),
        "dci_".into(),
        "dci__".into(),
        "hunter2".into(),
        format!("dci_{letters}"),
        format!("tok_{letters}_aa"),
        format!("dci_{}_aa", "é".repeat(13)),
        format!("dci_8{}_aa", "z".repeat(25)),
        "dci_\0_\0".into(),
    ];
    for text in texts {
        assert_eq!(TokenSecret::from(text.clone()).key().id, TokenId::FIRST, "{text:?}");
    }
}

/// However early or late two hashes differ; that it takes the same time is the library's promise.
#[test]
fn hashes_differ_wherever_a_bit_does() {
    for place in 0..256 {
        let mut bytes = [0; 32];
        bytes[place / 8] ^= 1 << (place % 8);
        assert_ne!(TokenHash::from_bytes(bytes), TokenHash::from_bytes([0; 32]), "{place}");
        assert_ne!(LeaseHash::from_bytes(bytes), LeaseHash::from_bytes([0; 32]), "{place}");
    }
}
