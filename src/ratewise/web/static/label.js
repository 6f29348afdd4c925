// The labelling page: one question at a time. An answer is kept on this device until the server says that it is saved.
import { fill, finish, showItem } from "./item.js";

const csrf = document.querySelector("meta[name=csrf]").content;
const person = document.querySelector("meta[name=person]").content;
const $ = (id) => document.getElementById(id);
const PENDING = `ratewise pending ${JSON.stringify(person)} `; // and the question's key: each tab may hold one
const IDLE = 60_000; // milliseconds without a sign of life that no longer count as work

let task = null; // the question on the page
let busy = false; // an answer, undo or skip is under way, and inputs are shut: what is shown is what is saved
let flagged = false;
let spent = 0; // milliseconds of work on this question
let seenAt = performance.now(); // the last sign of life
const pace = []; // milliseconds of the last answers
let done = 0;
const wide = matchMedia("(min-width: 1180px)");

// What is remembered on this device

const remembered = (name) => localStorage.getItem(`ratewise ${name}`);
const remember = (name, on) => localStorage.setItem(`ratewise ${name}`, on ? "1" : "0");
const isOn = (name) => remembered(name) === "1";

// Talking to the server

class Offline extends Error {}

async function call(path, body) {
  let response;
  try {
    response = await fetch(path, {
      method: body === undefined ? "GET" : "POST",
      headers: body === undefined ? {} : { "Content-Type": "application/json", "X-CSRF-Token": csrf },
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
    });
  } catch {
    throw new Offline();
  }
  if (response.status >= 500) throw new Offline();
  if (response.status === 401) {
    say("You are signed out. What you answered is kept here: open your link again in this browser.", true);
    throw new Error("signed out");
  }
  const found = response.status === 204 ? null : await response.json().catch(() => ({}));
  return { status: response.status, found };
}

function say(text, warn = false) {
  $("news").textContent = text;
  $("news").className = warn ? "warn" : "";
}

const wait = (ms) => new Promise((resolve) => {
  const timer = setTimeout(resolve, ms);
  addEventListener("online", () => { clearTimeout(timer); resolve(); }, { once: true });
});

async function patiently(work, whileOffline) {
  for (let pause = 1000; ; pause = Math.min(pause * 1.7, 15_000)) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Offline)) throw error;
      say(whileOffline, true);
      await wait(pause);
    }
  }
}

// Answers that the server has not confirmed yet

const pending = () => Object.keys(localStorage).filter((name) => name.startsWith(PENDING)).map((name) => JSON.parse(localStorage.getItem(name)));

async function send(answer) {
  localStorage.setItem(PENDING + answer.key, JSON.stringify(answer));
  const { status, found } = await patiently(
    () => call("/api/v1/answers", answer),
    "No connection. Your answer is kept on this device and is sent as soon as the server answers.",
  );
  localStorage.removeItem(PENDING + answer.key);
  localStorage.removeItem(draftOf(answer.key));
  if (status === 200 || status === 201) {
    done = found.done;
    say("Saved.");
  } else {
    say("");
    const which = task?.key === answer.key ? "this question" : "an earlier question";
    await tell(false, "✗ Not saved", `Your answer to ${which} was not saved: ${found?.error ?? "the server refused it"}.`);
  }
  if (found?.feedback) await showFeedback(found.feedback);
  return { status, found };
}

function showFeedback({ right, expected, why, number, of, share, passed }) { // after a training item
  const score = `${Math.round(100 * share)} % right`;
  const end = passed === null ? `Training item ${number} of ${of}` : passed
    ? `Training passed, ${score}. Real questions follow; they come without feedback.`
    : `${score}, which is not enough yet. The training begins again.`;
  return tell(right, right ? "✓ Right" : "✗ Not quite", right ? "" : `The answer is: ${expected}`, why, end);
}

