// Code in colours: comments, texts, numbers and words of the language, for any language that looks like most of them.
const WORDS = new Set(`and as assert async await bool boolean break case catch char class const continue debugger def default del delete do double
elif else elsif end enum except export extends extern false False final finally float fn for foreach from func function go if impl implements import in
instanceof int interface is lambda let long match mod mut namespace new nil None nonlocal not null nullptr or package pass private protected pub public
raise readonly ref require return self short signed sizeof static struct super switch template this throw throws trait true True try type typedef
typeof undefined union unless unsigned until use using var void volatile when where while with yield
select insert update delete from where group by order having join left right inner outer on as create table into values set limit distinct union
SELECT INSERT UPDATE DELETE FROM WHERE GROUP BY ORDER HAVING JOIN LEFT RIGHT INNER OUTER ON AS CREATE TABLE INTO VALUES SET LIMIT DISTINCT UNION AND OR NOT NULL
then fi done esac echo exit local`.split(/\s+/));
const HASH = /^(python|py|ruby|rb|bash|sh|shell|zsh|console|yaml|yml|toml|perl|r|make|makefile|dockerfile|ini|elixir)$/;
const DASH = /^(sql|lua|haskell|hs|ada|elm)$/;
const LONGEST = 50_000; // characters that are coloured

function comments(language, text) {
  if (HASH.test(language)) return "#.*";
  if (DASH.test(language)) return "--.*";
  if (/^(html|xml|svg|vue)$/.test(language)) return "<!--[\\s\\S]*?-->";
  if (language) return "//.*|/\\*[\\s\\S]*?\\*/";
  if (/^\s*#include|[;{]\s*$/m.test(text)) return "//.*|/\\*[\\s\\S]*?\\*/";
  return /^\s*(def |import |from |class )/m.test(text) ? "#.*" : "//.*|/\\*[\\s\\S]*?\\*/";
}

export function colour(code) {
  const text = code.textContent;
  const language = /language-(\S+)/.exec(code.className)?.[1].toLowerCase() ?? "";
  if (text.length > LONGEST || /^(text|txt|plain|markdown|md|diff)$/.test(language)) return;
  const signs = new RegExp([
    `(?<comment>${comments(language, text)})`,
    String.raw`(?<string>"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|${"`"}(?:\\.|[^${"`"}\\])*${"`"})`,
    String.raw`(?<number>\b(?:0x[\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\b)`,
    String.raw`(?<call>^[ \t]*[#@]\w+|\b[A-Za-z_]\w*(?=\())`,
    String.raw`(?<word>\b[A-Za-z_]\w*\b)`,
  ].join("|"), "gm");
  const out = document.createDocumentFragment();
  let at = 0;
  for (const found of text.matchAll(signs)) {
    const kind = Object.entries(found.groups).find(([, part]) => part !== undefined)[0];
    const kept = WORDS.has(found[0]) ? "keyword" : kind;
    if (kept === "word") continue;
    const span = document.createElement("span");
    span.className = `code-${kept}`;
    span.textContent = found[0];
    out.append(text.slice(at, found.index), span);
    at = found.index + found[0].length;
  }
  out.append(text.slice(at));
  code.replaceChildren(out);
}
