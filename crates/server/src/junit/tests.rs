//! Reports as the world writes them, and as somebody may who means harm.

use super::*;

fn counts(report: &TestReport) -> [u64; 5] {
    [report.total, report.failed, report.errors, report.skipped, report.duration_ms]
}

fn read(xml: &str) -> TestReport {
    parse(xml.as_bytes()).unwrap_or_else(|problem| panic!("{problem}: {xml}"))
}

fn failure(suite: &str, name: &str, message: &str) -> TestFailure {
    TestFailure { suite: suite.into(), name: name.into(), message: message.into() }
}

#[test]
fn surefire() {
    let report = read(
        r#"<?xml version="1.0" encoding="UTF-8"?>
        <testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="x.xsd"
            version="3.0" name="com.acme.AppTest" time="1,234.567" tests="4" errors="1" skipped="1" failures="1">
          <properties><property name="java.version" value="21"/></properties>
          <testcase name="adds" classname="com.acme.AppTest" time="0.012"/>
          <testcase name="fails" classname="com.acme.AppTest" time="0.1">
            <failure message="expected: &lt;1&gt; but was: &lt;2&gt;" type="org.opentest4j.AssertionFailedError"><![CDATA[
              at com.acme.AppTest.fails(AppTest.java:7)]]></failure>
            <system-out><![CDATA[<failure>not one</failure>]]></system-out>
          </testcase>
          <testcase name="breaks" classname="com.acme.AppTest" time="0.1">
            <error type="java.lang.NullPointerException">java.lang.NullPointerException: Cannot invoke &quot;x&quot;
	at y</error>
          </testcase>
          <testcase name="later" classname="com.acme.AppTest"><skipped message="not yet"/></testcase>
        </testsuite>"#,
    );
    assert_eq!(counts(&report), [4, 1, 1, 1, 1_234_567]);
    let npe = "java.lang.NullPointerException: java.lang.NullPointerException: Cannot invoke \"x\" \tat y";
    let expected = [
        failure("com.acme.AppTest", "fails", "expected: <1> but was: <2>"),
        failure("com.acme.AppTest", "breaks", &npe.replace('\t', " ")),
    ];
    assert_eq!(report.failures, expected);
}

#[test]
fn pytest() {
    let report = read(
        r#"<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" errors="0"
        failures="1" skipped="1" tests="3" time="0.041" timestamp="2026-01-04T08:00:00.000000+00:00" hostname="h">
        <testcase classname="tests.test_app" name="test_ok[a-b]" time="0.001" />
        <testcase classname="tests.test_app" name="test_bad" time="0.002"><failure
        message="AssertionError: assert 1 == 2&#10;  +  where">def test_bad():
&gt;       assert 1 == 2</failure></testcase>
        <testcase classname="tests.test_app" name="test_skip" time="0.000"><skipped type="pytest.skip"
        message="no">/x.py:3: no</skipped></testcase></testsuite></testsuites>"#,
    );
    assert_eq!(counts(&report), [3, 1, 0, 1, 41]);
    assert_eq!(
        report.failures,
        [failure("tests.test_app", "test_bad", "AssertionError: assert 1 == 2   +  where")]
    );
}

#[test]
fn gotestsum() {
    let report = read(
        r#"<?xml version="1.0" encoding="UTF-8"?>
        <testsuites tests="3" failures="1" errors="0" time="0.322">
          <testsuite tests="2" failures="1" time="0.101" name="example.com/a" timestamp="2026-01-04T08:00:00Z">
            <properties><property name="go.version" value="go1.25"></property></properties>
            <testcase classname="a" name="TestOne/sub" time="0.000000"></testcase>
            <testcase classname="a" name="TestTwo" time="0.010000">
              <failure message="Failed" type="">=== RUN   TestTwo&#xA;    a_test.go:9: no&#xA;</failure>
            </testcase>
          </testsuite>
          <testsuite tests="1" name="example.com/b" time="0.2"><testcase classname="b" name="TestThree" time="0.1">
            <skipped message="=== RUN   TestThree"></skipped></testcase></testsuite>
        </testsuites>"#,
    );
    assert_eq!(counts(&report), [3, 1, 0, 1, 322]);
    assert_eq!(report.failures, [failure("a", "TestTwo", "Failed")]);
}

