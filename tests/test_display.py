"""What a person is shown can do nothing, is shown once, and costs no more than it is long."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbcontext import assets
from nbcontext.call import Call
from nbcontext.display.blocks import BLOCK_CHARS, MOST_CHARS, Blocks
from nbcontext.display.markdown import is_harmless, to_html
from nbcontext.display.progress import PAUSE_S, NotebookView, TerminalView, text_bundle
from nbcontext.display.tables import html_lines, html_table, text_table
from nbcontext.errors import UsageError
from nbcontext.events import CallStarted, Notice, ResultInserted, TextArrived, Waited
from nbcontext.plain import clipped, visible
from nbcontext.result import Result

CONTEXT = assets.loop().context
TAGS = frozenset(
    [
        "a",
        "blockquote",
        "br",
        "code",
        "del",
        "em",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "li",
        "ol",
        "p",
        "pre",
        "s",
        "strong",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "tr",
        "ul",
    ]
)

PAYLOADS = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>", "<iframe src=//evil></iframe>",
    "[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](java\tscript:alert(1))", "[x](&#106;avascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)", "![x](http://evil/x.png)", "![x](javascript:alert(1))", "![x](data:image/svg+xml,a)",
    "<javascript:alert(1)>", "<style>*{display:none}</style>", "<a href='javascript:alert(1)'>x</a>", '<math><mi//xlink:href="data:x">',
    "[x]: javascript:alert(1)\n\n[x]", "`<script>`", "```html\n<script>alert(1)</script>\n```", '```"><script>\nx\n```',
    "<details open ontoggle=alert(1)>", "<form action=//evil><input name=x></form>", "<base href=//evil>", "<link rel=stylesheet href=//evil>",
    "<meta http-equiv=refresh content='0;url=//evil'>", "<object data=//evil>", "<embed src=//evil>", "[a](vbscript:x)",
    "| a |\n|---|\n| <img src=x> |", "# <img src=x>", "> <script>", "- <script>", "![a][b]\n\n[b]: http://evil/b.png",
    "[![x](http://evil/x.png)](javascript:alert(1))", '[x](http://a "t" onclick=alert(1))', '[x](<http://a" onclick="x>)',
    "</div></pre><script>x</script>", "<!--<script>-->", "<![CDATA[<script>]]>", "\u202e<script>", "<scr\0ipt>alert(1)</scr\0ipt>",
    "[x](\x01javascript:alert(1))", "[x](//evil)", "<a id=x name=y class=jp-Cell>x</a>", "[a](file:///etc/passwd)",
]  # fmt: skip


class Reader(HTMLParser):
    """Notes what a browser would find in HTML."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.found, self.attributes = [], []

    def handle_starttag(self, tag, attrs):
        self.found.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]


def check_harmless(html):
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert set(reader.found) <= TAGS | {"div", "caption"}
    for tag, name, value in reader.attributes:
        assert (tag, name) in {
            ("a", "href"), ("a", "title"), ("a", "rel"), ("code", "class"), ("ol", "start"), ("td", "style"), ("th", "style"),
        }, (tag, name)  # fmt: skip
        if name == "href":
            assert re.match(r"(https?:|mailto:|[^:]*$|[^:]*[/?#])", value), value
        if name == "style":
            assert re.fullmatch(r"text-align:\s*(left|right|center);?", value)
        if name == "class":
            assert value.startswith("language-")


@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_in_an_answer_runs_or_is_fetched(payload):
    for text in (payload, f"Some *words*\n\n{payload}\n\nmore", f"- {payload}", f"> {payload}\n"):
        check_harmless(to_html(text))
        if is_harmless(text):
            assert "<" not in re.sub(r"(?ms)^```.*?^```|`[^`]*`", "", text)
            assert "![" not in re.sub(r"`[^`]*`", "", text)


@given(
    st.lists(
        st.sampled_from([*PAYLOADS, "\n", "\n\n", " ", "`", "*", "[", "](", ")", "<", ">", "|", "a", "```\n", "é"]),
        max_size=12,
    ).map("".join)
)
def test_no_mixture_of_them_does(text):
    check_harmless(to_html(text))
    check_harmless(text_bundle(text)["text/html"])


@given(st.text(max_size=60))
def test_control_characters_are_symbols(text):
    shown = visible(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown)
    assert visible(shown) == shown
    shown.encode()
    assert "\n" not in clipped(text, 20)
    assert len(clipped(text, 20)) <= 20
    for made in (html_table(["<b>"], [[text]], caption=text), html_lines(text)):
        reader = Reader()
        reader.feed(made)
        assert set(reader.found) <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "pre"}
    assert "\x1b" not in text_table(["h"], [[text]])


def test_an_escape_is_seen_and_not_obeyed():
    written = []
    view = TerminalView(CONTEXT, written.append)
    view.show(TextArrived(text="a\x1b[31mred\x07\r"))
    view.show(Notice(text="\x1b]0;title\x07"))
    view.end("")
    assert "".join(written) == "a␛[31mred␇␍\n␛]0;title␇\n"
    assert UsageError("a\nb \x1b[2J")._render_traceback_() == ["UsageError: a b ␛[2J"]


