import results
from conftest import ROOT

MTR = """<testsuites><testsuite name="s">
<testcase name="good" status="pass" suitename="s" />
{}
</testsuite></testsuites>"""


def add_up(tmp_path, *cases, may_be_skipped=()):
    report = tmp_path / "own.xml"
    report.write_text(MTR.format("\n".join(cases)))
    return results.add_up([report], may_be_skipped)


def skipped(name, combination=""):
    return (
        f'<testcase name="{name}" {combination} status="skipped" suitename="s">'
        '<skipped message="Test needs the plugin" /></testcase>'
    )


def test_a_skipped_test_has_failed(tmp_path):
    passed, failed, count = add_up(tmp_path, skipped("gone"))
    assert (passed, count) == (1, 0)
    assert failed == {"s.gone (own)": ["skipped: Test needs the plugin"]}


def test_unless_it_is_listed(tmp_path):
    assert add_up(tmp_path, skipped("gone"), may_be_skipped={"s.gone"}) == (1, {}, 1)


def test_or_another_combination_passed(tmp_path):
    assert add_up(tmp_path, skipped("good", 'combination="stmt"')) == (1, {}, 1)


def test_a_disabled_test_has_failed(tmp_path):
    case = (
        '<testcase name="off" status="disabled" suitename="s"><disabled message="why" /></testcase>'
    )
    assert list(add_up(tmp_path, case)[1]) == ["s.off (own)"]


def test_a_second_try_does_not_count(tmp_path):
    case = (
        '<testcase name="now_and_then" status="unstable" suitename="s">'
        '<unstable message="Test unstable" passed="1" failed="1" /></testcase>'
    )
    passed, failed, _ = add_up(tmp_path, case)
    assert passed == 1 and list(failed) == ["s.now_and_then (own)"]


def test_an_unknown_status_has_failed(tmp_path):
    case = '<testcase name="new" status="unheard-of" suitename="s" />'
    assert list(add_up(tmp_path, case)[1]) == ["s.new (own)"]


def test_a_message_that_is_no_xml(tmp_path):
    passed, failed, _ = add_up(
        tmp_path,
        '<testcase name="bad" status="fail" suitename="s"><failure message="Test failed: &\n'
        '< snip >\n\x01"said">\n<![CDATA[ & <x> ]]>\n</failure></testcase>',
        skipped("gone"),
        may_be_skipped={"s.gone"},
    )
    assert passed == 1 and list(failed) == ["s.bad (own)"]
    assert "snip" in " ".join(failed["s.bad (own)"])


def test_pytest_reports(tmp_path):
    report = tmp_path / "bench.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="t.a" name="good"/>'
        '<testcase classname="t.a" name="bad"><failure message="m">E  assert 0</failure></testcase>'
        '<testcase classname="t.a" name="gone"><skipped message="no server"/></testcase>'
        "</testsuite></testsuites>"
    )
    assert results.add_up([report], set()) == (
        1,
        {"t.a.bad (bench)": ["E  assert 0"], "t.a.gone (bench)": ["skipped: no server"]},
        0,
    )


def test_the_error_of_the_server_is_told(tmp_path):
    case = (
        '<testcase name="bad" status="fail" suitename="s"><failure message="Test failed">'
        "mysqltest: At line 5: Query failed.\nQuery sent to server: 'CALL p'\n"
        "Returned error: ER_SIGNAL_EXCEPTION(1644) (45000): it waited\n----\nmore"
        "</failure></testcase>"
    )
    assert list(add_up(tmp_path, case)[1].values()) == [
        [
            "mysqltest: At line 5: Query failed.",
            "Returned error: ER_SIGNAL_EXCEPTION(1644) (45000): it waited",
        ]
    ]


def test_what_has_ended_is_told(tmp_path):
    def why(message, log):
        case = (
            '<testcase name="bad" status="fail" suitename="s">'
            f'<failure message="{message}">{log}</failure></testcase>'
        )
        return next(iter(add_up(tmp_path, case)[1].values()))

    assert why("mysqltest failed with unexpected return code 139", "the last\nlines") == [
        "mysqltest failed with unexpected return code 139",
        "the last",
        "lines",
    ]
    assert why("Server mysqld.1 failed during test run", "it starts\nmysqld got signal 6 ;") == [
        "Server mysqld.1 failed during test run",
        "mysqld got signal 6 ;",
    ]


def test_of_what_hung_it_says_so(tmp_path):
    case = (
        '<testcase name="hung" status="fail" suitename="s">'
        '<failure message="Test failed, Test case timeout after 900 seconds"><![CDATA[\n'
        "mysqltest: At line 101: shutdown_server $ss_timeout\n]]></failure></testcase>"
    )
    assert add_up(tmp_path, case)[1]["s.hung (own)"] == [
        "Test failed, Test case timeout after 900 seconds",
        "mysqltest: At line 101: shutdown_server $ss_timeout",
    ]


def test_nothing_passed_is_a_failure(checkout):
    report = checkout.path / "own.xml"
    report.write_text("<testsuites></testsuites>")
    assert checkout.run("superbuild/results.py", str(report))[0] == 1


def test_each_skip_has_a_reason(tmp_path):
    assert results.read_skips(ROOT / "superbuild" / "skips")
    bare = tmp_path / "skips"
    bare.write_text("s.gone\n")
    try:
        results.read_skips(bare)
    except ValueError as error:
        assert "s.gone has no reason" in str(error)
    else:
        raise AssertionError("a line without a reason was taken")
