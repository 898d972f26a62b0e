/** Characters of external strings that act on a terminal or an editor, change their neighbors, or look like nothing. */

/** Most strings: printable ASCII. */
const plain = /^[\x20-\x7e]*$/

/** Control, format, private and unassigned characters, line separators, and letters and symbols without a glyph. */
const hidden = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{2800}]/gu

/** The pattern of one such character, with the syntax of both the `u` and the `v` flag. */
export const hiddenCharacter = hidden.source

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
