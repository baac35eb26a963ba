// A text by windows: a stored result, or a message of a request. The recall browser, and a pane of the other views.
import { hitFrom, pieces, placeOf, count } from "./format.js";
import { button, fresh, make } from "./page.js";

const KEYS = "Keys: / search · n N next, previous hit · g line · , . window · [ ] neighbours · p same path · s side by side · w wrap · c copy";

/** Make the pane; `close` is called by its button and Escape, null: it stays. */
export function textPane({ ask, say }, close) {
  let source = null, opened = null, meta = {}, first = 1, shown = [], spans = [], cut = [], hits = [], all = true, hit = -1, turn = 0;
  const head = make("div", { className: "nb-head" });
  const told = make("div", { className: "nb-note", hidden: true });
  const found = make("span", { className: "nb-found", role: "status" });
  const search = make("input", { type: "search", className: "nb-input", placeholder: "search the text", "aria-label": "Search the text" });
  const regex = make("input", { type: "checkbox" });
  const byCase = make("input", { type: "checkbox" });
  const line = make("input", { type: "number", min: "1", className: "nb-input nb-line-input", placeholder: "line", "aria-label": "Go to line" });
  const same = make("select", { className: "nb-input", "aria-label": "Results of the same path" });
  const beside = make("input", { type: "checkbox" });
  const wrap = make("input", { type: "checkbox" });
  const before = button("‹ older", "The result before ([)", () => neighbour("before"));
  const after = button("newer ›", "The result after (])", () => neighbour("after"));
  const named = make("span", { className: "nb-range" });
  const earlier = button("▲ lines before", "The window before (,)", () => move(-1));
  const later = button("▼ lines after", "The window after (.)", () => move(1));
  const text = make("div", { className: "nb-text", tabIndex: 0, role: "region" });
  const label = (input, words, title) => make("label", { title }, input, words);
  const neighbours = make("span", { className: "nb-group", hidden: true }, before, after, same);
  const bar = make("div", { className: "nb-bar" }, neighbours,
    make("span", { className: "nb-group" }, search, label(regex, "regex", "ripgrep's syntax"), label(byCase, "Aa", "By case"),
      button("↑", "The hit before (N)", () => next(-1)), button("↓", "The next hit (n)", () => next(1)), found),
    make("span", { className: "nb-group" }, line, label(beside, "side by side", "What the model was sent, beside what is stored (s)"),
      label(wrap, "wrap", "Wrap long lines (w)"), button("copy", "Copy this window (c)", copy),
      close ? button("✕ close", "Close (Escape)", close) : null));
  const windows = make("div", { className: "nb-bar" }, earlier, named, later);
  const el = make("div", { className: "nb-pane", role: "group", "aria-label": "Text" }, head, told, bar, windows, text,
    make("div", { className: "nb-keys" }, KEYS));

  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") hits.length && search.dataset.asked === pattern() ? next(event.shiftKey ? -1 : 1) : find();
    if (event.key === "Escape") { text.focus(); event.stopPropagation(); }
  });
  search.addEventListener("search", () => search.value || find());
  for (const box of [regex, byCase]) box.addEventListener("change", () => search.value && find());
  line.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && line.value) goTo(Number(line.value)).then(() => text.focus());
    if (event.key === "Escape") { text.focus(); event.stopPropagation(); }
  });
  same.addEventListener("change", () => open({ result: Number(same.value) }));
  for (const box of [beside, wrap]) box.addEventListener("change", draw);
  el.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && close) { close(); event.stopPropagation(); return; }
    if (["INPUT", "SELECT"].includes(event.target.tagName)) return;
    const act = { "/": () => search.focus(), n: () => next(1), N: () => next(-1), g: () => line.focus(), ",": () => move(-1), ".": () => move(1),
      "[": () => neighbour("before"), "]": () => neighbour("after"), p: nextSame, c: copy,
      s: () => { beside.checked = !beside.checked; draw(); }, w: () => { wrap.checked = !wrap.checked; draw(); } }[event.key];
    if (act) { event.preventDefault(); act(); }
  });

  const pattern = () => JSON.stringify([search.value, regex.checked, byCase.checked]);
  const looked = () => (search.value ? { pattern: search.value, regex: regex.checked, case: byCase.checked } : null);

  function open(what, at = 1) {
    return (opened = load(what, at));
  }

  async function load(what, at) {
    const mine = ++turn;
    const answer = await ask({ ask: "open", source: what, first: at, find: looked() });
    if (mine !== turn || answer.problem) return answer.problem && say(answer.problem);
    source = what;
    meta = answer;
    hits = []; hit = -1; found.textContent = "";
    head.textContent = [meta.head, meta.kind, `${count(meta.total)} lines`, `${count(meta.chars)} characters`].filter(Boolean).join(" · ");
    el.setAttribute("aria-label", meta.head);
    const [gone, last, short, instead] = meta.gone;
    told.textContent = gone ? `Lines ${count(gone)}–${count(last)} (┊) were not sent. The model was sent: ${instead}`
      : short ? `Of the first line the model was sent ${count(short)} characters.` : "";
    told.hidden = !told.textContent;
    neighbours.hidden = meta.kind === undefined;
    before.disabled = !meta.before;
    after.disabled = !meta.after;
    same.replaceChildren(...(meta.same || []).map(([n, id]) => make("option", { value: n, selected: n === what.result }, id)));
    same.hidden = (meta.same || []).length < 2;
    take(answer);
    if (search.value) find(true);
  }

  async function go(at) {
    const mine = ++turn;
    const answer = await ask({ ask: "window", source, first: at, find: looked() });
    if (mine === turn && !answer.problem) take(answer);
  }

  function take(answer) {
    first = answer.first;
    spans = answer.spans;
    cut = answer.cut;
    const decoded = new TextDecoder().decode(answer.buffer || new Uint8Array());
    shown = answer.count ? decoded.split("\n") : [];
    draw();
    text.scrollTop = 0;
  }

  function draw() {
    const [gone, last, short, instead] = meta.gone || [0, 0, 0, ""];
    const end = first + shown.length - 1;
    named.textContent = shown.length ? `lines ${count(first)}–${count(end)} of ${count(meta.total)}` : "empty";
    text.setAttribute("aria-label", `Text, ${named.textContent}`);
    earlier.disabled = first <= 1;
    later.disabled = end >= meta.total;
    text.classList.toggle("nb-wrap", wrap.checked);
    text.classList.toggle("nb-beside", beside.checked);
    const byLine = new Map(), long = new Map(cut);
    for (const [at, start, stop] of spans) byLine.set(at, [...(byLine.get(at) || []), [start, stop]]);
    const rows = shown.map((content, at) => {
      const n = first + at, absent = gone && n >= gone && n <= last;
      const parts = pieces(content, byLine.get(at) || []).map(([part, which]) => (which < 0 ? part : make("mark", { "data-hit": which }, part)));
      const tone = meta.diff ? { "+": " nb-add", "-": " nb-del", "@": " nb-hunk" }[content[0]] || "" : "";
      const stored = make("span", { className: `nb-cell${tone}` }, ...parts);
      if (long.has(at)) stored.append(more(n, long.get(at), content.length, stored));
      const sent = !beside.checked ? null : make("span", { className: `nb-cell nb-sent${absent ? "" : tone}` },
        absent ? (n === gone || n === first ? instead : "") : n === 1 && short ? `${content.slice(0, short)} […cut]` : content);
      return make("div", { className: `nb-line${absent ? " nb-gone" : ""}`, "data-n": absent ? `┊ ${n}` : n }, sent, stored);
    });
    const names = beside.checked ? [make("div", { className: "nb-line nb-names", "data-n": "" },
      make("span", { className: "nb-cell" }, "sent to the model"), make("span", { className: "nb-cell" }, "stored"))] : [];
    text.replaceChildren(...names, ...rows);
    mark();
  }

  function more(n, left, start, cell) {
    let from = 4000;
    const asking = button(`… ${count(left)} more characters`, `Show more of line ${n}`, async () => {
      const answer = await ask({ ask: "line", source, line: n, start: from });
      if (answer.problem) return;
      cell.insertBefore(document.createTextNode(answer.text), asking);
      from += 20000;
      if (answer.left) asking.textContent = `… ${count(answer.left)} more characters`;
      else asking.remove();
    });
    return asking;
  }

  const rowOf = (n) => text.children[n - first + (beside.checked ? 1 : 0)];

  async function goTo(n) {
    await opened;
    const at = Math.max(1, Math.min(meta.total || 1, n));
    if (at < first || at >= first + shown.length) await go(Math.max(1, at - 20));
    const row = rowOf(at);
    if (!row) return;
    for (const old of text.querySelectorAll(".nb-here")) old.classList.remove("nb-here");
    row.classList.add("nb-here");
    text.scrollTop = row.offsetTop - text.offsetTop - text.clientHeight / 3;
  }

  async function find(quiet) {
    if (!quiet) await opened;
    search.dataset.asked = pattern();
    if (!search.value) { hits = []; hit = -1; spans = []; found.textContent = ""; draw(); return; }
    found.textContent = "searching…";
    const asked = search.dataset.asked;
    const answer = await ask({ ask: "find", source, ...looked() });
    if (asked !== search.dataset.asked) return;
    if (answer.problem) { hits = []; found.textContent = answer.problem; return; }
    const data = answer.buffer;
    hits = data ? new Uint32Array(data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength)) : [];
    all = answer.all;
    hit = -1;
    if (!hits.length) { spans = []; found.textContent = "no hits"; draw(); return; }
    const top = quiet ? first : first + Math.max(0, [...text.children].findIndex((row) => row.offsetTop - text.offsetTop >= text.scrollTop));
    await show(hitFrom(hits, top), true);
  }

  function next(by) {
    if (!hits.length) { if (search.value) find(); return; }
    show((hit + by + hits.length) % hits.length);
  }

  async function show(to, again) {
    hit = to;
    const { line: n } = placeOf(hits, to);
    const there = n >= first && n < first + shown.length;
    if (!there || again) await go(there ? first : Math.max(1, n - 20));
    await goTo(n);
    mark();
    found.textContent = `hit ${count(hit + 1)} of ${all ? "" : "more than "}${count(hits.length)}`;
  }

  function mark() {
    for (const old of text.querySelectorAll(".nb-now")) old.classList.remove("nb-now");
    if (hit < 0 || !hits.length) return;
    const { line: n, within } = placeOf(hits, hit);
    const row = rowOf(n), now = row && row.querySelector(`.nb-cell:last-of-type mark[data-hit="${within}"]`);
    if (!now) return;
    now.classList.add("nb-now");
    now.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  function move(by) {
    if (!source) return;
    const end = first + shown.length;
    if (by > 0 && end <= meta.total) go(end);
    if (by < 0 && first > 1) go(Math.max(1, first - 2000));
  }

  function neighbour(which) {
    if (meta[which]) open({ result: meta[which] });
  }

  function nextSame() {
    const numbers = (meta.same || []).map(([n]) => n);
    if (numbers.length > 1) open({ result: numbers[(numbers.indexOf(source.result) + 1) % numbers.length] });
  }

  async function copy() {
    const picked = String(window.getSelection());
    const inside = picked && text.contains(window.getSelection().anchorNode);
    const value = inside ? picked : shown.join("\n");
    try {
      await navigator.clipboard.writeText(value);
      say(inside ? "The selection is copied." : `Lines ${count(first)}–${count(first + shown.length - 1)} are copied.`);
    } catch {
      say("The browser does not allow copying: select the lines and copy them.");
    }
  }

  return { el, open, goTo, focus: () => text.focus(), id: fresh("pane") };
}
