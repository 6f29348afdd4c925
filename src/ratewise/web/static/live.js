// The live view: the server pushes what is known whenever it has changed.
const $ = (id) => document.getElementById(id);
const number = (x, digits = 0) => (x === null || x === undefined ? "–" : x.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
const share = (x) => (x === null || x === undefined ? "–" : `${(100 * x).toFixed(0)}%`);
let last = null;

function rating(x) {
  if (x === null || x === undefined) return "–";
  return last.unit === "percent" ? `${(100 * x).toFixed(1)}%` : x.toFixed(3);
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

// Ticks at 1, 2 or 5 times a power of ten, from below the least to above the most

function ticks(least, most, count) {
  const rough = (most - least || Math.abs(most) || 1) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((times) => times * power >= rough * 0.999);
  const first = Math.floor(least / step + 1e-9);
  const out = [];
  for (let i = first; out.at(-1) === undefined || out.at(-1) < most - 1e-9 * step; i++) out.push(i * step);
  return { at: out, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

function chart(points) {
  const known = points.filter((p) => p.low !== null);
  if (!known.length) return "";
  const W = Math.min(Math.max($("chart").clientWidth, 320), 1000), H = 300, // so that a phone has letters of the same size
    L = 58, B = 44, T = 14, R = 22, unit = last.unit === "percent" ? 100 : 1;
  const all = known.flatMap((p) => [p.low, p.high, p.alone_low ?? p.low, p.alone_high ?? p.high]).map((v) => v * unit);
  const up = ticks(Math.min(...all), Math.max(...all), 5), along = ticks(0, Math.max(...known.map((p) => p.spent)) || 1, W < 500 ? 4 : 8);
  const [least, most, far] = [up.at[0], up.at.at(-1), along.at.at(-1)];
  const x = (spent) => L + (spent / far) * (W - L - R);
  const y = (value) => T + ((most - value * unit) / (most - least || 1)) * (H - T - B);
  const made = svg("svg", { viewBox: `0 0 ${W} ${H}`, class: "chart", role: "img", "aria-label": "Estimate and interval over money spent; the table of rounds in the report says the same." });
  for (const value of up.at) {
    made.append(svg("line", { x1: L, x2: W - R, y1: y(value / unit), y2: y(value / unit), class: "axis" }),
      svg("text", { x: L - 8, y: y(value / unit) + 4, "text-anchor": "end" }, `${number(value, up.digits)}${unit === 100 ? "%" : ""}`));
  }
  for (const value of along.at) {
    made.append(svg("line", { x1: x(value), x2: x(value), y1: H - B, y2: H - B + 5, class: "tick" }),
      svg("text", { x: x(value), y: H - B + 19, "text-anchor": "middle" }, number(value, along.digits)));
  }
  made.append(svg("text", { x: W - R, y: H - 6, "text-anchor": "end" }, `money spent${last.currency ? ` (${last.currency})` : ""}`));
  const path = (points, of) => "M" + points.map((p) => `${x(p.spent)} ${y(p[of])}`).join("L");
  const alone = known.filter((p) => p.alone !== null);
  for (const end of ["alone_low", "alone_high"]) if (alone.length) made.append(svg("path", { class: "whisker", fill: "none", d: path(alone, end) }));
  if (alone.length) made.append(svg("path", { class: "alone", d: path(alone, "alone") }));
  made.append(svg("path", { class: "band", d: path(known, "high") + "L" + path(known.toReversed(), "low").slice(1) + "Z" }), svg("path", { class: "line", d: path(known, "value") }));
  for (const p of known) made.append( // of one round alone there is no band yet
    svg("line", { class: "bar", x1: x(p.spent), x2: x(p.spent), y1: y(p.low), y2: y(p.high) }),
    svg("circle", { class: "dot", cx: x(p.spent), cy: y(p.value), r: 4 }),
  );
  return made;
}

function bar(done, of, label) { // how far something is
  const made = document.createElement("progress");
  Object.assign(made, { value: done, max: of || 1, ariaLabel: label });
  return made;
}

// Flags and comments to work through: what is done is remembered on this device

const doneKey = (one) => `ratewise remark ${last.name} ${one.position} ${one.person}`;

function remark(one) {
  const box = element("li", "", one.flagged ? "remark flagged" : "remark");
  const done = document.createElement("input");
  Object.assign(done, { type: "checkbox", checked: localStorage.getItem(doneKey(one)) === "1" });
  const label = element("label", "", "option");
  label.append(done, one.flagged ? "⚑ Flagged" : "Comment", element("span", `by ${one.person}, who said: ${one.rating} · item ${one.id}`, "quiet"));
  const item = document.createElement("details");
  item.append(element("summary", "The item"));
  for (const { name, text } of one.texts) item.append(element("strong", name), element("pre", text));
  box.append(label);
  if (one.comment) box.append(element("blockquote", one.comment));
  box.append(item);
  const set = () => { box.classList.toggle("done", done.checked); localStorage.setItem(doneKey(one), done.checked ? "1" : "0"); };
  done.addEventListener("change", set);
  box.classList.toggle("done", done.checked);
  return box;
}

let remarked = ""; // those that are shown, so that what somebody opened stays open while answers come in
function remarks(found) {
  if (JSON.stringify(found) === remarked) return;
  remarked = JSON.stringify(found);
  const list = element("ul", "", "remarks");
  list.append(...found.map(remark));
  $("remarks").replaceChildren(found.length ? list : element("p", "Nobody has flagged or commented on anything.", "quiet"));
}

function show(found) {
  last = found;
  const { spend, estimate, human_only: alone, queue, round } = found;
  $("state").textContent = found.ended ?? (found.running ? "running" : "not running");
  $("says").textContent = found.says ?? "No estimate yet: it comes when the first round is complete.";
  $("goal").textContent = found.goal;
  $("goal").className = / is reached/.test(found.goal) ? "goal reached" : "goal";
  const answers = figure("Answers", number(queue.answered), round ? `${number(round.answered)} of ${number(round.asked)} of round ${number(round.number)}` : "",
    `${number(queue.open)} open, ${number(queue.in_hand)} in people's hands`, queue.missing ? `${number(queue.missing)} will not come` : "");
  if (round) answers.querySelector(".big").after(bar(round.answered, round.asked, `round ${round.number}`));
  const money = figure("Money", spend.spent, spend.budget ? `of ${spend.budget}` : "no limit", `${spend.reserved} promised${spend.left === null ? "" : `, ${spend.left} left`}`, found.outlook);
  if (spend.budget) money.querySelector(".big").after(bar(spend.share, 1, "money spent"));
  const estimates = estimate ? [ // before there is one, the headline says so
    figure("Estimate", rating(estimate.value), `${between(estimate)}: ${found.interval_words}`,
      found.if_you_look && `If you looked before: ${between(found.if_you_look)}`),
    figure("From people's answers alone", rating(alone?.value), alone ? `interval ${between(alone)}` : "not yet known"),
  ] : [];
  $("figures").replaceChildren(...estimates, money, answers);
  remarks(found.remarks);
  $("chart").closest("section").hidden = !found.history.some((p) => p.low !== null);
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
  $("judge").closest("section").hidden = !found.judge.length;
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
  $("slice-choice").hidden = !column;
  if (!column) return $("slices").replaceChildren(element("p", "No column of the table makes slices: a few words that no rater reads or sees.", "quiet"));
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
