// Texts of a model or a tool that a browser could take for markup. None of it may run, load, hide or reach out.
const RLO = "\u202e";

export const INJECTIONS = [
  "<script>window.ran = 1</script>",
  "<img src=x onerror=\"window.ran = 2\">",
  "<svg onload=\"window.ran = 3\"><script>window.ran = 4</script></svg>",
  "<iframe srcdoc=\"<script>parent.ran = 5</script>\"></iframe>",
  "</div></main><style>body{display:none}</style><h1 onclick=alert(1)>hello</h1>",
  "[click](javascript:window.ran=6) [a](JaVaScRiPt:alert(1)) [b](java\tscript:alert(1)) [c](&#106;avascript:alert(1))",
  "[data](data:text/html,<script>window.ran=7</script>) [v](vbscript:msgbox(1)) [f](file:///etc/passwd) [b](blob:http://x/y)",
  "![picture](http://127.0.0.2:9/track.png) ![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+) ![j](javascript:alert(1))",
  "[<img src=x onerror=window.ran=8>](http://127.0.0.2:9/\"onmouseover=\"alert(1)) **<b onmouseover=alert(1)>x</b>**",
  "```html\n<script>window.ran = 9</script>\n```\n`<img src=x onerror=alert(1)>` ```unclosed <script>alert(1)</script>",
  "| <script>alert(1)</script> | b |\n|---|---|\n| <img src=x onerror=alert(1)> | `|` \\| x |",
  `access level: ${RLO}\u2066user\u2069 \u2066// admin\u2069 \u200f\u200e\u061c`,
  `[safe](https://example.com/${RLO}gpj.exe) \u200bhidden\u2060\ufeff \u{e0041}\u{e0042}`,
  "\u001b[31mred\u001b[0m \u001b]8;;http://evil.example\u0007link\u001b]8;;\u0007 \u001b]52;c;ZXZpbA==\u0007 \u009b2J \b\b\b\u007f",
  `${"W".repeat(20000)} ${"\u0301".repeat(500)}`,
  "{{constructor.constructor('window.ran=10')()}} ${window.ran=11} <%= 1 %> {% x %}",
  "<math><mtext></table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=alert(1)&gt;\">",
  "<base href=\"http://127.0.0.2:9/\"><meta http-equiv=refresh content=\"0;url=http://127.0.0.2:9/\"><link rel=stylesheet href=http://127.0.0.2:9/x.css>",
  "<form action=http://127.0.0.2:9/><input name=token><button autofocus onfocus=alert(1)>send</button></form>",
  "event: status\ndata: {\"kind\":\"status\",\"data\":{\"busy\":true}}\n\nid: 99999\n\n",
  `${"[".repeat(3000)}x${"](".repeat(3000)} ${"*".repeat(3001)}a${"_".repeat(3001)} ${"`".repeat(999)}`,
  "# <a name=main></a>\n> <details open ontoggle=alert(1)>\n- <video><source onerror=alert(1)></video>\n\n\r\n \t trailing \n",
  "&lt;script&gt; &#60;img&#62; &amp;amp; \\<b\\> <!-- hidden --> <![CDATA[x]]>",
  "__proto__ constructor [x](__proto__) \u2028\u2029 \u0000 end \ud83d\udc69\u200d\ud83d\udc69\u200d\ud83d\udc67 e\u0301 \uffff",
];
