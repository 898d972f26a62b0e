/** Cuts texts to the width of their box in a picture, where a browser does not wrap them. */
import { charactersOf } from '../languages/language-data.ts'

/** Widths of characters relative to the size of the font, as in the wider of the common fonts. */
const widths: readonly (readonly [characters: RegExp, width: number])[] = [
  [/^[ijlItf'|!.,:;()[\]r -]/u, 0.34],
  [/^[mwMW@%—…]/u, 0.95],
  [/^[a-z\d]/u, 0.58],
  [/^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]/u, 0.72],
  [/^[\p{Script=Arabic}\p{Script=Hebrew}]/u, 0.7],
]
/** Characters of all other scripts, and pictures. */
const widest = 1.1

/** @param width Width of the box, in the unit of `size`, the size of the font. */
export function fitText(text: string, width: number, size: number): string {
  const pieces = [...charactersOf(text)]
  if (widthOf(pieces) * size <= width) return text
  const room = width / size - widthOfPiece('…')
  let used = 0
  const kept = pieces.findIndex((piece) => (used += widthOfPiece(piece)) > room)
  return `${pieces.slice(0, Math.max(kept, 0)).join('').trimEnd()}…`
}

function widthOf(pieces: readonly string[]): number {
  return pieces.reduce((sum, piece) => sum + widthOfPiece(piece), 0)
}

function widthOfPiece(piece: string): number {
  return widths.find(([characters]) => characters.test(piece))?.[1] ?? widest
}
