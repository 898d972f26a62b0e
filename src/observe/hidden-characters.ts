/** Characters of external strings that act on a terminal or an editor, change their neighbors, or look like nothing. */

/**
 * Matches one such character: a control, format, private or unassigned one, a line separator, or a letter or symbol without
 * a glyph. The syntax is that of both the `u` and the `v` flag.
 */
export const hiddenCharacter = '[\\p{C}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u{2800}]'

/** Most strings: printable ASCII. */
const plain = /^[\x20-\x7e]*$/
const hidden = new RegExp(hiddenCharacter, 'gu')

/** Replaces each hidden character. */
export function replaceHidden(text: string, replacement: (character: string) => string): string {
  return plain.test(text) ? text : text.replace(hidden, replacement)
}

/** The escape of a character in JSON, for each UTF-16 unit. */
export function jsonEscape(character: string): string {
  return Array.from({ length: character.length }, (_, index) => escaped(character.charCodeAt(index))).join('')
}

function escaped(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}
