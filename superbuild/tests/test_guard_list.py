import shutil

LIST = """# a comment
main.lock
innodb.doublewrite  --innodb-page-io-fast-path=ON   # and why
main.flush
innodb.monitor      --innodb-page-io-fast-path=ON
"""


def listed(checkout, text):
    (checkout.path / "patches" / "guard.list").write_text(text)
    own = checkout.path / "mysql-test/suite/one/t"
    own.mkdir(parents=True, exist_ok=True)
    (own / "own.test").touch()
    status, output = checkout.run("superbuild/test.sh", "--list")
    return status, output.splitlines()


def test_one_run_for_all_tests_with_the_same_options(checkout):
    status, (own, plain, fast) = listed(checkout, LIST)
    assert status == 0
    assert own == "own: -- one.own"
    assert plain.startswith("guard: ") and plain.endswith(" -- main.lock main.flush")
    assert fast.startswith("guard-1: ") and fast.endswith(" -- innodb.doublewrite innodb.monitor")
    assert "--mysqld=--innodb-page-io-fast-path=ON" in fast
    assert "fast-path" not in plain


def test_the_last_option_wins(checkout):
    _, (_, line) = listed(checkout, "main.lock --loose-binlog-purge-background=ON\n")
    assert line.index("background=OFF") < line.index("background=ON")


def test_another_field_is_an_error(checkout):
    status, output = listed(checkout, "main.lock fast-path\n")
    assert status == 1
    assert "main.lock: 'fast-path' is no server option" in output[1]


def test_a_list_without_tests_is_an_error(checkout):
    status, output = listed(checkout, "# nothing\n")
    assert status == 1 and "no test was found in patches/guard.list" in output[-1]
    shutil.rmtree(checkout.path / "mysql-test/suite")
    status, output = checkout.run("superbuild/test.sh", "--list")
    assert status == 1 and "no test was found in mysql-test" in output
