/** The rules of docs/prose.md that a program can check, as pure functions over the text of one file. */
import { areas } from '../test/support/catalogue.ts'

export interface Finding {
  readonly path: string
  readonly line: number
  readonly rule: 'phrase' | 'opening' | 'sentence' | 'title'
  readonly text: string
  /** The suggested replacement. */
  readonly advice: string
}

/** One comment, test title, or block of a document. */
interface Passage {
  readonly kind: 'comment' | 'title' | 'document'
  readonly line: number
  readonly text: string
}

/** Maximum length of a sentence in a document, in words. */
const maxWords = 30

/** Idioms that are forbidden everywhere: in comments, strings and code. */
const idioms: readonly [RegExp, string][] = [
  [
    /\bis no (?!longer\b|more than\b|less than\b|later than\b|earlier than\b)[a-z]+/gi,
    'write “is not a valid …” or “does not exist”',
  ],
  [/\b(?:is|are) none\b/gi, 'write “is not a valid …” or “does not exist”'],
  [/\banew\b/gi, 'write “again”'],
  [/\bwhoever\b/gi, 'name the caller, client or user'],
  [/\bnobody\b/gi, 'write “no client”, “no user” or “no caller”'],
  [/\btold\b/gi, 'write “notified”, “receives” or “reports”'],
  [/\bany more\b/gi, 'write “no longer”'],
  [/\b(?:has|have) to be\b/gi, 'write “must be”'],
]

