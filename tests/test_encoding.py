"""Decision 4: which bytes are text, and that nothing is lost on the way there and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbcontext.files.encoding import NotTextError, decode, encode, kind, unencodable

BOMS = st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0"])


@given(BOMS, st.binary(max_size=60) | st.text(max_size=30).map(lambda t: t.encode("utf-16-le", "surrogatepass")))
def test_what_decodes_encodes_to_the_same_bytes(bom, data):
    try:
        decoded = decode(bom + data)
    except NotTextError as error:
        assert error.size == len(bom + data)  # noqa: PT017 - most examples raise nothing
    else:
        assert encode(decoded.text, decoded) == bom + data


@pytest.mark.parametrize(
    ("data", "encoding", "text"),
    [
        (b"", "utf-8", ""),
        ("é".encode(), "utf-8", "é"),
        (b"\xef\xbb\xbfa", "utf-8", "a"),
        (b"\xff\xfea\0", "utf-16-le", "a"),
        (b"\xfe\xff\0a", "utf-16-be", "a"),
        (b"\xff\xfe\x00\xd8", "utf-16-le", "\ud800"),
        (b"caf\xe9\t\n\r\f\x1b\x7f\x85", "latin-1", "café\t\n\r\f\x1b\x7f\x85"),
        (b"\x01ascii", "utf-8", "\x01ascii"),
        (b"a" * 8192 + b"\0", "utf-8", "a" * 8192 + "\0"),
    ],
)
def test_text(data, encoding, text):
    decoded = decode(data)
    assert (decoded.encoding, decoded.text) == (encoding, text)


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b"\xe9\x01", "data"),
        (b"a" * 8191 + b"\0", "data"),
        (b"\xff\xfea\0b", "data"),
        (b"\xe9" + b"a" * 9000 + b"\0", "data"),
        (b"\xff\xfe\0\0a\0\0\0", "UTF-32 text"),
        (b"\x89PNG\r\n\x1a\n\0", "PNG image"),
        (b"RIFF\0\0\0\0WEBP", "WebP image"),
        (b"PK\3\4\0", "ZIP archive"),
    ],
)
def test_binary_is_named_with_size_and_kind(data, named):
    with pytest.raises(NotTextError) as caught:
        decode(data)
    assert (caught.value.kind, caught.value.size) == (named, len(data))


def test_a_character_the_encoding_cannot_hold_is_named():
    assert unencodable("a€", "latin-1") == "U+20AC"
    assert unencodable("\ud800", "utf-8") == "U+D800"
    assert unencodable("\ud800", "utf-16-le") == "U+D800"
    assert unencodable("😀é", "utf-16-be") is None
    assert kind(b"nothing") == "data"
