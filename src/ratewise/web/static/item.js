// The item: its parts as the server wrote them, or raw. Formulas, code, differences and long texts are finished here.
import { colour } from "./code.js";
import { markDifferences } from "./differences.js";

const policy = window.trustedTypes?.createPolicy("ratewise", { createHTML: (html) => html }) ?? { createHTML: (html) => html };
const FOLD = 600, SCREEN = 0.8; // pixels or share of the screen above which a text is folded
const LONG = 8000, HEAD = 3000, TAIL = 1200; // characters: folded unmeasured; what is laid out of its beginning, and of its end

export function fill(box, html) { // cleaned by the server's allow-list
  box.innerHTML = policy.createHTML(html);
  finish(box);
}

export function finish(box) { // what the server leaves to the browser
  for (const code of box.querySelectorAll("pre > code")) colour(code);
  for (const wide of box.querySelectorAll("pre, .scroll")) Object.assign(wide, { tabIndex: 0, role: "group", ariaLabel: "scrolls sideways" });
  for (const image of box.querySelectorAll("img")) image.addEventListener("error", () => lost(image));
  formulas(box);
}

function lost(image) {
  const said = document.createElement("span");
  said.className = "none";
  said.textContent = `picture that is not there: ${image.alt || decodeURIComponent(image.src.split("/images/")[1] ?? "")}`;
  image.replaceWith(said);
}

// Formulas: KaTeX is read when the first one comes

let katex = null;
async function formulas(box) {
  const found = [...box.querySelectorAll("code.maths")];
  if (!found.length) return;
  if (!katex) {
    await import("./katex/katex.min.js").catch(() => null);
    katex = window.katex;
  }
  for (const code of found) if (katex && code.isConnected) formula(code);
}

function formula(code) {
  const display = code.classList.contains("display"), written = code.textContent.trim();
  const source = written.replace(/^(\$\$?|\\\(|\\\[)([\s\S]*?)(\$\$?|\\\)|\\\])$/, "$2");
  const made = document.createElement("span");
  made.className = display ? "formula display" : "formula";
  try {
    katex.render(source, made, { displayMode: display, throwOnError: true, strict: "ignore", trust: false, maxExpand: 200, maxSize: 20, output: "html" });
  } catch {
    return; // it stays as it is written
  }
  Object.assign(made, { role: "math", ariaLabel: source.trim(), title: written });
  if (display) made.tabIndex = 0; // scrolled by keyboard
  code.replaceWith(made);
}

// Parts

const rawOf = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "");

export function showItem(item, task, { raw, differences }) { // what there is to say about the differences
  const parts = task.parts.map((part) => {
    const box = document.createElement("section");
    box.className = part.side ? "part side" : "part";
    const head = document.createElement("h2");
    head.textContent = part.name;
    const text = document.createElement("div");
    text.className = "text";
    text.dir = "auto";
    const value = task.item[part.column];
    if (raw && rawOf(value).trim()) {
      const written = document.createElement("pre");
      written.className = "raw";
      written.textContent = rawOf(value);
      text.append(written);
    } else fill(text, part.html);
    box.append(head, text);
    return box;
  });
  item.className = task.compares ? "compares" : "";
  item.replaceChildren(...parts);
  const sides = item.querySelectorAll(".side > .text");
  const differ = differences && sides.length === 2 ? markDifferences(...sides) : undefined;
  for (const box of parts) fold(box);
  return differ === null ? "Too much differs to mark it word by word." : differ === false ? "Both answers have the same words." : "";
}

function fold(box) { // a long text shows its beginning and its end
  const text = box.querySelector(".text");
  let length = 0;
  for (const child of text.children) {
    child.classList.toggle("beyond", length > HEAD);
    length += child.textContent.length;
  }
  if (length < LONG && text.scrollHeight <= Math.max(FOLD, SCREEN * innerHeight)) return;
  const words = text.textContent.trim().split(/\s+/).length;
  const end = document.createElement("div"); // a copy of the end, for the eye alone
  Object.assign(end, { className: "text end", inert: true, ariaHidden: "true" });
  for (let child = text.lastChild, left = TAIL; child && left > 0; child = child.previousSibling) {
    end.prepend(child.cloneNode(true));
    left -= child.textContent.length;
  }
  const button = document.createElement("button");
  button.type = "button";
  button.className = "fold";
  const set = (open) => {
    text.classList.toggle("folded", !open);
    end.hidden = open;
    button.textContent = open ? "Show less" : `Show all ${words.toLocaleString("en")} words`;
    button.setAttribute("aria-expanded", String(open));
  };
  button.addEventListener("click", () => {
    set(text.classList.contains("folded"));
    if (text.classList.contains("folded")) box.scrollIntoView({ block: "nearest" });
  });
  text.addEventListener("focusin", () => { if (text.classList.contains("folded")) set(true); }); // what is hidden is not focused
  set(false);
  box.append(button, end);
}