#[test]
fn jest() {
    let report = read(
        r#"<?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="jest tests" tests="2" failures="1" errors="0" time="2.5">
          <testsuite name="math" errors="0" failures="1" skipped="0" tests="2" time="1.2">
            <testcase classname="math adds" name="math adds" time="0.003"></testcase>
            <testcase classname="math divides" name="math divides" time="0.004">
              <failure>Error: expect(received).toBe(expected) // Object.is equality &amp; more
    at Object.&lt;anonymous&gt; (math.test.js:5:3)</failure>
            </testcase>
          </testsuite>
        </testsuites>"#,
    );
    assert_eq!(counts(&report), [2, 1, 0, 0, 2_500]);
    let message = "Error: expect(received).toBe(expected) // Object.is equality & more     at Object.<anonymous> (math.test.js:5:3)";
    assert_eq!(report.failures, [failure("math divides", "math divides", message)]);
}

#[test]
fn nextest() {
    let report = read(
        r#"<?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="nextest-run" tests="3" failures="1" errors="0" uuid="0" timestamp="2026-01-04T08:00:00Z" time="0.45">
          <testsuite name="app" tests="3" disabled="0" errors="0" failures="1">
            <testcase name="tests::good" classname="app" timestamp="2026-01-04T08:00:00Z" time="0.2">
              <flakyFailure timestamp="x" time="0.1" message="first try" type="test failure"><system-out/></flakyFailure>
            </testcase>
            <testcase name="tests::bad" classname="app" time="0.1">
              <failure message="thread &apos;bad&apos; panicked" type="test failure with exit code 101">long</failure>
              <rerunFailure timestamp="x" type="test failure">again</rerunFailure>
              <system-err>noise</system-err>
            </testcase>
            <testcase name="tests::fine" classname="app" time="0.1"/>
          </testsuite>
        </testsuites>"#,
    );
    assert_eq!(counts(&report), [3, 1, 0, 0, 450]);
    assert_eq!(report.failures, [failure("app", "tests::bad", "thread 'bad' panicked")]);
}

#[test]
fn suites_within_suites_and_attributes_that_are_missing() {
    let report = read(
        r#"<testsuites><testsuite name="outer"><testsuite name="inner"><testcase name="a" time="0.5"/>
        <testcase><failure/></testcase></testsuite><testcase time="nonsense" name="b" status="skipped"/>
        <testcase time="-1"><error/><failure message="milder"/></testcase></testsuite></testsuites>"#,
    );
    assert_eq!(counts(&report), [4, 1, 1, 1, 500]);
    assert_eq!(report.failures, [failure("inner", "", ""), failure("outer", "", "")]);
    assert_eq!(counts(&read("<testsuites/>")), [0; 5]);
    assert_eq!(counts(&read("<testsuite></testsuite>")), [0; 5]);
    assert_eq!(counts(&read("\u{feff}<testcase time='1.5'/>")), [1, 0, 0, 0, 1_500]);
}

#[test]
fn what_is_written_a_little_wrong_is_read_all_the_same() {
    let report = read(
        "<testsuite><testcase name='a & b'><failure>x & y &unknown; z &#x41;</failure></testcase></testsuite>",
    );
    assert_eq!(report.failures, [failure("", "a & b", "x & y &unknown; z A")]);
    let report =
        parse(b"<testsuite><testcase name='caf\xe9'><failure message='\xff\xfe'/></testcase></testsuite>")
            .unwrap();
    assert_eq!(report.failures, [failure("", "caf\u{fffd}", "\u{fffd}\u{fffd}")]);
    let report =
        read("<testsuite><testcase name='\u{1b}[2Jx'><failure message='&#27;[31m'/></testcase></testsuite>");
    assert_eq!(report.failures, [failure("", "[2Jx", "[31m")]);
}

