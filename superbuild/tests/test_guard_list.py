LIST = """# a comment
main.lock
innodb.doublewrite  --innodb-page-io-fast-path=ON   # and why
main.flush
innodb.monitor      --innodb-page-io-fast-path=ON
"""


def listed(checkout, text):
    (checkout.path / "patches" / "guard.list").write_text(text)
    (checkout.path / "mysql-test").mkdir(exist_ok=True)
    status, output = checkout.run("superbuild/test.sh", "--list")
    return status, output.splitlines()


def test_one_run_for_all_tests_with_the_same_options(checkout):
    status, (plain, fast) = listed(checkout, LIST)
    assert status == 0
    assert plain.startswith("guard: ") and plain.endswith(" -- main.lock main.flush")
    assert fast.startswith("guard-1: ") and fast.endswith(" -- innodb.doublewrite innodb.monitor")
    assert "--mysqld=--innodb-page-io-fast-path=ON" in fast
    assert "fast-path" not in plain


def test_the_last_option_wins(checkout):
    _, (line,) = listed(checkout, "main.lock --loose-binlog-purge-background=ON\n")
    assert line.index("background=OFF") < line.index("background=ON")


def test_another_field_is_an_error(checkout):
    status, output = listed(checkout, "main.lock fast-path\n")
    assert status == 1
    assert "main.lock: 'fast-path' is no server option" in output[0]
