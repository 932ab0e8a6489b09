//! Git's ids of contents, computed without git: no filter, no conversion, the bytes as they are.

use std::fs::File;
use std::io::{self, Read, Seek};

use pipeline::tree::ContentId;
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// Above this, a file is hashed piece by piece.
pub const PIECE_BYTES: usize = 256 * 1024;
/// How often a file that grows or shrinks while it is read is read again.
const TRIES_MAX: usize = 3;

/// How a repository names its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    #[default]
    Sha1,
    Sha256,
}

impl Format {
    pub fn of_bytes(self, bytes: &[u8]) -> ContentId {
        let mut hasher = Hasher::new(self, bytes.len() as u64);
        hasher.update(bytes);
        hasher.finish()
    }

    /// The id of all that is in the file, whatever its position was. `buffer` is room to work in.
    pub fn of_file(self, file: &mut File, buffer: &mut Vec<u8>) -> io::Result<ContentId> {
        for _ in 0..TRIES_MAX {
            file.rewind()?;
            let length = file.metadata()?.len();
            if length <= PIECE_BYTES as u64 {
                buffer.clear();
                // One more, to see that it has grown.
                file.by_ref().take(PIECE_BYTES as u64 + 1).read_to_end(buffer)?;
                if buffer.len() <= PIECE_BYTES {
                    return Ok(self.of_bytes(buffer));
                }
            } else if let Some(id) = self.of_pieces(file, length, buffer)? {
                return Ok(id);
            }
        }
        Err(io::Error::other("it is written to while it is read; try again when it is complete"))
    }

    fn of_pieces(self, file: &mut File, length: u64, buffer: &mut Vec<u8>) -> io::Result<Option<ContentId>> {
        buffer.resize(PIECE_BYTES, 0);
        let mut hasher = Hasher::new(self, length);
        let mut seen = 0;
        while let count @ 1.. = file.read(buffer)? {
            hasher.update(&buffer[..count]);
            seen += count as u64;
        }
        Ok((seen == length).then(|| hasher.finish()))
    }
}

enum Hasher {
    Sha1(Sha1),
    Sha256(Sha256),
}

impl Hasher {
    fn new(format: Format, length: u64) -> Hasher {
        let mut hasher = match format {
            Format::Sha1 => Hasher::Sha1(Sha1::new()),
            Format::Sha256 => Hasher::Sha256(Sha256::new()),
        };
        hasher.update(format!("blob {length}\0").as_bytes());
        hasher
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Hasher::Sha1(hasher) => hasher.update(bytes),
            Hasher::Sha256(hasher) => hasher.update(bytes),
        }
    }

    fn finish(self) -> ContentId {
        let mut id = [0; 32];
        match self {
            Hasher::Sha1(hasher) => id[..20].copy_from_slice(&hasher.finalize()),
            Hasher::Sha256(hasher) => id.copy_from_slice(&hasher.finalize()),
        }
        ContentId(id)
    }
}

/// An id as git prints it, 40 or 64 hexadecimal digits.
pub fn parse(text: &[u8]) -> Option<ContentId> {
    if !matches!(text.len(), 40 | 64) {
        return None;
    }
    let digit = |letter: u8| (letter as char).to_digit(16).map(|digit| digit as u8);
    let mut id = [0; 32];
    for (byte, pair) in id.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(ContentId(id))
}

/// An id as git reads it.
pub fn print(format: Format, id: &ContentId) -> String {
    let length = match format {
        Format::Sha1 => 20,
        Format::Sha256 => 32,
    };
    id.0[..length].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_git() {
        let empty = Format::Sha1.of_bytes(b"");
        assert_eq!(print(Format::Sha1, &empty), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        let hello = Format::Sha256.of_bytes(b"");
        let text = "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813";
        assert_eq!(print(Format::Sha256, &hello), text);
        assert_eq!(parse(text.as_bytes()), Some(hello));
        assert_eq!(parse(b"e69d"), None);
        assert_eq!(parse("zz".repeat(20).as_bytes()), None);
    }
}
