"""patches-export never deletes or overwrites what the work tree has never had."""

import shutil
import subprocess

import pytest
from conftest import GIT, PATCH, patches


@pytest.fixture
def work(series):
    """The series, imported; its checkout committed."""
    (series.path / ".gitignore").write_text("/build/\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run([*GIT, *command], cwd=series.path, check=True)
    status, output = patches(series, "import")
    assert status == 0, output
    return series


def commit(checkout, *remove, **files):
    tree = checkout.path / "build" / "tree"
    for name in remove:
        (tree / name).unlink()
    for name, text in files.items():
        (tree / "sql" / "own" / f"{name}.cc").write_text(text)
    for command in (["add", "--all"], ["commit", "-q", "--amend", "--no-edit"]):
        subprocess.run([*GIT, *command], cwd=tree, check=True)


def test_a_file_that_git_does_not_have_is_kept(work):
    new = work.path / "sql" / "own" / "new.cc"
    new.write_text("int new_one;\n")
    commit(work, a="int b;\n")
    status, output = patches(work, "export")
    assert status == 1 and "nothing was exported" in output and "  sql/own/new.cc" in output
    assert new.read_text() == "int new_one;\n"
    assert (work.path / "sql/own/a.cc").read_text() == "int a;\n"


def test_an_edit_that_git_does_not_have_is_kept(work):
    edited = work.path / "sql" / "own" / "a.cc"
    edited.write_text("int edited;\n")
    commit(work, a="int b;\n")
    status, output = patches(work, "export")
    assert status == 1 and "  sql/own/a.cc" in output
    assert edited.read_text() == "int edited;\n"


def test_a_patch_file_that_was_edited_is_kept(work):
    file = work.path / "patches" / "feature.patch"
    file.write_text(PATCH.replace("no\n\ndiff", "yes\n\ndiff"))
    status, output = patches(work, "export")
    assert status == 1 and "  patches/feature.patch" in output


@pytest.mark.parametrize("committed", [False, True])
def test_what_is_staged_or_committed_since_the_import_is_kept(work, committed):
    own = work.path / "sql" / "own"
    newer = {own / "a.cc": "int edited;\n", own / "new.cc": "int new_one;\n"}
    patch = work.path / "patches" / "feature.patch"
    newer[patch] = PATCH.replace("no\n\ndiff", "yes\n\ndiff")
    for file, text in newer.items():
        file.write_text(text)
    subprocess.run([*GIT, "add", "."], cwd=work.path, check=True)
    if committed:
        subprocess.run([*GIT, "commit", "-q", "-m", "newer"], cwd=work.path, check=True)
    commit(work, a="int b;\n")
    status, output = patches(work, "export")
    assert status == 1 and "remove them here" in output
    for file, text in newer.items():
        assert f"  {file.relative_to(work.path)}\n" in output
        assert file.read_text() == text
    # The way out that the message names.
    for file in newer:
        file.unlink()
    status, output = patches(work, "export")
    assert status == 0, output
    assert (own / "a.cc").read_text() == "int b;\n" and not (own / "new.cc").exists()
    assert patch.read_text() == PATCH


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("touch sql/stray.cc", "its Files: field does not name: sql/stray.cc"),
        ("rm sql/theirs.cc", "deletes upstream's sql/theirs.cc"),
        (f"{' '.join(GIT)} commit -q --allow-empty -C HEAD", "two commits are named feature"),
    ],
)
def test_commits_that_make_no_series_change_nothing(work, change, told):
    tree = work.path / "build/tree"
    subprocess.run(["bash", "-c", change], cwd=tree, check=True)
    commit(work, a="int b;\n")
    status, output = patches(work, "export")
    assert status == 1 and told in output, output
    assert (work.path / "patches/feature.patch").read_text() == PATCH
    assert (work.path / "sql/own/a.cc").read_text() == "int a;\n"


def test_what_was_imported_may_go(work):
    """A patch, too, of which the work tree has the commit and not the file."""
    tree = work.path / "build" / "tree"
    (tree / "sql" / "theirs.cc").write_text("int theirs;\nint other;\n")
    commit(work, a="int b;\n")
    subprocess.run([*GIT, "gc", "-q"], cwd=tree, check=True)
    status, output = patches(work, "export")
    assert status == 0, output
    assert "int other;" in (work.path / "patches/feature.patch").read_text()


def test_a_committed_file_is_deleted_with_its_patch(work):
    commit(work, "sql/own/a.cc", b="int b;\n")
    status, output = patches(work, "export")
    assert status == 0, output
    assert [file.name for file in (work.path / "sql/own").iterdir()] == ["b.cc"]


