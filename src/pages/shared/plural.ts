/** Numbers in words. */

/** `1 item`, `2 items`, `1,234 items`. */
export function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? noun : plural}`
}