# -- blocks


@given(
    st.lists(
        st.text(st.sampled_from("ab`~ \n\n"), max_size=30)
        | st.just("x" * 900)
        | st.just("\n\n")
        | st.just("```\n")
        | st.just("~~~~ a\n"),
        max_size=40,
    )
)
def test_the_blocks_join_to_the_text(pieces):
    """But for a fence that is closed at a block's end and opened again, which is what its block needs to stand alone."""
    blocks, done = Blocks(), []
    for piece in pieces:
        done += blocks.feed(piece)
    text = "".join(pieces)
    joined = "".join([*done, blocks.tail])
    assert [line for line in joined.split("\n") if not re.match(r" {0,3}(```|~~~)", line)] == [
        line for line in text.split("\n") if not re.match(r" {0,3}(```|~~~)", line)
    ]
    assert all(len(block) >= BLOCK_CHARS for block in done)
    once = Blocks()
    assert "".join([*once.feed(text), once.tail]) == joined


# -- a notebook's view


class Front:
    """Keeps what a front end was sent, at a clock of its own."""

    def __init__(self):
        self.now = 0.0
        self.outputs = []
        self.times = []
        self.bytes = 0

    def display(self, bundle):
        self.outputs.append(bundle)
        front, place = self, len(self.outputs) - 1
        self._note(bundle)

        class Handle:
            def update(self, bundle):
                front.outputs[place] = bundle
                front._note(bundle)

        return Handle()

    def _note(self, bundle):
        self.times.append(self.now)
        self.bytes += sum(len(value) for value in bundle.values())

    def view(self):
        return NotebookView(CONTEXT, self.display, clock=lambda: self.now)

    @property
    def text(self):
        return "".join(bundle["text/plain"] for bundle in self.outputs)


def stream(front, text, size, seconds):
    view = front.view()
    for start in range(0, len(text), size):
        view.show(TextArrived(text=text[start : start + size]))
        front.now += seconds
    view.end("")
    return front


@pytest.mark.parametrize(
    "text", ["word " * 20_000, "word\n" * 10_000, "a word\n\n" * 12_000, "x" * 100_000, "```\n" + "code\n" * 20_000]
)
@pytest.mark.parametrize(("size", "seconds"), [(20, 0.001), (200, 0.02), (2000, 0.3)])
def test_updates_grow_with_the_answer(text, size, seconds):
    whole = stream(Front(), text, size, seconds)
    half = stream(Front(), text[: len(text) // 2], size, seconds)
    assert whole.bytes < 2.6 * half.bytes
    assert whole.bytes < 400 * len(text)
    if not text.startswith("```"):
        assert whole.text == text
    for at in range(len(whole.times) - 21):
        assert whole.times[at + 20] - whole.times[at] >= 20 * PAUSE_S * 0.95


def a_result(number, text="x"):
    return Result(
        number=number,
        call_id=f"c{number}",
        tool="bash",
        kind="full",
        sent=f"[#{number:04x}]\n{text}",
        stored_sha256="0",
        stored_lines=1,
        stored_chars=1,
    )


def test_calls_and_words_keep_their_order():
    front = Front()
    view = front.view()
    for event in (TextArrived(text="One."), CallStarted(step=1, call=Call(id="c1", name="bash", arguments='{"command":"ls <b>"}')),
                  ResultInserted(step=1, result=a_result(1)), TextArrived(text="Two."), Notice(text="Note <i>.")):  # fmt: skip
        view.show(event)
    view.end("Closing.")
    kinds = [bundle["text/plain"] for bundle in front.outputs]
    assert kinds[0] == "One."
    assert "bash ls <b>" in kinds[1]
    assert "#0001" in kinds[1]
    assert kinds[2:] == ["Two.", "Note <i>.", "Closing."]
    assert "<b>" not in front.outputs[1]["text/html"]
    assert "<i>" not in front.outputs[3]["text/html"]


def test_what_is_held_back_is_shown_in_a_pause():
    front = Front()
    view = front.view()
    view.show(TextArrived(text="a"))
    view.show(TextArrived(text="b"))
    assert front.text == "a"
    front.now += 1
    view.show(Waited())
    assert front.text == "ab"


def test_many_calls_are_many_small_blocks():
    front = Front()
    view = front.view()
    for number in range(1, 500):
        view.show(CallStarted(step=1, call=Call(id=f"c{number}", name="list", arguments="{}")))
        view.show(ResultInserted(step=1, result=a_result(number)))
        front.now += 0.1
    view.end("")
    assert all(f"#{number:04x}" in front.text for number in range(1, 500))
    assert front.bytes < 2_000_000


def test_long_lines_without_an_end_are_shown_seldom():
    front = stream(Front(), "x" * 400_000, 100, 0.05)
    assert front.bytes < 12 * 400_000
    assert MOST_CHARS > BLOCK_CHARS
