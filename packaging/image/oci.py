#!/usr/bin/env python3
"""Packs a root file system as a container image of one layer, in the form of the OCI: a tar that
podman, skopeo, umoci and containerd read. The same folder gives the same bytes.
"""

import argparse
import gzip
import hashlib
import io
import json
import platform
import shutil
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

SECOND = 10**9
CONFIG = {
    "User": "999:999",
    "ExposedPorts": {"3306/tcp": {}, "33060/tcp": {}},
    "Env": [
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LC_ALL=C.UTF-8",
    ],
    "Entrypoint": ["docker-entrypoint.sh"],
    "Cmd": ["mysqld"],
    "Volumes": {"/var/lib/mysql": {}},
    "StopSignal": "SIGTERM",
    # Not the OCI's, but those who know no health check pass it over.
    "Healthcheck": {
        "Test": ["CMD", "healthcheck.sh"],
        "Interval": 10 * SECOND,
        "Timeout": 10 * SECOND,
        # Until then a failure counts for nothing: recovery takes as long as it takes.
        "StartPeriod": 300 * SECOND,
        "Retries": 3,
    },
}


def digest(path):
    with open(path, "rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("root", "version", "created", "to"):
        parser.add_argument("--" + option, required=True)
    given = parser.parse_args()
    moment = int(given.created)
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]

    with tempfile.TemporaryDirectory(dir=Path(given.to).parent) as work:
        layer, packed = Path(work) / "layer.tar", Path(work) / "layer.tar.gz"
        subprocess.run(
            ["tar", "--create", f"--file={layer}", "--sort=name", f"--mtime=@{moment}"]
            + ["--numeric-owner", f"--directory={given.root}", "."],
            check=True,
        )
        with (
            open(layer, "rb") as plain,
            open(packed, "wb") as file,
            gzip.GzipFile("", "wb", 6, file, mtime=0) as zipped,
        ):
            shutil.copyfileobj(plain, zipped, 1 << 20)
        unpacked = digest(layer)
        layer.unlink()

        with tarfile.open(given.to + ".partial", "w", format=tarfile.USTAR_FORMAT) as image:

            def add(name, file, size):
                info = tarfile.TarInfo(name)
                info.size, info.mtime = size, moment
                image.addfile(info, file)

            def add_json(name, content):
                data = json.dumps(content, indent=1, sort_keys=True).encode()
                known = "sha256:" + hashlib.sha256(data).hexdigest()
                add(name or f"blobs/sha256/{known[7:]}", io.BytesIO(data), len(data))
                return {"digest": known, "size": len(data)}

            kind = "application/vnd.oci.image."
            add_json("oci-layout", {"imageLayoutVersion": "1.0.0"})
            blob = {"digest": digest(packed), "size": packed.stat().st_size}
            with open(packed, "rb") as file:
                add(f"blobs/sha256/{blob['digest'][7:]}", file, blob["size"])
            labels = {
                "org.opencontainers.image.title": "Sluice Server for MySQL",
                "org.opencontainers.image.version": given.version,
                "org.opencontainers.image.created": created,
                "org.opencontainers.image.licenses": "GPL-2.0-only",
            }
            config = add_json(
                None,
                {
                    "created": created,
                    "architecture": architecture,
                    "os": "linux",
                    "config": CONFIG | {"Labels": labels},
                    "rootfs": {"type": "layers", "diff_ids": [unpacked]},
                    "history": [{"created": created, "created_by": "packaging/image/make.sh"}],
                },
            )
            manifest = add_json(
                None,
                {
                    "schemaVersion": 2,
                    "mediaType": kind + "manifest.v1+json",
                    "config": config | {"mediaType": kind + "config.v1+json"},
                    "layers": [blob | {"mediaType": kind + "layer.v1.tar+gzip"}],
                },
            )
            tag = given.version.split("+")[0]
            # The second is for what takes the tag for a name: podman, containerd.
            name = f"localhost/sluice:{tag}"
            annotations = {
                "org.opencontainers.image.ref.name": tag,
                "io.containerd.image.name": name,
            }
            entry = manifest | {
                "mediaType": kind + "manifest.v1+json",
                "annotations": annotations,
                "platform": {"architecture": architecture, "os": "linux"},
            }
            add_json(
                "index.json",
                {
                    "schemaVersion": 2,
                    "mediaType": kind + "index.v1+json",
                    "manifests": [entry],
                },
            )
    Path(given.to + ".partial").rename(given.to)
    print(
        f"image: {given.to}, {Path(given.to).stat().st_size // 10**6} MB, {name}, {manifest['digest']}"
    )


if __name__ == "__main__":
    main()
