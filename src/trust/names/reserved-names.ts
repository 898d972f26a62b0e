/**
 * Names that pages and the audit log use for the owner, the operators and the service. A program or a peer that chose one
 * of them, or one that looks like it, would speak in their name: "You approved …".
 */

const names = [
  'you',
  'yourself',
  'owner',
  'account owner',
  'creator',
  'trustee',
  'peer',
  'client',
  'anonymous',
  'unknown',
  'unknown visitor',
  'unknown caller',
  'application',
  'admin',
  'administrator',
  'system',
  'service',
  'troupe',
  'sie',
  'du',
  'inhaber',
  'inhaberin',
  'besitzer',
  'besitzerin',
  'eigentümer',
  'eigentümerin',
  'treuhänder',
  'treuhänderin',
  'unbekannt',
  'unbekannter besucher',
  'anwendung',
  'verwalter',
  'verwalterin',
  'dienst',
]
/** Pages put the name of the operator behind these words. */
const operatorNames = ['operator', 'operators', 'betreiber', 'betreiberin']

/** Letters and digits of other alphabets that look like a Latin letter (Unicode Technical Standard 39). */
const lookalikes: Readonly<Record<string, string>> = {
  a: 'аАɑᴀαΑ⍺ꓮᎪ@4',
  b: 'вВΒβʙЬьᏴꓐⲂ8',
  c: 'сСϲϹᴄᏟꓚⲤⲥ',
  d: 'ԁԀժᴅᎠꓓɗɖđĐð',
  e: 'еЕεΕ℮ҽᴇᎬꓰɛєЄꬲ⋿3',
  f: 'ϝϜքꓝꜰƒ',
  g: 'ɡցԍԌɢᏀꓖ9',
  h: 'һҺнНΗհᏂʜᎻꓧⲎħ',
  k: 'кКΚκᴋᏦꓗⲔⲕ',
  l: 'iіІιΙıɩӏӀןו١۱ⅼᎥꓲⲒⵏǀ∣|1łʟꓡᏞⳐ',
  m: 'мМΜᴍᎷꓟⲘ',
  n: 'поռпηΝɴꓠⲚᴎ',
  o: 'оОοΟօՕⲟⲞ०٥ہەهס〇ᴏᴑꓳჿଠ০੦૦௦౦೦൦๐໐ဝ၀øØɵӨө0',
  p: 'рРρΡ⍴ᏢꓑᴘⲣⲢϱ',
  r: 'гᴦⲅʀᎡᏒꓣꭇꭈ',
  s: 'ѕЅꜱᏚꓢƽՏʂ$5',
  t: 'тТτΤᴛᎢꓔⲦ⊤⟙7',
  u: 'иυսՍᴜ∪⋃ꓴʋꭎꭒμ',
  v: 'νѵѴᴠᏙꓦ∨⋁ט٧',
  w: 'ԝԜωѡաᴡᎳᏔꓪш',
  y: 'уУҮүγΥᎩᎽꓬʏⲨⲩ¥',
}

const latin: ReadonlyMap<string, string> = new Map(
  Object.entries(lookalikes).flatMap(([letter, others]) => Array.from(others, (other) => [other, letter])),
)

/** True for a name that is reserved, in any spelling that looks like it: other alphabets, spaces, hidden characters. */
export function isReservedName(name: string): boolean {
  // Pages add facts in parentheses: "You (Firefox on Linux)".
  const [before = ''] = name.normalize('NFKD').split('(')
  const [word = ''] = before.trim().split(/[^\p{L}\p{N}\p{M}]/u)
  return reserved.has(lookOf(name)) || reserved.has(lookOf(before)) || reservedWords.has(lookOf(word))
}

/** The letters of a name as a person sees them, without marks, punctuation and an article. */
function lookOf(name: string): string {
  const words = name.normalize('NFKD').replace(/^\s*(?:the|der|die|das)\s+/iu, '')
  return Array.from(words, (letter) => latin.get(letter) ?? latin.get(letter.toLowerCase()) ?? letter.toLowerCase())
    .join('')
    .replace(/[^\p{L}\p{N}]|\p{Default_Ignorable_Code_Point}/gu, '')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
}

const reservedWords: ReadonlySet<string> = new Set(operatorNames.map(lookOf))
const reserved: ReadonlySet<string> = new Set([...names.map(lookOf), ...reservedWords])
