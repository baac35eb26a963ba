// The pure parts of the views' ES modules.
import assert from "node:assert/strict";
import test from "node:test";
import { count, hitFrom, money, nice, pieces, placeOf, seconds } from "../../widgets/static/format.js";
import { judge } from "../../widgets/static/sequence.js";
import { grown, headline, input, whole } from "../../widgets/static/sums.js";
import { forget, inView, lacking, scrollTo, step } from "../../widgets/static/windowing.js";
import { clamped, panned, zoomed } from "../../widgets/static/zoom.js";

const random = (() => { let state = 7; return (most) => { state = (state * 1103515245 + 12345) % 2147483648; return state % most; }; })();

test("what is in view is in the list, and covers the height", () => {
  for (let run = 0; run < 2000; run++) {
    const total = random(500), height = random(600), top = random(Math.max(1, total * 28));
    const [first, last] = inView(top, height, 28, total, random(20));
    assert.ok(first >= 0 && first <= last && last <= total);
    for (let at = Math.floor(top / 28); at < Math.min(total, (top + height) / 28); at++) assert.ok(at >= first && at < last, `${at} of ${first}-${last}`);
  }
  assert.deepEqual(inView(0, 0, 28, 0, 15), [0, 0]);
  assert.deepEqual(inView(0, 0, 28, 10, 15), [0, 10]);
});

test("what is lacking is asked for, and nothing else at the ends", () => {
  const rows = new Map([[3, "c"], [4, "d"], [9, "i"]]);
  assert.deepEqual(lacking(rows, 3, 10), [5, 9]);
  assert.deepEqual(lacking(rows, 0, 5), [0, 3]);
  assert.equal(lacking(rows, 3, 5), null);
  assert.equal(lacking(rows, 7, 7), null);
});

test("far rows are forgotten, near ones stay", () => {
  const rows = new Map(Array.from({ length: 100 }, (_, at) => [at, at]));
  forget(rows, 40, 60, 30);
  assert.equal(rows.size, 30);
  assert.ok([...rows.keys()].every((at) => at >= 34 && at <= 66));
  forget(rows, 40, 60, 30);
  assert.equal(rows.size, 30);
});

test("a row is scrolled into view by the least way", () => {
  assert.equal(scrollTo(5, 0, 280, 28), null);
  assert.equal(scrollTo(10, 0, 280, 28), 28);
  assert.equal(scrollTo(0, 100, 280, 28), 0);
});

test("keys stay in the list", () => {
  assert.equal(step("ArrowDown", 9, 10, 5), 9);
  assert.equal(step("PageUp", 3, 10, 5), 0);
  assert.equal(step("End", 0, 10, 5), 9);
  assert.equal(step("x", 0, 10, 5), null);
});

test("sequence numbers: next is taken, old is skipped, a gap asks for everything", () => {
  assert.equal(judge(4, 5), "take");
  assert.equal(judge(4, 4), "skip");
  assert.equal(judge(4, 1), "skip");
  assert.equal(judge(4, 7), "ask");
});

test("numbers as they are read", () => {
  assert.equal(count(1234567), "1,234,567");
  assert.equal(count(null), "?");
  assert.equal(money(0.00123), "$0.0012");
  assert.equal(money(null), "?");
  assert.equal(seconds(812), "0.81 s");
  assert.equal(seconds(null), "?");
  for (const most of [0, 0.0003, 1, 1.2, 2, 4.9, 9.99, 17, 50000, 1e9]) {
    const top = nice(most);
    assert.ok(top >= most && (most <= 0 || top <= most * 2.6), `${most} ${top}`);
  }
});

test("pieces of a line make the line, hits in order", () => {
  for (let run = 0; run < 1000; run++) {
    const line = "abcdefghij".slice(0, random(11)), spans = [];
    let at = 0;
    while (at < line.length) { const start = at + random(4), end = start + random(3); if (end <= line.length) spans.push([start, end]); at = end + 1; }
    const made = pieces(line, spans);
    assert.equal(made.map(([text]) => text).join(""), line);
    assert.ok(made.length >= 1);
  }
  assert.deepEqual(pieces("one two", [[0, 3], [4, 7]]), [["one", 0], [" ", -1], ["two", 1]]);
});

test("hits by line", () => {
  const lines = [2, 2, 5, 9, 9, 9];
  assert.deepEqual(placeOf(lines, 4), { line: 9, within: 1 });
  assert.equal(hitFrom(lines, 3), 2);
  assert.equal(hitFrom(lines, 10), 0);
  assert.equal(hitFrom([], 1), 0);
});

test("zooming keeps the range in the list and the focus in the range", () => {
  for (let run = 0; run < 2000; run++) {
    const total = 1 + random(10000), first = random(total), last = first + 1 + random(total - first);
    const focus = first + random(last - first);
    for (const range of [zoomed([first, last], total, 0.5, focus), zoomed([first, last], total, 2, focus), panned([first, last], total, 0.5), panned([first, last], total, -0.5)]) {
      assert.ok(range[0] >= 0 && range[1] <= total && range[1] > range[0], JSON.stringify([first, last, total, range]));
    }
    const [from, to] = zoomed([first, last], total, 0.5, focus);
    assert.ok(from <= focus + 1 && to >= focus - 1);
  }
  assert.deepEqual(clamped(-5, 5, 100), [0, 10]);
});

test("one more request changes the sums as Python does", () => {
  const first = whole([1, 1, 0, 0, 1000, 50, 0.01, 300, "t", "first request"]);
  const second = whole([2, 1, 1000, 0, 100, 60, 0.002, 200]);
  const unknown = whole([3, 1, null, null, null, null, null, null, "", "", null, 1200]);
  let sums = [0, 0, 0, 0, 0, 0, 0, 0, 0];
  sums = grown(sums, first, undefined);
  sums = grown(sums, second, first);
  sums = grown(sums, unknown, second);
  assert.deepEqual(sums.map((value) => Math.round(value * 1000) / 1000), [3, 2100, 1000, 3300, 1200, 0.012, 1, 1, 0]);
  assert.equal(input(unknown), 1200);
  assert.equal(headline(sums), "3 requests · hit rate 47.6% · amplification 2.8 times · cost $0.0120 (1 unknown) · 1 without cached tokens reported");
});
