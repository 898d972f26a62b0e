/** Counts with nouns. */

/** Returns `1 item`, `2 items` or `1,234 items`. */
export function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? noun : plural}`
}
