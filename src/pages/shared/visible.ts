/**
 * Text from outside, for a person who decides by it. Some characters show nothing, or change how their neighbors are
 * shown (Unicode Technical Report 36, "Bidirectional Text Spoofing"): a name that ends in U+202E turns the sentence after
 * it around, and two names that differ in U+200B look the same.
 */

/** Control, format, private and unassigned characters, line separators, and letters and symbols without a glyph. */
const hidden = /[[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{2800}]--[\t\n\r]]/v

/** Letters and vowel signs of scripts in which a joiner between two of them changes what both look like. */
const joined =
  '[[\\p{scx=Arab}\\p{scx=Deva}\\p{scx=Beng}\\p{scx=Guru}\\p{scx=Gujr}\\p{scx=Taml}\\p{scx=Telu}\\p{scx=Knda}\\p{scx=Mlym}\\p{scx=Sinh}]&&[\\p{L}\\p{M}]]'

/** Sequences that need hidden characters and show that they are there. */
const legible = `\\p{RGI_Emoji}|(?<=${joined})[\\u{200C}\\u{200D}](?=${joined})`

const pieces = new RegExp(`(?<legible>${legible})|${hidden.source}`, 'gv')

/** The text with every hidden character written as its code point: `Ada[U+202E]`. Line breaks and tabs stay. */
export function visible(text: string): string {
  return text
    .toWellFormed()
    .replace(pieces, (piece: string, keep: string | undefined) => keep ?? `[U+${codeOf(piece)}]`)
}

function codeOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
}