#[test]
fn a_document_type_is_refused_before_an_entity_can_grow() {
    let laughs = r#"<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;&lol;">
        <!ENTITY lol3 "&lol2;&lol2;&lol2;&lol2;">]><testsuite name="&lol3;"/>"#;
    assert_eq!(parse(laughs.as_bytes()), Err(BadReport::DocumentType));
    let outside = r#"<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]><testsuite><testcase name="&x;"/></testsuite>"#;
    assert_eq!(parse(outside.as_bytes()), Err(BadReport::DocumentType));
    assert_eq!(parse(b"<testsuite/><!DOCTYPE x>"), Err(BadReport::DocumentType));
}

#[test]
fn what_is_too_much_is_refused() {
    assert_eq!(parse(&vec![b' '; REPORT_BYTES_MAX + 1]), Err(BadReport::TooLarge));
    assert_eq!(parse("<testsuite>".repeat(1_000_000).as_bytes()), Err(BadReport::TooDeep));
    let many = format!("<testsuite>{}</testsuite>", "<testcase/>".repeat(CASES_MAX as usize + 1));
    assert_eq!(parse(many.as_bytes()), Err(BadReport::TooManyCases));
    let attributes: String = (0..1_000_000).map(|number| format!(" a{number}=''")).collect();
    let wide = format!("<testsuite{attributes}/>");
    assert_eq!(parse(wide.as_bytes()), Err(BadReport::TooManyAttributes));
}

#[test]
fn long_texts_are_cut_and_many_failures_counted() {
    let long = "ä".repeat(3_000_000);
    let report = read(&format!(
        "<testsuite><testcase name='{long}'><failure message='{long}'/></testcase></testsuite>"
    ));
    let kept = &report.failures[0];
    assert_eq!(kept.message.chars().count(), MESSAGE_LETTERS_MAX);
    assert!(kept.name.chars().count() <= NAME_LETTERS_MAX && kept.message.ends_with('…'));
    let report = read(&format!("<testsuite><testcase><failure>{long}</failure></testcase></testsuite>"));
    assert_eq!(report.failures[0].message.chars().count(), MESSAGE_LETTERS_MAX);
    let pieces = "x<!-- -->".repeat(500_000);
    let report = read(&format!("<testsuite><testcase><failure>{pieces}</failure></testcase></testsuite>"));
    assert_eq!(report.failures[0].message.chars().count(), MESSAGE_LETTERS_MAX);
    let failures = "<testcase><failure/></testcase>".repeat(5_000);
    let report = read(&format!("<testsuite>{failures}</testsuite>"));
    assert_eq!((report.failed, report.failures.len()), (5_000, FAILURES_MAX));
}

#[test]
fn what_is_cut_off_or_none_of_ours_is_told() {
    let whole = "<testsuites><testsuite name='a'><testcase name='b'><failure message='c'>d</failure></testcase></testsuite></testsuites>";
    for cut in 1..whole.len() {
        assert!(parse(&whole.as_bytes()[..cut]).is_err(), "cut after {cut}");
    }
    assert_eq!(parse(b"<testsuite><testcase>"), Err(BadReport::Truncated));
    assert!(parse(b"\xff\xfe<\0t\0/\0>\0").is_err(), "UTF-16 is not read");
    assert_eq!(parse(b"<TestRun/>"), Err(BadReport::NotJunit("TestRun".into())));
    assert_eq!(parse(b"<html><testsuite/></html>"), Err(BadReport::NotJunit("html".into())));
    for bytes in [&b""[..], b"   ", b"not xml", b"{\"a\":1}", b"<testsuite></other>", b"</testsuite>"] {
        assert!(matches!(parse(bytes), Err(BadReport::NotXml(_) | BadReport::NotJunit(_))), "{bytes:?}");
    }
}
