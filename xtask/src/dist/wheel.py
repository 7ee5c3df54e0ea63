import base64, hashlib, pathlib, sys, zipfile

folder, wheel = pathlib.Path(sys.argv[1]), sys.argv[2]
files = sorted(path for path in folder.rglob("*") if path.is_file())
record = next(path for path in folder.iterdir() if path.name.endswith(".dist-info")) / "RECORD"
lines = []
with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
    for path in files:
        name, data = path.relative_to(folder).as_posix(), path.read_bytes()
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
        entry = zipfile.ZipInfo(name)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100755 if "/scripts/" in name else 0o100644) << 16
        archive.writestr(entry, data)
    name = record.relative_to(folder).as_posix()
    entry = zipfile.ZipInfo(name)
    entry.external_attr = 0o100644 << 16
    archive.writestr(entry, "".join(lines) + f"{name},,\n")