function tell(right, title, text, why = "", end = "") { // what became of an answer, above its question, until it was read
  $("feedback").className = right ? "right" : "wrong";
  $("feedback-title").textContent = title;
  $("feedback-text").textContent = text;
  fill($("feedback-why"), why);
  $("feedback-why").hidden = !why;
  $("feedback-end").textContent = end;
  return new Promise((resolve) => {
    $("feedback").addEventListener("close", resolve, { once: true });
    $("feedback").showModal();
    $("feedback-close").focus();
  });
}

// One question after the other

async function progress() { // beside the work: nobody waits for it
  const { found } = await patiently(() => call("/api/v1/me"), "No connection. Trying again …").catch(() => ({}));
  if (!found) return;
  done = found.done;
  const each = pace.length ? pace.reduce((a, b) => a + b, 0) / pace.length / 1000 : 0;
  const left = found.left ? ` · ${found.left.toLocaleString("en")} open` : "";
  const seconds = each < 90 ? `${Math.max(1, Math.round(each))} s` : `${Math.round(each / 60)} min`;
  const more = document.createElement("span");
  more.className = "long";
  more.textContent = (left && " now") + (each ? ` · ${seconds} each` : "");
  $("progress").replaceChildren(`${done.toLocaleString("en")} done${left}`, more);
  $("bar").setAttribute("width", String(done + found.left ? (100 * done) / (done + found.left) : 0));
  $("undo-idle").hidden = !done;
  if (found.ended) {
    $("idle").querySelector("h2").textContent = "All done – thank you";
    $("idle").querySelector("p").textContent = "This campaign needs no more answers.";
  }
}

const draftOf = (key) => `ratewise draft ${key}`;
const keepAs = (key, draft) => localStorage.setItem(draftOf(key), JSON.stringify(draft));

function show(found) {
  task = found;
  $("answer").hidden = $("item").hidden = $("views").hidden = !found;
  $("idle").hidden = Boolean(found);
  $("title").classList.toggle("unseen", true);
  if (!found) return void ($("training").hidden = true);
  spent = 0;
  seenAt = performance.now();
  const draft = JSON.parse(localStorage.getItem(draftOf(found.key)) ?? "{}");
  $("comment").value = draft.comment ?? "";
  setFlag(Boolean(draft.flagged));
  openComment(Boolean(draft.comment), false);
  $("training").hidden = !found.training;
  if (found.training) $("training").textContent = `Training ${found.training.number} of ${found.training.of}: you see the right answer after each of yours.`;
  $("differences").hidden = !found.compares;
  view();
  $("criteria").replaceChildren(criterion(found, draft.rating));
  $("criteria").scrollTo(0, 0);
  scrollTo(0, 0);
  $("title").textContent = `Question ${done + 1}`;
  $("title").focus({ preventScroll: true });
}

function view() { // the item, as this person wants to see it
  const wanted = { raw: isOn("raw"), differences: isOn("differences") };
  for (const name of ["raw", "differences"]) $(name).setAttribute("aria-pressed", String(wanted[name]));
  const told = task ? showItem($("item"), task, wanted) : "";
  if (told) say(told);
}

function turn(name) {
  if (!task || $(name).hidden) return;
  remember(name, !isOn(name));
  view();
}

// Choices

function optionsOf({ kind, scale }) {
  if (scale.words) return Object.entries(scale.words).map(([label, value], i) => ({ label, value, key: String(i + 1) }));
  if (kind === "binary") return [{ label: "Yes", value: 1, key: "1" }, { label: "No", value: 0, key: "2" }];
  if (kind === "pairwise") {
    return [{ label: "A", more: " is better", value: 1, key: "1" }, { label: "B", more: " is better", value: 0, key: "2" }, { label: "Tie", value: 0.5, key: "3" }];
  }
  if (kind === "likert" && scale.high - scale.low <= 20) {
    return Array.from({ length: scale.high - scale.low + 1 }, (_, i) => scale.low + i)
      .map((value) => ({ label: String(value), value, key: value >= 0 && value <= 9 ? String(value) : "" }));
  }
  return null; // a number is typed
}