def test_an_upstream_that_is_a_link_stays_pristine(work):
    build = work.path / "build"
    (build / "upstream").rename(build / "elsewhere")
    (build / "upstream").symlink_to(build / "elsewhere")
    shutil.rmtree(build / "tree")
    status, output = patches(work, "import")
    assert status == 0, output
    assert (build / "elsewhere" / "sql" / "theirs.cc").read_text() == "int theirs;\n"
    assert "int ours;" in (build / "tree" / "sql" / "theirs.cc").read_text()


def test_export_after_export(work):
    """Nothing is committed here between the two, as in a day's work."""
    for text in ("int b;\n", "int c;\n"):
        commit(work, a=text)
        tree = work.path / "build" / "tree" / "sql" / "theirs.cc"
        tree.write_text(f"int theirs;\n{text}")
        commit(work)
        status, output = patches(work, "export")
        assert status == 0, output
        assert (work.path / "sql/own/a.cc").read_text() == text
        assert text in (work.path / "patches/feature.patch").read_text()


def test_clean_keeps_commits_that_patches_do_not_hold(work):
    commit(work, a="int b;\n")
    status, output = work.run("make", "clean")
    assert status == 2 and "nothing was removed" in output
    assert (work.path / "build" / "tree" / ".git").is_dir()
    assert patches(work, "export")[0] == 0
    status, output = work.run("make", "clean")
    assert status == 0, output
    assert not (work.path / "build").exists()


def test_clean_keeps_what_is_stashed(work):
    tree = work.path / "build" / "tree"
    (tree / "sql/own/a.cc").write_text("int stashed;\n")
    subprocess.run([*GIT, "stash", "-q"], cwd=tree, check=True)
    status, output = work.run("make", "clean")
    assert status == 2 and "not on this branch" in output and "nothing was removed" in output
    subprocess.run([*GIT, "stash", "drop", "-q"], cwd=tree, check=True)
    assert work.run("make", "clean")[0] == 0


def test_clean_where_build_is_a_link(work):
    (work.path / "build").rename(work.path / "elsewhere")
    (work.path / "build").symlink_to(work.path / "elsewhere")
    status, output = work.run("make", "clean")
    assert status == 0, output
    assert list((work.path / "elsewhere").iterdir()) == []


def test_clean_keeps_a_copy_for_a_newer_upstream_in_which_somebody_works(work):
    newer = work.path / "build/newer/sluice"
    mended = newer / "patches/feature.patch"
    subprocess.run([*GIT, "clone", "-q", work.path, newer], check=True)
    for step in (
        lambda: mended.write_text("mended\n"),
        lambda: subprocess.run([*GIT, "commit", "-qam", "mended"], cwd=newer, check=True),
        lambda: shutil.rmtree(newer / ".git"),
    ):
        step()
        status, output = work.run("make", "clean")
        assert status == 2 and "build/newer/sluice has changes, commits" in output
        assert "nothing was removed" in output and mended.read_text() == "mended\n"
        assert (work.path / "build/tree/.git").is_dir()
    shutil.rmtree(newer)
    assert work.run("make", "clean")[0] == 0


def test_clean_removes_a_copy_for_a_newer_upstream_that_has_only_its_pin(work):
    newer = work.path / "build/newer/sluice"
    subprocess.run([*GIT, "clone", "-q", work.path, newer], check=True)
    (newer / "upstream/pin").write_text("UPSTREAM_VERSION=9.7.3\n")
    status, output = work.run("make", "clean")
    assert status == 0, output


def test_a_report_does_not_replace_what_is_no_report(work):
    script = ["superbuild/patches.py", "report", "build/upstream", "feature"]
    (work.path / "mine").mkdir()
    (work.path / "mine" / "letter").touch()
    status, output = work.run(*script, "mine")
    assert status == 1 and "holds no report" in output and (work.path / "mine/letter").exists()
    for _ in ("new", "again"):
        status, output = work.run(*script, "report")
        assert status == 0, output


def test_an_import_that_is_killed_leaves_no_work_tree(work):
    tree = work.path / "build" / "tree"
    shutil.rmtree(tree)
    real = shutil.which("git")
    work.stand_in(
        "git", f'case " $* " in *" apply --index "*) kill -9 $PPID ;; esac\nexec {real} "$@"'
    )
    assert patches(work, "import")[0] == -9
    assert not (tree / ".git").exists()
    work.stand_in("git", f'exec {real} "$@"')
    status, output = work.run("superbuild/patches.py", "apply", "build/upstream", "build/tree")
    assert status == 0 and "as it is" not in output, output
    assert "int ours;" in (tree / "sql" / "theirs.cc").read_text()
    assert patches(work, "import")[0] == 0 and (tree / ".git").is_dir()
