/** Strings of a feature that an application adds, in the languages of its pages. */

/** A string for readers of each language, by its BCP 47 tag. Readers of other languages get the English one. @experimental */
export interface LocalText {
  readonly en: string
  readonly [language: string]: string
}

/** @param tag The language of the page, such as `de-AT`. */
export function localText(text: LocalText, tag: string): string {
  const [base = ''] = tag.split('-', 1)
  return [tag, base].flatMap((name) => (Object.hasOwn(text, name) ? (text[name] ?? []) : []))[0] ?? text.en
}
