/**
 * Characters as people count them, and names in the order of a dictionary. Node.js loads the data for each with its first
 * use, because it takes a tenth of the time of a start, and many processes show no page.
 */

let segmenter: Intl.Segmenter | undefined
let collator: Intl.Collator | undefined

/** Splits a string into characters as people count them. */
export function* charactersOf(text: string): Generator<string, void> {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  for (const { segment } of segmenter.segment(text)) yield segment
}

/** Compares two names for `toSorted`. Numbers in them count by their value. */
export function compareNames(one: string, other: string): number {
  collator ??= new Intl.Collator('en', { numeric: true })
  return collator.compare(one, other)
}
