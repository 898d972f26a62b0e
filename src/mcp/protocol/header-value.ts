/** Decodes header fields that mirror values of the body (2026-07-28, "Mcp-Name" and "Mcp-Param-*"). */

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The decoded value of a field. Null when it cannot be decoded. A value between `=?base64?` and `?=` is Base64 of UTF-8;
 * a value with only one of the two markers is plain.
 */
export function decodeHeaderValue(given: string): string | null {
  // The lookbehind keeps the time linear: without it, the search would read many spaces inside of a value from each of them.
  const value = given.replace(/^[ \t]+|(?<![ \t])[ \t]+$/g, '')
  // node:http decodes bytes beyond ASCII as Latin-1, so clients must encode them.
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

/** True when the field mirrors the argument. Integers compare as numbers. */
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
