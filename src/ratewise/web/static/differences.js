// What two answers do not have in common, word by word: marked in both.
const MOST = 3000; // words that differ, in both together, up to which the shortest list of differences is found

function wordsOf(box) { // all words of a part, with the text they stand in
  const out = [];
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    for (const found of walker.currentNode.data.matchAll(/[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu)) {
      out.push({ node: walker.currentNode, start: found.index, end: found.index + found[0].length, word: found[0] });
    }
  }
  return out;
}

// Myers' algorithm: for each number of differences, how far each diagonal comes; then the way back.
function shortest(a, b) {
  const most = Math.min(a.length + b.length, MOST), trace = [];
  let far = new Int32Array(2 * most + 3);
  const mid = most + 1;
  for (let d = 0; d <= most; d++) {
    trace.push(far.slice(mid - d - 1, mid + d + 2));
    for (let k = -d; k <= d; k += 2) {
      let x = k === -d || (k !== d && far[mid + k - 1] < far[mid + k + 1]) ? far[mid + k + 1] : far[mid + k - 1] + 1;
      while (x < a.length && x - k < b.length && a[x].word === b[x - k].word) x++;
      far[mid + k] = x;
      if (x >= a.length && x - k >= b.length) return back(trace, a.length, b.length);
    }
  }
  return null;
}

function back(trace, x, y) {
  const gone = new Set(), come = new Set();
  for (let d = trace.length - 1; d > 0; d--) {
    const far = (k) => trace[d][k + d + 1];
    const k = x - y, down = k === -d || (k !== d && far(k - 1) < far(k + 1));
    const before = down ? far(k + 1) : far(k - 1), there = before - (down ? k + 1 : k - 1);
    if (down) come.add(there); else gone.add(before);
    [x, y] = [before, there];
  }
  return [gone, come];
}

function mark(words, which) {
  const runs = []; // words that differ and follow each other in one text
  words.forEach((word, i) => {
    if (!which.has(i)) return;
    const last = runs.at(-1);
    if (last && last.to === i - 1 && last.node === word.node) Object.assign(last, { end: word.end, to: i });
    else runs.push({ node: word.node, start: word.start, end: word.end, to: i });
  });
  for (const { node, start, end } of runs.reverse()) { // from the end, so that places before it stay
    const range = document.createRange();
    range.setStart(node, start);
    range.setEnd(node, end);
    range.surroundContents(document.createElement("mark"));
  }
}

export function markDifferences(left, right) { // whether any word differs; null where too many do
  const a = wordsOf(left), b = wordsOf(right);
  let first = 0, last = 0;
  while (first < a.length && first < b.length && a[first].word === b[first].word) first++;
  while (last < a.length - first && last < b.length - first && a.at(-1 - last).word === b.at(-1 - last).word) last++;
  const found = shortest(a.slice(first, a.length - last), b.slice(first, b.length - last));
  if (found === null) return null;
  const [gone, come] = found;
  mark(a, new Set([...gone].map((i) => i + first)));
  mark(b, new Set([...come].map((i) => i + first)));
  return gone.size + come.size > 0;
}
