//! What `strace` wrote down, as calls with arguments and results.
//!
//! A call that others came between stands on two lines; it counts as begun at the first and ended at the second, because a
//! sync only promises what had been written when it began.

use std::collections::HashMap;

#[derive(Debug)]
pub struct Call {
    /// As `strace` calls it.
    pub thread: u64,
    pub name: String,
    pub arguments: Vec<String>,
    /// Negative when it failed.
    pub result: i64,
    /// `strace` made it fail.
    pub injected: bool,
    pub begun: usize,
    pub ended: usize,
}

/// In the order in which they ended. What never ended is not among them.
pub fn calls(text: &str) -> Vec<Call> {
    let mut unfinished: HashMap<&str, (usize, &str)> = HashMap::new();
    let mut calls = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let Some((process, said)) = line.split_once(' ') else { continue };
        let said = said.trim_start();
        if let Some(beginning) = said.strip_suffix("<unfinished ...>") {
            unfinished.insert(process, (number, beginning.trim_end()));
        } else if let Some((_, end)) = said.split_once(" resumed>").filter(|_| said.starts_with("<... ")) {
            let (begun, beginning) = unfinished.remove(process).expect("what is resumed was begun");
            calls.extend(call(process, &format!("{beginning}{end}"), begun, number));
        } else {
            calls.extend(call(process, said, number, number));
        }
    }
    calls
}

/// Nothing for signals and for the end of a process.
fn call(thread: &str, said: &str, begun: usize, ended: usize) -> Option<Call> {
    let (name, rest) = said.split_once('(')?;
    let (arguments, result) = rest.rsplit_once(" = ")?;
    let arguments = arguments.trim_end().strip_suffix(')')?;
    let injected = result.ends_with("(INJECTED)");
    let result = result.split(' ').next().expect("a first word");
    let result = match result.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok()?,
        None => result.parse().ok()?, // `?`: it ended with its process
    };
    let (thread, name) = (thread.parse().ok()?, name.to_owned());
    Some(Call { thread, name, arguments: split(arguments), result, injected, begun, ended })
}

/// At the commas that stand in no brackets and in no text; texts are long.
fn split(arguments: &str) -> Vec<String> {
    let (mut all, mut depth, mut from, mut at) = (Vec::new(), 0, 0, 0);
    for (number, piece) in arguments.split('"').enumerate() {
        let is_text = number % 2 == 1;
        for (within, letter) in piece.bytes().enumerate().take_while(|_| !is_text) {
            match letter {
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth -= 1,
                b',' if depth == 0 => {
                    all.push(arguments[from..at + within].trim().to_owned());
                    from = at + within + 1;
                }
                _ => {}
            }
        }
        at += piece.len() + 1;
    }
    all.push(arguments[from..].trim().to_owned());
    all
}

impl Call {
    pub fn number(&self, index: usize) -> i64 {
        let text = &self.arguments[index];
        let parsed = match text.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        parsed.unwrap_or_else(|| panic!("{}: `{text}` is no number", self.name))
    }

    /// The bytes of a text, or of all texts of a list of pieces. Each is written as `\x61`.
    pub fn bytes(&self, index: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for text in self.arguments[index].split('"').skip(1).step_by(2) {
            assert!(text.len().is_multiple_of(4), "`{text}` is no row of bytes; was it cut off?");
            let letters = text.as_bytes();
            let mut piece = vec![0; letters.len() / 4];
            for (at, byte) in piece.iter_mut().enumerate() {
                let (high, low) = (letters[at * 4 + 2], letters[at * 4 + 3]);
                // The value of a hexadecimal digit, without a loop and without a call: there are millions of them.
                *byte = (((high & 0xf) + 9 * (high >> 6)) << 4) | ((low & 0xf) + 9 * (low >> 6));
            }
            bytes.append(&mut piece);
        }
        bytes
    }

    pub fn text(&self, index: usize) -> String {
        String::from_utf8(self.bytes(index)).expect("a path that we made")
    }

    pub fn says(&self, index: usize, flag: &str) -> bool {
        self.arguments.get(index).is_some_and(|flags| flags.split('|').any(|it| it == flag))
    }
}

#[test]
fn a_call_on_two_lines_is_one_call() {
    let text = "7 pwrite64(3, \"\\x61\\x62\", 2, 10 <unfinished ...>\n8 fsync(4)      = -1 EIO (Input/output error) (INJECTED)\n\
                7 <... pwrite64 resumed>) = 2\n7 writev(3, [{iov_base=\"\\x61\", iov_len=1}, {iov_base=\"\\x62\", iov_len=1}], 2) = 2\n\
                7 +++ exited with 0 +++\n";
    let calls = calls(text);
    let [sync, write, pieces] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!((sync.name.as_str(), sync.result, sync.injected), ("fsync", -1, true));
    assert_eq!((write.bytes(1), write.number(3), write.begun, write.ended), (b"ab".to_vec(), 10, 0, 2));
    assert_eq!((write.thread, sync.thread), (7, 8));
    assert_eq!((pieces.bytes(1), pieces.arguments.len()), (b"ab".to_vec(), 3));
}
