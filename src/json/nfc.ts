/** The Unicode form in which names are stored and compared. */

/** The text in the form NFC. Texts of characters below U+0300 are in this form already, without a look at the tables. */
export function toNfc(text: string): string {
  return /[^\0-\u02ff]/.test(text) ? text.normalize('NFC') : text
}
