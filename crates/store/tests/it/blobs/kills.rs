//! `kill -9` while bytes are staged and placed: what shows afterwards is whole, and what was acknowledged is there.
//!
//! The killed process is this test binary again, told by an environment variable where to work.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use store::Blobs;

use crate::blobs::places::{MIB, digest_of, files_below, key_of, sample, staging, whole};
use crate::stores::block_on;

const FOLDER: &str = "DELTACI_TEST_BLOBS_FOLDER";
const FIRST: &str = "DELTACI_TEST_BLOBS_FIRST";

/// Works in another process, or nothing when this is the test run itself.
#[test]
fn child() {
    let (Ok(folder), Ok(first)) = (std::env::var(FOLDER), std::env::var(FIRST)) else { return };
    block_on(work_for_ever(folder, first.parse().unwrap()));
}

fn length_of(number: u64) -> usize {
    [10, 100_000, 2 * MIB, 5 * MIB][number as usize % 4]
}

/// Says each number once its blob is durable, until somebody kills it. Small, large and in parts in turn.
async fn work_for_ever(folder: String, first: u64) {
    let blobs = Blobs::open(&folder).await.unwrap();
    for number in first.. {
        let bytes = sample(number, length_of(number));
        let (at, key) = (staging(number.into()), key_of(&bytes, number.into()));
        let length = bytes.len() as u64;
        match number % 3 {
            0 => drop(blobs.put(&key, bytes).await.unwrap()),
            1 => {
                blobs.stage(&at, &key, 0, length, whole(&bytes)).await.unwrap();
                blobs.place(&at, &key).await.unwrap();
            }
            _ => {
                let etag = blobs.write_part(&at, 1, length, whole(&bytes)).await.unwrap();
                blobs.join(&at, &key, None, &[store::Part { number: 1, etag }]).await.unwrap();
                blobs.place(&at, &key).await.unwrap();
            }
        }
        eprintln!("durable {number}");
    }
}

#[test]
fn a_kill_in_the_middle_shows_nothing_torn_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged = Vec::new();
    for (round, more) in (0_u64..).zip([1, 3, 8, 2, 5, 7, 4, 6]) {
        let first = round * 1_000;
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["blobs::kills::child", "--exact", "--nocapture", "--test-threads=1"]);
        command.env(FOLDER, folder.path()).env(FIRST, first.to_string());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let numbers =
            lines.filter_map(|line| line.strip_prefix("durable ").map(|it| it.parse::<u64>().unwrap()));
        acknowledged.extend(numbers.take(more));
        std::thread::sleep(Duration::from_millis(3 * round)); // into the next one, each time a little further
        child.kill().unwrap(); // SIGKILL
        child.wait().unwrap();
    }
    let visible = files_below(&folder.path().join("blobs"));
    for path in &visible {
        let name = path.file_name().unwrap().to_str().unwrap();
        let found = digest_of(&std::fs::read(path).unwrap());
        assert!(name.starts_with(&found.hex()), "{name} is torn");
    }
    block_on(async {
        let blobs = Blobs::open(folder.path().to_str().unwrap()).await.unwrap();
        assert_eq!(acknowledged.len(), 36);
        for number in acknowledged {
            let key = key_of(&sample(number, length_of(number)), number.into());
            assert_eq!(blobs.length(&key).await, Ok(Some(length_of(number) as u64)));
            assert_eq!(blobs.place(&staging(number.into()), &key).await, Ok(()), "asked again");
        }
        // What was cut off can be discarded by its id, or done again.
        for key in blobs.keys(Some("staging/"), 1_000).await.unwrap() {
            let letters = key.strip_prefix("staging/").unwrap();
            let upload = format!("upl_{letters}").parse().unwrap();
            let nobody = key_of(b"nobody", 9);
            blobs.discard(&store::Staging::new(upload), &nobody, None).await.unwrap();
        }
        assert_eq!(blobs.keys(Some("staging/"), 10).await, Ok(vec![]));
    });
}