function choice({ label, more = "", value, key }, chosen, group) {
  const box = document.createElement("label");
  box.className = "choice";
  const input = document.createElement("input");
  input.type = "radio";
  input.name = group;
  input.value = JSON.stringify(value);
  input.checked = chosen === input.value;
  const word = document.createElement("span");
  word.append(label, Object.assign(document.createElement("span"), { className: "long", textContent: more }));
  box.append(input, word);
  if (key && key !== label) {
    const hint = document.createElement("kbd");
    hint.textContent = key.toUpperCase();
    hint.ariaHidden = "true"; // told by aria-keyshortcuts
    box.append(hint);
  }
  if (key) {
    box.dataset.key = key;
    input.setAttribute("aria-keyshortcuts", key.toUpperCase());
  }
  return box;
}

const ASKED = { pairwise: "Which is better?", binary: "Is it so?", likert: "How good is it?", score: "How good is it?" };

function criterion(asked, chosen, group = "rating") { // the claim above its buttons; several of these make a list of claims
  const box = document.createElement("fieldset");
  box.className = "criterion";
  const claim = document.createElement("legend"), words = document.createElement("span");
  words.textContent = asked.criterion || ASKED[asked.kind] || "Your rating";
  words.className = "claim"; // a long one is cut on phones until it is tapped
  words.addEventListener("click", () => words.classList.toggle("whole"));
  claim.append(words);
  const options = optionsOf(asked), choices = document.createElement("div");
  choices.className = asked.kind === "likert" && options && !asked.scale.words ? "choices row" : "choices";
  choices.append(...(options ? options.map((option) => choice(option, chosen, group)) : [numberBox(asked, chosen)]));
  choices.append(choice({ label: "Cannot tell", value: null, key: "x" }, chosen, group));
  choices.lastChild.classList.add("aside");
  box.append(claim, choices);
  if (!asked.scale.words && ["likert", "score"].includes(asked.kind)) {
    const { low, high, ends: [worst, best] = ["lowest", "highest"] } = asked.scale;
    const ends = document.createElement("p");
    ends.className = "ends";
    ends.id = `ends-${group}`;
    for (const text of [`${low} = ${worst}`, `${high} = ${best}`]) ends.append(Object.assign(document.createElement("span"), { textContent: text }), " ");
    box.setAttribute("aria-describedby", ends.id);
    choices.before(ends);
  }
  return box;
}

function numberBox({ kind, scale }, chosen) {
  const box = document.createElement("label");
  box.className = "typed";
  const word = document.createElement("span");
  word.className = "long";
  word.textContent = `A ${kind === "likert" ? "whole " : ""}number from ${scale.low} to ${scale.high}`;
  const input = document.createElement("input");
  Object.assign(input, { ariaLabel: word.textContent, type: "number", id: "number", min: scale.low, max: scale.high, step: kind === "likert" ? 1 : "any" });
  if (chosen !== undefined && chosen !== "null") input.value = JSON.parse(chosen);
  input.addEventListener("input", () => {
    const other = $("criteria").querySelector("input[type=radio]:checked");
    if (other) other.checked = false;
  });
  box.append(word, input);
  return box;
}

function chosen() {
  const radio = $("criteria").querySelector("input[type=radio]:checked");
  if (radio) return JSON.parse(radio.value);
  const number = $("number");
  if (number && number.value !== "") return number.checkValidity() ? Number(number.value) : undefined;
  return undefined;
}

// What people do

async function alone(work) {
  if (busy) return;
  shut(true);
  try {
    await work();
  } catch (error) {
    if (error.message !== "signed out") throw error;
  } finally {
    shut(false);
  }
}

let focused = null; // when the inputs were shut
let late = 0;
function shut(on) {
  if (on) focused = document.activeElement;
  busy = $("answer").inert = on;
  document.body.classList.toggle("busy", on);
  clearTimeout(late);
  if (on) late = setTimeout(() => ($("saving").hidden = false), 400); // no flicker where the reply comes at once
  else $("saving").hidden = true;
  if (!on && document.activeElement === document.body) focused?.focus({ preventScroll: true });
}

