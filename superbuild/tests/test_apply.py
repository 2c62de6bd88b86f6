"""patches.py apply and check: what does not fit is named, and the tree stays as it was."""

import pytest
from conftest import PATCH, patches

APPLIED = {
    "MYSQL_VERSION": "MYSQL_VERSION_MAJOR=9\n",
    "sql/theirs.cc": "int theirs;\nint ours;\n",
    "sql/own/a.cc": "int a;\n",
}


def tree_of(checkout):
    tree = checkout.path / "build" / "tree"
    return {
        str(file.relative_to(tree)): file.read_text() for file in tree.rglob("*") if file.is_file()
    }


def edit(checkout, name, old, new):
    file = checkout.path / name
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def test_the_tree_is_upstream_with_the_patches_and_our_own_files(series):
    status, output = patches(series, "apply")
    assert status == 0, output
    assert tree_of(series) == APPLIED
    status, output = patches(series, "apply")
    assert status == 0 and "0 files brought up to date" in output
    # What leaves the series leaves the tree.
    (series.path / "patches/series").write_text("")
    (series.path / "sql/own/a.cc").unlink()
    assert patches(series, "apply")[0] == 0
    assert tree_of(series) == {
        "MYSQL_VERSION": APPLIED["MYSQL_VERSION"],
        "sql/theirs.cc": "int theirs;\n",
    }


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        (
            "patches/feature.patch",
            " int theirs;",
            " int others;",
            """patches/feature.patch does not apply; nothing was changed
  file sql/theirs.cc, the hunk at line 1:
    @@ -1 +1,2 @@
     int others;
    +int ours;
  Mend it in the work tree of 'make patches-import'""",
        ),
        (
            "patches/feature.patch",
            "theirs.cc",
            "gone.cc",
            "patches/feature.patch does not apply: upstream has no file sql/gone.cc",
        ),
        (
            "patches/feature.patch",
            "--- a/sql/theirs.cc",
            "--- /dev/null",
            "patches/feature.patch creates a file; new files are ours",
        ),
        (
            "patches/series",
            "feature",
            "gone",
            "patches/series names gone.patch, which does not exist",
        ),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_changed(series, name, old, new, told):
    assert patches(series, "apply")[0] == 0
    edit(series, name, old, new)
    edit(series, "sql/own/a.cc", "int a;", "int b;")
    for command in ("apply", "import", "check"):
        status, output = patches(series, command)
        assert status == 1 and told in output, output
        assert tree_of(series) == APPLIED


def test_a_file_of_ours_does_not_replace_one_of_upstreams(series):
    (series.path / "build/upstream/sql/own").mkdir()
    (series.path / "build/upstream/sql/own/a.cc").write_text("int new_upstream;\n")
    status, output = patches(series, "apply")
    assert status == 1 and "sql/own/a.cc exists upstream: change it by a patch" in output
    assert not (series.path / "build/tree").exists()


def test_an_upstream_that_is_none(series):
    (series.path / "build/upstream/MYSQL_VERSION").unlink()
    status, output = patches(series, "apply")
    assert status == 1 and "is no MySQL source tree; 'make upstream' gets one" in output


def test_a_disk_that_takes_no_more(series):
    """A limit of the shell in place of the disk's."""
    assert patches(series, "apply")[0] == 0
    edit(series, "sql/own/a.cc", "int a;", "int b;")
    status, output = series.run(
        "bash", "-c", "ulimit -f 0; superbuild/patches.py apply build/upstream build/tree"
    )
    assert status == 1 and "patches: error:" in output and "Traceback" not in output, output
    assert tree_of(series) == APPLIED
    assert not list((series.path / "build").glob("staging.*"))


def test_a_new_upstream_that_does_not_fit_on_the_disk(series):
    assert patches(series, "apply")[0] == 0
    (series.path / "build/upstream.stamp").write_text("pin z\ntarball y\n")
    series.stand_in("cp", "echo 'cp: No space left on device' >&2; exit 1")
    status, output = patches(series, "apply")
    assert status == 1 and "No space left" in output and "cp failed, see above" in output
    assert tree_of(series) == APPLIED
    assert not (series.path / "build/tree.partial").exists()


def test_an_imported_work_tree_is_left_alone(series):
    assert patches(series, "import")[0] == 0
    edited = series.path / "build/tree/sql/theirs.cc"
    edited.write_text("int edited;\n")
    status, output = patches(series, "apply")
    assert status == 0 and "as it is" in output
    for command in ("import", "export", "forget", "check"):
        status, output = patches(series, command)
        assert status == 1 and "sql/theirs.cc" in output, output
        assert edited.read_text() == "int edited;\n"


@pytest.mark.parametrize("command", ["import", "check"])
def test_a_file_of_ours_that_there_is_not(series, command):
    assert patches(series, "apply")[0] == 0
    edit(series, "patches/feature.patch", "Files: sql/own", "Files: sql/gone")
    status, output = patches(series, command)
    assert status == 1 and "Files: names sql/gone, which does not exist" in output
    assert tree_of(series) == APPLIED


@pytest.mark.parametrize(
    ("patch", "told"),
    [
        (PATCH.replace("Bug: none\n", ""), "header field Bug: is missing or empty"),
        (PATCH.removeprefix("Subject: "), "the header does not begin with 'Subject: '"),
        (PATCH.replace("Files: sql/own", "Files: none"), "sql/own/a.cc belongs to no patch"),
    ],
)
def test_a_header_that_says_too_little(series, patch, told):
    assert patches(series, "check")[0] == 0
    (series.path / "patches/feature.patch").write_text(patch)
    status, output = patches(series, "check")
    assert status == 1 and told in output


def test_a_patch_that_no_series_has(series):
    (series.path / "patches/other.patch").write_text(PATCH)
    status, output = patches(series, "check")
    assert status == 1 and "patches/other.patch is not in patches/series" in output
