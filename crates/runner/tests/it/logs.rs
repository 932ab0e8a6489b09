//! The log's file: what is written is what is read, gaps are shown, and the end makes a summary.

use runner::logs::Spool;
use tempfile::TempDir;

fn spool(bytes_max: u64) -> (TempDir, Spool) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let spool = Spool::with_limit(&folder.path().join("log"), bytes_max).expect("a file can be made");
    (folder, spool)
}

fn text(spool: &Spool) -> String {
    let bytes = spool.reader().read(0, spool.written()).expect("the file can be read");
    String::from_utf8(bytes).expect("the log is text")
}

#[test]
fn what_is_written_can_be_read_from_any_offset() {
    let (_folder, mut spool) = spool(1000);
    let reader = spool.reader();
    assert_eq!(reader.read(0, 10).expect("readable"), b"");
    spool.output(b"hello ");
    spool.output(b"world\n");
    assert_eq!(spool.written(), 12);
    assert_eq!(reader.read(0, 4).expect("readable"), b"hell");
    assert_eq!(reader.read(4, 100).expect("readable"), b"o world\n");
    assert_eq!(reader.read(100, 100).expect("readable"), b"");
}

#[test]
fn a_note_begins_a_line_of_its_own() {
    let (_folder, mut spool) = spool(1000);
    spool.note("# process: because");
    spool.note("$ make");
    spool.output(b"no newline");
    spool.note("$ make test");
    assert_eq!(text(&spool), "# process: because\n$ make\nno newline\n$ make test\n");
}

#[test]
fn output_beyond_the_limit_is_counted_and_its_place_is_shown() {
    let (_folder, mut spool) = spool(10);
    spool.output(b"12345\n");
    spool.output(b"too much for it");
    spool.output(b"and this");
    spool.note("# over");
    assert_eq!(
        text(&spool),
        "12345\n# 23 bytes of output are missing here: they could not be kept\n# over\n"
    );
}

#[test]
fn output_that_fits_again_follows_the_gap() {
    let (_folder, mut spool) = spool(1000);
    spool.output(b"a\n");
    spool.output(&[b'x'; 2000]);
    spool.output(b"b\n");
    assert_eq!(text(&spool), "a\n# 2000 bytes of output are missing here: they could not be kept\nb\n");
}

#[test]
fn the_last_words_are_the_last_lines_without_colours() {
    let (_folder, mut spool) = spool(1_000_000);
    assert_eq!(spool.last_words(), "");
    spool.output(b"one\ntwo\n\n\x1b[31merror:\x1b[0m could not compile\r\n   \nthree\n");
    assert_eq!(spool.last_words(), "two | error: could not compile | three");
    spool.output("é".repeat(5000).as_bytes());
    spool.output(b"\nend");
    let words = spool.last_words();
    assert!(words.chars().count() <= 500 && words.ends_with("é | end"), "{words}");
}
