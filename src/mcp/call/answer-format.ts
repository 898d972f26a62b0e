/** The formats of strings in forms: `email`, `uri`, `date` and `date-time`. Every check takes time in proportion to the string. */

const formats: ReadonlyMap<unknown, (text: string) => boolean> = new Map([
  ['email', isEmail],
  ['uri', isUri],
  ['date', isDate],
  ['date-time', isDateTime],
])

/** True also for a format that the protocol does not have. */
export function fitsFormat(format: unknown, text: string): boolean {
  return formats.get(format)?.(text) ?? true
}

const longestAddress = 254

function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@')
  const local = text.slice(0, at)
  if (at < 1 || text.length > longestAddress || /[\s\p{C}@]/u.test(local)) return false
  const labels = text.slice(at + 1).split('.')
  return labels.every((label) => /^[\p{L}\p{N}\p{M}-]+$/u.test(label) && !/^-|-$/.test(label))
}

/** An absolute URI (RFC 3986): only its characters, and a scheme. */
function isUri(text: string): boolean {
  return (
    /^[A-Za-z][A-Za-z0-9+.-]*:[\w.~:/?#[\]@!$&'()*+,;=%-]+$/.test(text) &&
    !/%(?![0-9A-Fa-f]{2})/.test(text) &&
    URL.canParse(text)
  )
}

function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? []
  if (year === undefined) return false
  const date = new Date(0)
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  return date.toISOString().startsWith(text)
}

/** A date and time with its offset (RFC 3339). Second 60 is a leap second. */
function isDateTime(text: string): boolean {
  const [, date, hour, minute, second, offset] =
    /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/.exec(text) ?? []
  if (date === undefined || offset === undefined || !isDate(date)) return false
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return false
  return /^[Zz]$/.test(offset) || (Number(offset.slice(1, 3)) <= 23 && Number(offset.slice(4)) <= 59)
}
