/**
 * Makes hidden characters of external strings visible, because a person decides by these strings. Some characters are
 * invisible or change their neighbors (Unicode Technical Report 36, "Bidirectional Text Spoofing"). A name that ends in
 * U+202E reverses the following sentence, and two names that differ in U+200B look identical.
 */

import { hiddenCharacter } from '../../observe/hidden-characters.ts'

/** Most strings: printable ASCII, line breaks and tabs. */
const plain = /^[\t\n\r\x20-\x7e]*$/

const hidden = `[${hiddenCharacter}--[\\t\\n\\r]]`

/** Letters and vowel signs of scripts in which a joiner between two of them changes what both look like. */
const joined =
  '[[\\p{scx=Arab}\\p{scx=Deva}\\p{scx=Beng}\\p{scx=Guru}\\p{scx=Gujr}\\p{scx=Taml}\\p{scx=Telu}\\p{scx=Knda}\\p{scx=Mlym}\\p{scx=Sinh}]&&[\\p{L}\\p{M}]]'

/** Sequences in which hidden characters are required and have a visible effect. */
const legible = `\\p{RGI_Emoji}|(?<=${joined})[\\u{200C}\\u{200D}](?=${joined})`

let pieces: RegExp | undefined

/** Replaces every hidden character by its code point, as in `Ada[U+202E]`. Keeps line breaks and tabs. */
export function visible(text: string): string {
  if (plain.test(text)) return text
  // The sequences of emoji take a seventh of the time of a start, and many processes show no text.
  pieces ??= new RegExp(`(?<legible>${legible})|${hidden}`, 'gv')
  return text
    .toWellFormed()
    .replace(pieces, (piece: string, keep: string | undefined) => keep ?? `[U+${codeOf(piece)}]`)
}

function codeOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
}
