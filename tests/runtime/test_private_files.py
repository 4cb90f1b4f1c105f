"""Only regular files of bounded size that nobody else can have written are read."""

import os
import stat

import pytest

from jitney.runtime.cache.private_files import Folder, make_private


@pytest.fixture
def path(tmp_path):
    path = str(tmp_path / "above" / "own")
    make_private(path)
    return path


def test_folders_are_for_the_user_alone(path):
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o700
    make_private(path)  # which is there


@pytest.mark.parametrize("data", [b"", b"\x00abc" * 1000])
def test_what_is_written_is_read(path, data):
    with Folder(path) as folder:
        folder.write("file", b"before")
        folder.write("file", data)
        assert folder.read("file", len(data)) == data
        assert folder.has("file") and not folder.has("other")
        assert os.listdir(path) == ["file"]
        assert stat.S_IMODE(os.stat(os.path.join(path, "file")).st_mode) == 0o600
        folder.remove("file")
        folder.remove("file")
        assert os.listdir(path) == []


def test_large_files_are_not_read(path):
    with Folder(path) as folder:
        folder.write("file", bytes(10))
        with pytest.raises(OSError, match="it has 10 bytes"):
            folder.read("file", 9)
        assert folder.extend("file", 3) == 13 and folder.extend("new", 2) == 2


def test_reading_may_update_the_time_of_use(path):
    file = os.path.join(path, "file")
    with Folder(path) as folder:
        folder.write("file", b"x")
        os.utime(file, (1, 1))
        folder.read("file", 1)
        assert os.stat(file).st_mtime == 1
        folder.read("file", 1, touch=True)
        assert os.stat(file).st_mtime > 1


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_what_others_may_write_is_refused(path, mode):
    with Folder(path) as folder:
        folder.write("file", b"x")
        os.chmod(os.path.join(path, "file"), mode)
        with pytest.raises(PermissionError, match="group or others may write to it"):
            folder.read("file", 1)
    os.chmod(path, mode | 0o500)
    with pytest.raises(PermissionError, match="group or others may write to it"):
        Folder(path)


def test_links_fifos_and_folders_are_refused_at_once(path):
    os.symlink("/etc/passwd", os.path.join(path, "link"))
    os.mkfifo(os.path.join(path, "fifo"), 0o600)
    os.mkdir(os.path.join(path, "folder"), 0o700)
    os.symlink("folder", os.path.join(path, "link to folder"))
    with Folder(path) as folder:
        with pytest.raises(OSError, match="link"):
            folder.read("link", 10**6)
        for name in ("fifo", "folder"):
            with pytest.raises(PermissionError, match="it is not a regular file"):
                folder.read(name, 10)
            assert not folder.has(name)
        with Folder("folder", folder) as inner:
            assert inner.path == os.path.join(path, "folder")
        with pytest.raises(OSError, match="link to folder"):
            Folder("link to folder", folder)