/** Phrases that comments, titles and documents replace. */
const phrases: readonly [RegExp, string][] = [
  [/\bonce more\b/gi, 'write “again”'],
  [/\bsomebody\b/gi, 'name the caller, client or user'],
  [/\bgo(?:es|ing)? on\b/gi, 'write “continue” or “resume”'],
  [/\bstands? for\b(?! a\b| the\b| one\b)/gi, 'write “means”'],
  [/\b(?:is|are|was|stays?) good for\b/gi, 'write “is valid for”'],
  [/\b(?:became|becomes?|become) of\b/gi, 'write “outcome” or “result”'],
  [/\bthe other (?:side|end)\b/gi, 'write “the peer”'],
  [/\bmend(?:s|ed|ing)?\b/gi, 'write “repair” or “fix”'],
  [/\bso often\b/gi, 'write “N times”'],
  [/\bthat long\b/gi, 'write “N seconds”'],
  [/\bof the application['’]s own\b/gi, 'write “application-defined”'],
  [/\b(?:lets?|letting) in\b/gi, 'write “authorizes” or “allows”'],
  [/\bknock(?:s|ed|ing)?\b/gi, 'write “request”'],
  [/\ba yes of\b/gi, 'write “approval”'],
  [/\btells? of\b/gi, 'write “describes” or “reports”'],
]

/** Words that withhold the subject when a comment begins with them. */
const openings = /^(?:Of|As|What|Those|Whoever|That)\b/

function passagesOfCode(text: string, comment: 'slashes' | 'dashes'): Passage[] {
  const passages: Passage[] = []
  let open: { line: number; words: string[]; block: boolean } | undefined
  const close = (): void => {
    if (open !== undefined) passages.push({ kind: 'comment', line: open.line, text: open.words.join(' ').trim() })
    open = undefined
  }
  for (const [index, source] of text.split('\n').entries()) {
    const line = index + 1
    if (open?.block === true) {
      const end = source.indexOf('*/')
      open.words.push((end < 0 ? source : source.slice(0, end)).replace(/^\s*\* ?/, '').trim())
      if (end >= 0) close()
      continue
    }
    const whole = (comment === 'dashes' ? /^\s*--\s?(.*)$/ : /^\s*\/\/\s?(.*)$/).exec(source)
    if (whole !== null) {
      open ??= { line, words: [], block: false }
      open.words.push(whole[1] ?? '')
      continue
    }
    close()
    if (comment === 'dashes') continue
    const block = /^\s*\/\*\*?(.*)$/.exec(source)
    if (block !== null) {
      const [body = ''] = block
      const end = body.indexOf('*/')
      const words = body
        .replace(/^\s*\/\*\*?/, '')
        .replace(/\*\/.*$/, '')
        .trim()
      open = { line, words: [words], block: true }
      if (end >= 0) close()
      continue
    }
    const trailing = /(?<=[;,{}()\]'"`\w])\s+\/\/ (.*)$/.exec(source)
    if (trailing !== null) passages.push({ kind: 'comment', line, text: trailing[1] ?? '' })
    const title = /^\s*(?:await )?(?:\w+\.)?(?:it|test|describe|suite)(?:\.\w+)?\(\s*(['"`])(.*?)(?<!\\)\1/.exec(source)
    if (title !== null) passages.push({ kind: 'title', line, text: title[2] ?? '' })
  }
  close()
  return passages
}

/** Paragraphs, list items and table rows outside of code. */
function passagesOfDocument(text: string): Passage[] {
  const passages: Passage[] = []
  let fenced = false
  let open: { line: number; words: string[] } | undefined
  const close = (): void => {
    if (open !== undefined) passages.push({ kind: 'document', line: open.line, text: open.words.join(' ') })
    open = undefined
  }
  for (const [index, source] of text.split('\n').entries()) {
    if (/^\s*```/.test(source)) {
      close()
      fenced = !fenced
      continue
    }
    if (fenced || source.trim() === '') {
      close()
      continue
    }
    if (/^\s*(?:[-*] |\d+\. |#|\||>)/.test(source)) close()
    open ??= { line: index + 1, words: [] }
    open.words.push(source.trim())
    if (/^\s*[#|]/.test(source)) close()
  }
  close()
  return passages
}

/** Removes code and link targets, which are not prose. */
const plain = (text: string): string => text.replace(/`[^`]*`/g, 'x').replace(/\]\([^)]*\)/g, ']')

function longSentences(text: string): string[] {
  return plain(text)
    .replace(/<a id="[^"]*"><\/a>/g, '')
    .split(/(?<=[.!?:;][)”"*]*)\s+(?=\S)|\|/)
    .filter((sentence) => sentence.split(/\s+/).filter((word) => /\w/.test(word)).length > maxWords)
}

const lineAt = (text: string, index: number): number => text.slice(0, index).split('\n').length

/** Counts the idioms in a string. */
export function idiomCount(text: string): number {
  return idioms.reduce((sum, [idiom]) => sum + [...text.matchAll(idiom)].length, 0)
}

/** An id of docs/spec, such as `LST-04` or `R-LIST-01`. */
const id = String.raw`(?:${areas.map((area) => area.id).join('|')})-\d{2}|I\d{1,2}|CHOICE-\d{2}|WIRE-[A-Z]+-\d{2}`
const hasId = new RegExp(String.raw`(?<![\w-])(?:${id})(?![\w-])`)
const idsLast = new RegExp(String.raw` \((?:${id})(?:, (?:${id}))*\)$`)

export function findings(path: string, text: string): Finding[] {
  const found: Finding[] = []
  const add = (finding: Omit<Finding, 'path'>): void => {
    found.push({ path, ...finding })
  }
  for (const [idiom, advice] of idioms) {
    for (const match of text.matchAll(idiom)) {
      add({ line: lineAt(text, match.index), rule: 'phrase', text: match[0], advice })
    }
  }
  const isDocument = path.endsWith('.md')
  const passages = isDocument
    ? passagesOfDocument(text)
    : passagesOfCode(text, path.endsWith('.sql') ? 'dashes' : 'slashes')
  for (const passage of passages) {
    const words = passage.kind === 'document' ? plain(passage.text) : passage.text
    for (const [phrase, advice] of phrases) {
      for (const match of words.matchAll(phrase)) add({ line: passage.line, rule: 'phrase', text: match[0], advice })
    }
    if (passage.kind === 'comment' && openings.test(passage.text)) {
      add({ line: passage.line, rule: 'opening', text: passage.text.slice(0, 40), advice: 'begin with the subject' })
    }
    if (passage.kind === 'document') {
      for (const sentence of longSentences(passage.text)) {
        add({
          line: passage.line,
          rule: 'sentence',
          text: sentence.slice(0, 60),
          advice: `has more than ${maxWords} words`,
        })
      }
    }
    if (passage.kind === 'title') {
      const bare = passage.text.replace(idsLast, '')
      if (hasId.test(bare.replace(/\$\{[^}]*\}/g, ''))) {
        add({
          line: passage.line,
          rule: 'title',
          text: passage.text.slice(0, 60),
          advice: 'ids go last, as “(LST-04, R-LIST-01)”',
        })
      }
    }
  }
  return found.toSorted((one, other) => one.line - other.line)
}
