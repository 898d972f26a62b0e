/** Values and paths as a report shows them. Answers and addresses contain secrets, and reports are sent around. */

/** Describes a value without showing it. */
export function described(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return value === '' ? 'an empty string' : `a string of ${lengthInWords(value.length)}`
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (typeof value === 'object') return `an object of ${Object.keys(value).length}`
  return 'a number'
}

export function lengthInWords(length: number): string {
  return `${length} ${length === 1 ? 'character' : 'characters'}`
}

/** The name of a member. A name that looks like an identifier may be a secret, such as the id of a session. */
export function shownName(name: string): string {
  return isGuessable(name) ? name : '…'
}

/**
 * A path or URL without the values of its query, and without parts that look like a secret. The first part of a path names the
 * actor, so it stays.
 */
export function shownPath(text: string): string {
  const [path = '', query] = text.split('#', 1)[0]?.split(/\?(.*)/s) ?? []
  const [origin = ''] = /^(?:https?:\/\/[^/]*|\{service\})/.exec(path) ?? []
  const shown = path
    .slice(origin.length)
    .split('/')
    .map((part, at) => ((at === 1 ? /^[\w-]{0,128}$/.test(part) : isGuessable(part)) ? part : '…'))
    .join('/')
  const names = query === undefined ? [] : [...new URLSearchParams(query).keys()]
  return `${withoutUser(origin)}${shown}${names.length === 0 ? '' : `?${names.map((name) => `${shownName(name)}=…`).join('&')}`}`
}

/** An origin without the name and password that a URL may have. */
function withoutUser(origin: string): string {
  const user = origin.lastIndexOf('@')
  return user < 0 ? origin : `${origin.slice(0, origin.indexOf('//') + 2)}${origin.slice(user + 1)}`
}

/** Words that a person chose: no digit among letters, or short. */
function isGuessable(word: string): boolean {
  return (
    word.length <= 40 && (!/\d/.test(word) || word.length <= 8) && !/[^\p{L}\p{N}_.:@{}-]/u.test(word) && !isMixed(word)
  )
}

/** Secrets without digits mix the cases of their letters more often than words do. */
function isMixed(word: string): boolean {
  return word.length > 12 && (word.match(/\p{Ll}\p{Lu}/gu)?.length ?? 0) > 3
}
