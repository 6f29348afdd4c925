// The live view: the server pushes what is known whenever it has changed.
const $ = (id) => document.getElementById(id);
const number = (x, digits = 0) => (x === null || x === undefined ? "–" : x.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
const share = (x) => (x === null || x === undefined ? "–" : `${(100 * x).toFixed(0)} %`);
let last = null;

function rating(x) {
  if (x === null || x === undefined) return "–";
  return last.unit === "percent" ? `${(100 * x).toFixed(1)} %` : x.toFixed(3);
}
const between = (e) => (e?.low == null ? "no interval yet" : `${rating(e.low)} to ${rating(e.high)}`);

function element(name, text, className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function figure(title, big, ...lines) {
  const box = element("section", "", "figure");
  box.append(element("h2", title), element("div", big, "big"), ...lines.filter(Boolean).map((line) => element("p", line)));
  return box;
}

function table(heads, rows) {
  const made = document.createElement("table");
  const head = made.createTHead().insertRow();
  for (const name of heads) { const cell = element("th", name); cell.scope = "col"; head.append(cell); }
  const body = made.createTBody();
  for (const row of rows) { const line = body.insertRow(); for (const cell of row) line.append(element("td", cell)); }
  return made;
}

function svg(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function chart(points) {
  const known = points.filter((p) => p.low !== null);
  if (!known.length) return element("p", "The first round is not complete yet.", "quiet");
  const W = Math.min(Math.max($("chart").clientWidth, 320), 900), H = 280, // so that a phone has letters of the same size
    L = 64, B = 34, T = 10, R = 16;
  const all = known.flatMap((p) => [p.low, p.high, p.alone_low ?? p.low, p.alone_high ?? p.high]);
  const least = Math.min(...all), most = Math.max(...all), room = (most - least || 0.1) * 0.06;
  const far = Math.max(...known.map((p) => p.spent)) || 1;
  const x = (spent) => L + (spent / far) * (W - L - R);
  const y = (value) => T + ((most + room - value) / (most - least + 2 * room)) * (H - T - B);
  const made = svg("svg", { viewBox: `0 0 ${W} ${H}`, class: "chart", role: "img", "aria-label": "Estimate and interval over money spent; the sentence below says the same." });
  for (let i = 0; i <= (most > least ? 4 : 0); i++) {
    const value = least + ((most - least) * i) / 4;
    made.append(svg("line", { x1: L, x2: W - R, y1: y(value), y2: y(value), class: "axis" }), svg("text", { x: L - 8, y: y(value) + 4, "text-anchor": "end" }, rating(value)));
  }
  made.append(svg("text", { x: W - R, y: H - 8, "text-anchor": "end" }, `money spent: ${number(far, 2)}`));
  made.append(svg("path", { class: "band", d: "M" + known.map((p) => `${x(p.spent)} ${y(p.high)}`).join("L") + "L" + known.toReversed().map((p) => `${x(p.spent)} ${y(p.low)}`).join("L") + "Z" }));
  const alone = known.filter((p) => p.alone !== null);
  for (const end of ["alone_low", "alone_high"]) if (alone.length) made.append(svg("path", { class: "whisker", fill: "none", d: "M" + alone.map((p) => `${x(p.spent)} ${y(p[end])}`).join("L") }));
  if (alone.length) made.append(svg("path", { class: "alone", d: "M" + alone.map((p) => `${x(p.spent)} ${y(p.alone)}`).join("L") }));
  made.append(svg("path", { class: "line", d: "M" + known.map((p) => `${x(p.spent)} ${y(p.value)}`).join("L") }));
  for (const p of known) made.append( // of one round alone there is no band yet
    svg("line", { class: "bar", x1: x(p.spent), x2: x(p.spent), y1: y(p.low), y2: y(p.high) }),
    svg("circle", { class: "dot", cx: x(p.spent), cy: y(p.value), r: 4 }),
  );
  return made;
}

function show(found) {
  last = found;
  const { spend, estimate, human_only: alone, queue } = found;
  $("state").textContent = found.ended ?? (found.running ? "running" : "not running");
  $("figures").replaceChildren(
    figure("Estimate", rating(estimate?.value), estimate ? `${found.says} Interval: ${found.interval_words}.` : "none before the first round is complete",
      found.if_you_look && `If you looked before: ${between(found.if_you_look)}`),
    figure("From people's answers alone", rating(alone?.value), alone ? `interval ${between(alone)}` : "not yet known"),
    figure("Money", `${spend.spent}${spend.budget ? ` of ${spend.budget}` : ""}`, `${spend.reserved} promised${spend.left === null ? "" : `, ${spend.left} left`}`, found.outlook),
    figure("Answers", number(queue.answered), `${number(queue.open)} open, ${number(queue.in_hand)} in people's hands`, queue.missing ? `${number(queue.missing)} will not come` : ""),
  );
  $("chart").replaceChildren(chart(found.history));
  $("chart-words").textContent = "Solid: the estimate with the interval that may be looked at after every round. Dashed: from people's answers alone.";
  $("people").replaceChildren(found.people.length
    ? table(["person", "answers", "seconds each", "an hour", "agree with others", "cannot tell", "flags", "in hand", "training, checks, repeats"],
        found.people.map((p) => [p.name, number(p.answers), number(p.seconds, 0), number(p.per_hour, 0),
          p.decides ? "decides where they differ" : p.agree === null ? "–" : `${share(p.agree)} (${share(p.agree_low)} to ${share(p.agree_high)})`, number(p.cannot_tell), number(p.flags), p.in_hand ? "yes" : "", p.told.join("; ") || "–"]))
    : element("p", "Nobody has answered yet.", "quiet"));
  const a = found.agreement;
  $("votes").replaceChildren(...found.votes.map((line) => element("li", line)));
  $("agreement").textContent = a?.alpha == null ? "Agreement needs items that two people have answered (votes = 2 or more; of two who differ, the mean counts)."
    : `On ${number(a.items)} items with two votes or more, ${share(a.percent)} of pairs agree (${share(a.percent_low)} to ${share(a.percent_high)}); Krippendorff's alpha ${a.alpha.toFixed(2)} (${a.alpha_low.toFixed(2)} to ${a.alpha_high.toFixed(2)}).`;
  $("judge").replaceChildren(...found.judge.map((line) => element("li", line)));
  const known = [...$("slice-column").options].map((option) => option.value);
  if (JSON.stringify(known) !== JSON.stringify(found.columns)) {
    $("slice-column").replaceChildren(...found.columns.map((name) => new Option(name, name)));
    $("slice-column").value = found.slices[0]?.column ?? found.columns[0] ?? "";
  }
  slices();
}

async function slices() {
  const column = $("slice-column").value;
  let chosen = last.slices.filter((s) => s.column === column);
  if (!chosen.length && column) {
    const response = await fetch(`/api/v1/live?slices=${encodeURIComponent(column)}`, { cache: "no-store" }).catch(() => null);
    if (response?.ok) chosen = (await response.json()).slices;
    if (column !== $("slice-column").value) return; // another one was chosen meanwhile
  }
  $("slices").replaceChildren(chosen.length
    ? table([$("slice-column").value, "items", "answers", "estimate", "interval"], chosen.map((s) => [s.name || "(empty)", number(s.items), number(s.labels), rating(s.value), between(s)]))
    : element("p", "Slices appear when there are enough answers.", "quiet"));
}
$("slice-column").addEventListener("change", slices);
addEventListener("resize", () => { if (last) $("chart").replaceChildren(chart(last.history)); });

const source = new EventSource("/api/v1/live/events");
source.addEventListener("message", (event) => { $("news").textContent = ""; $("news").className = ""; show(JSON.parse(event.data)); });
source.addEventListener("error", () => { $("news").textContent = "No connection. The page goes on by itself when the server is back."; $("news").className = "warn"; });