async function save() {
  if (busy || !task) return;
  const rating = chosen();
  if (rating === undefined) {
    const { low, high } = task.scale;
    say($("number") ? `Type a number from ${low} to ${high}, or choose “Cannot tell”.` : "Choose an answer first.", true);
    ($("number") ?? $("criteria").querySelector("input"))?.focus();
    return;
  }
  live();
  const answer = { key: task.key, rating, comment: $("comment").value.trim(), seconds: spent / 1000, flagged, next: true };
  await alone(() => sendAndShowNext(answer, spent));
}

async function sendAndShowNext(answer, took) {
  const { status, found } = await send(answer);
  if (status === 201) {
    pace.push(took);
    if (pace.length > 10) pace.shift();
  }
  if (found?.next) { // it came with the reply
    show(found.next);
    progress();
  } else {
    await nextInBackground();
  }
}

async function nextInBackground() {
  const { status, found } = await patiently(() => call("/api/v1/next", {}), "No connection. Trying again …");
  show(status === 200 ? found : null);
  progress();
  if (!task) poll();
}

let polling = false;
async function poll() {
  if (polling) return;
  polling = true;
  while (!task) {
    await wait(2000);
    if (!busy && !task) await alone(async () => {
      const { status, found } = await patiently(() => call("/api/v1/next", {}), "No connection. Trying again …");
      if (status === 200) { say("There is a new question."); show(found); }
      progress();
    });
  }
  polling = false;
}

const undo = () => alone(async () => {
  const { status, found } = await patiently(() => call("/api/v1/undo", {}), "No connection. Trying again …");
  if (status !== 200) return say(`Cannot undo: ${found.error}.`, true);
  keepAs(found.key, { rating: JSON.stringify(found.rating), comment: found.comment, flagged: found.flagged });
  await nextInBackground();
  say("Your last answer was taken back. Change it, or save it again.");
});

const skip = () => alone(async () => {
  if (!task) return;
  const { status } = await patiently(() => call("/api/v1/skip", { key: task.key }), "No connection. Trying again …");
  await nextInBackground();
  say(status === 200 ? "Skipped. It comes back when nothing else is left." : "The question that you skipped was settled meanwhile.");
});

function setFlag(on) {
  flagged = on;
  $("flag").setAttribute("aria-pressed", String(on));
}

function flag() {
  setFlag(!flagged);
  keepDraft();
}

function openComment(open, focus = true) {
  $("comment-box").hidden = !open;
  $("open-comment").setAttribute("aria-expanded", String(open));
  if (open && focus) $("comment").focus();
}

function keepDraft() {
  if (!task) return;
  const radio = $("criteria").querySelector("input[type=radio]:checked");
  const rating = radio?.value ?? ($("number")?.value ? JSON.stringify(Number($("number").value)) : undefined);
  keepAs(task.key, { rating, comment: $("comment").value, flagged });
}

// A sign of life counts as work, and keeps the question in hand

function live() {
  const now = performance.now();
  if (now - seenAt < IDLE) spent += now - seenAt;
  seenAt = now;
}

let renewedAt = performance.now();
async function renew() {
  if (!task || busy) return;
  const { key } = task;
  const lease = task.lease * 1000;
  const due = performance.now() - renewedAt > lease / 3;
  if (!due || performance.now() - seenAt > lease) return;
  renewedAt = performance.now();
  try {
    const { status } = await call("/api/v1/renew", { key });
    if (status === 409 && task?.key === key) say("This question was given to somebody else meanwhile. You may still answer, or skip it.", true);
  } catch { /* the next sign of life tries again */ }
}

// Keys and buttons

function openGuidelines() { // beside the question where there is room
  if (!$("side")) return;
  if (!wide.matches) return $("guidelines").showModal();
  remember("side", !isOn("side"));
  showSide();
}

function showSide() {
  if (!$("side")) return;
  $("side").hidden = !wide.matches || !isOn("side") || !$("welcome").hidden;
  $("open-guidelines").setAttribute("aria-expanded", String(!$("side").hidden));
}

