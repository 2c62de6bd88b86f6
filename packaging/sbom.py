#!/usr/bin/env python3
"""Writes the bill of materials (SPDX 2.3, JSON): what is compiled into the server, and the
libraries that it is linked with, as Debian has them.

What upstream bundles is listed when the compiler has read a file of it.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import time
import uuid
from pathlib import Path

from lib4sbom.data.package import SBOMPackage
from lib4sbom.data.relationship import SBOMRelationship
from lib4sbom.generator import SBOMGenerator
from lib4sbom.sbom import SBOM


def bundled(objects):
    """Name and version of each library below upstream's extra/ that was compiled."""
    read = subprocess.run(
        ["ninja", "-C", objects, "-t", "deps"], check=False, capture_output=True, text=True
    )
    folders = set(re.findall(r"/extra/([\w-]+)/([\w.-]+)/", read.stdout))
    # boost_1_87_0, xxHash-0.8.3, sha793921876c981; include and src have no version.
    found = {}
    for name, folder in sorted(folders):
        version = re.search(r"\d[\w.]*$", folder)
        found.setdefault(name, "as upstream has it")
        if version:
            found[name] = version[0].replace("_", ".")
    return found.items()


def linked(tree):
    """Package and version of each library of Debian's that travels with the programs."""
    for library in sorted((tree / "lib/mysql/private").glob("*.so*")):
        path = subprocess.run(
            ["ldconfig", "-p"], check=False, capture_output=True, text=True
        ).stdout
        path = re.search(rf"^\s+{re.escape(library.name)} .* => (.*)$", path, re.MULTILINE)[1]
        for name in (os.path.realpath(path), path, "/usr" + path):
            owner = subprocess.run(
                ["dpkg-query", "-S", name], check=False, capture_output=True, text=True
            )
            if owner.returncode == 0:
                package = owner.stdout.split(":")[0]
                break
        else:
            raise SystemExit(f"sbom: error: {path} belongs to no package")
        version = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Version}", package],
            check=False,
            capture_output=True,
            text=True,
        )
        yield package, version.stdout


def main():
    parser = argparse.ArgumentParser()
    for option in ("version", "objects", "tree", "tarball-sum", "time", "to"):
        parser.add_argument("--" + option, required=True)
    given = parser.parse_args()
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(given.time)))
    mysql = given.version.split("+")[0]
    packages, relations = {}, []

    def add(name, version, relation, **more):
        package = SBOMPackage()
        package.initialise()
        package.set_name(name)
        package.set_version(version)
        package.set_licensedeclared(more.get("license", "NOASSERTION"))
        package.set_licenseconcluded("NOASSERTION")
        if "supplier" in more:
            package.set_supplier("Organization", more["supplier"])
        package.set_type("APPLICATION" if relation == "DESCRIBES" else "LIBRARY")
        if "purl" in more:
            package.set_purl(more["purl"])
        if "cpe" in more:
            package.set_cpe(more["cpe"])
        if "checksum" in more:
            package.set_checksum("SHA256", more["checksum"])
        packages[name, version] = package.get_package()
        link = SBOMRelationship()
        link.initialise()
        link.set_relationship(
            "sluice-server" if relation != "DESCRIBES" else "sluice", relation, name
        )
        relations.append(link.get_relationship())

    add("sluice-server", given.version, "DESCRIBES", license="GPL-2.0-only", supplier="Sluice")
    add(
        "mysql",
        mysql,
        "CONTAINS",
        license="GPL-2.0-only",
        supplier="Oracle",
        cpe=f"cpe:2.3:a:oracle:mysql_server:{mysql}:*:*:*:*:*:*:*",
        checksum=given.tarball_sum,
    )
    for name, version in bundled(given.objects):
        add(name, version, "CONTAINS")
    for name, version in linked(Path(given.tree)):
        add(
            name,
            version,
            "DEPENDS_ON",
            supplier="Debian",
            purl=f"pkg:deb/debian/{name}@{version}?distro=debian-12",
        )

    sbom = SBOM()
    sbom.add_document({"name": "sluice", "lifecycle": "build"})
    sbom.set_uuid(
        "urn:uuid:" + str(uuid.UUID(hashlib.sha256(given.version.encode()).hexdigest()[:32]))
    )
    sbom.add_packages(packages)
    sbom.add_relationships(relations)
    generator = SBOMGenerator(
        False, sbom_type="spdx", format="json", application="sluice", version="1"
    )
    generator.generate("sluice", sbom.get_sbom(), send_to_output=False)
    document = generator.get_sbom()
    # The tool writes the time at which it ran; the same build has to give the same bytes.
    document["creationInfo"]["created"] = created
    Path(given.to).write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
