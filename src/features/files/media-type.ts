/** The media types of files. */
import { quoted, ServiceError } from '../../errors.ts'

export const defaultType = 'application/octet-stream'
const longestType = 255
/** RFC 9110 section 8.3.1: type, subtype and parameters whose values are tokens or quoted strings. */
const form =
  /^[!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+(?:[ \t]*;[ \t]*[!#$%&'*+.^_`|~0-9a-z-]+=(?:[!#$%&'*+.^_`|~0-9a-z-]+|"(?:[\t\x20\x21\x23-\x5b\x5d-\x7e]|\\[\t\x20-\x7e])*"))*$/i

/**
 * Returns the type as it is stored.
 *
 * @param allowed Types such as `image/png` and `image/*`.
 * @throws ServiceError `invalid_value` for what is not a media type, `unsupported_media_type` for a type that is not allowed.
 */
export function checkedType(type: string | undefined, allowed: readonly string[]): string {
  const given = (type ?? '').trim()
  const checked = given === '' ? defaultType : given
  if (checked.length > longestType || !form.test(checked))
    throw new ServiceError('invalid_value', `Cannot store the file: ${quoted(checked)} is not a media type`)
  const essence = (checked.split(';')[0] ?? '').trim().toLowerCase()
  const [main = ''] = essence.split('/')
  const isAllowed = allowed.some((one) => {
    const each = one.toLowerCase()
    return each === '*/*' || each === '*' || each === essence || each === `${main}/*`
  })
  if (isAllowed) return checked
  throw new ServiceError(
    'unsupported_media_type',
    `Cannot store the file: files of the type ${quoted(essence)} are not accepted. The types are ${allowed.join(', ') || 'none'}`,
  )
}