addEventListener("keydown", (event) => {
  live();
  const writing = event.target.matches("textarea, input[type=number], input[type=text]");
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); return save(); }
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape" && event.target.id === "comment") return $("save").focus();
  if (event.target.matches("textarea")) return;
  const key = event.key.toLowerCase();
  if (event.key === "Enter" && !event.target.matches("button, a, summary")) { event.preventDefault(); return $("welcome").hidden ? save() : begin(); }
  if (writing && /^[0-9.,e+-]$/.test(key)) return;
  const beside = { g: openGuidelines, "?": () => $("keys").showModal(), r: () => turn("raw"), d: () => turn("differences") };
  const acts = { u: undo, s: skip, f: flag, c: () => openComment(true) };
  if (beside[key]) { event.preventDefault(); return beside[key](); }
  if (busy || !$("welcome").hidden) return;
  if (acts[key]) { event.preventDefault(); return acts[key](); }
  const box = task && $("criteria").querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (box) {
    event.preventDefault();
    pick(box.querySelector("input"), event.repeat);
  } else if (/^[0-9]$/.test(key) && $("number")) $("number").focus();
});

function pick(input, repeated) {
  input.checked = true;
  input.focus();
  if ($("number")) $("number").value = "";
  keepDraft();
  if (isOn("one key") && !repeated) save();
}

const DOUBLE = 250; // milliseconds in which nobody has read a new question: a second tap was meant for the one before
let tapped = -DOUBLE;
$("criteria").addEventListener("click", (event) => {
  const box = event.detail > 0 && isOn("one key") && event.target.closest(".choice");
  if (!box) return; // of the keyboard, which moves between choices, or of a label for its input
  event.preventDefault();
  if (performance.now() - tapped < DOUBLE) return;
  setTimeout(() => { // when the browser has put its input back
    tapped = performance.now();
    pick(box.querySelector("input"), false);
  });
});

for (const name of ["pointerdown", "pointermove", "scroll", "input"]) addEventListener(name, live, { passive: true });
$("answer").addEventListener("submit", (event) => { event.preventDefault(); save(); });
$("answer").addEventListener("input", () => { keepDraft(); if ($("news").className) say(""); });
for (const [id, act] of Object.entries({
  undo, "undo-idle": undo, skip, flag, raw: () => turn("raw"), differences: () => turn("differences"), begin, "open-guidelines": openGuidelines,
  "open-comment": () => openComment($("comment-box").hidden), "open-keys": () => $("keys").showModal(),
})) $(id)?.addEventListener("click", act);
$("sign-out").addEventListener("click", async () => {
  await fetch("/sign-out", { method: "POST", headers: { "X-CSRF-Token": csrf } }).catch(() => say("No connection. Try again.", true));
  location.reload();
});
if (remembered("one key") === null) remember("one key", matchMedia("(pointer: coarse)").matches); // one tap on phones
if (remembered("side") === null) remember("side", true);
$("one-key").checked = isOn("one key");
const oneKey = () => document.body.classList.toggle("one-key", isOn("one key"));
$("one-key").addEventListener("change", () => { remember("one key", $("one-key").checked); oneKey(); });
oneKey();
wide.addEventListener("change", showSide);
setInterval(renew, 5000);
for (const guide of document.querySelectorAll(".guide")) finish(guide);

// The first visit: what it is about; no question is held meanwhile

const welcomed = `welcomed ${JSON.stringify(person)} ${document.querySelector("meta[name=welcome]").content}`;

function begin() {
  remember(welcomed, true);
  $("welcome").hidden = true;
  document.body.classList.remove("welcomes");
  start();
}

function start() {
  showSide();
  alone(async () => {
    for (const kept of pending()) await send(kept);
    await nextInBackground();
  });
}

if (isOn(welcomed) || pending().length) start();
else {
  $("welcome").hidden = false;
  document.body.classList.add("welcomes");
  progress();
  $("begin").focus({ preventScroll: true });
}
