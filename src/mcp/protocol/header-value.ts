/** Values of the body that are mirrored in header fields (2026-07-28, "Mcp-Name" and "Mcp-Param-*"). */

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The text that a field's value stands for; null when it cannot be read. A value between `=?base64?` and `?=` is the
 * Base64 of UTF-8; with one end only it is taken as it is.
 */
export function decodeHeaderValue(given: string): string | null {
  const value = given.replace(/^[ \t]+|[ \t]+$/g, '')
  // node:http hands out bytes beyond ASCII as Latin-1: nobody may send them plainly.
  if (!/^[\x20-\x7e]*$/.test(value)) return null
  const [, encoded] = /^=\?base64\?(.*)\?=$/.exec(value) ?? []
  if (encoded === undefined) return value
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(encoded)) return null
  try {
    return utf8.decode(Buffer.from(encoded, 'base64'))
  } catch {
    return null
  }
}

/** Whether the field says what the argument is; integers compare as numbers. */
export function isSameArgument(header: string | undefined, argument: unknown): boolean {
  if (header === undefined) return false
  const said = decodeHeaderValue(header)
  if (said === null) return false
  switch (typeof argument) {
    case 'string':
      return said === argument
    case 'boolean':
      return said === String(argument)
    case 'number':
      return /^-?\d+(\.0+)?$/.test(said) && Number(said) === argument
    default:
      return false
  }
}
