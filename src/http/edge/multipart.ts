/** Reads the fields of a multipart form (RFC 7578). Files are rejected, because no endpoint needs them. */
import { ServiceError } from '../../errors.ts'
import { maxFormFields, Params } from './params.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

export function readMultipart(bytes: Uint8Array, boundary: string): Params {
  if (!/^[0-9A-Za-z'()+_,./:=? -]{1,70}$/.test(boundary)) throw malformed('the boundary is missing or not allowed')
  const text = decode(bytes)
  const parts = `\r\n${text}`.split(`\r\n--${boundary}`)
  const [, ...sections] = parts
  if (sections.length === 0 || !/^--(\r\n|$)/.test(sections.at(-1) ?? ''))
    throw malformed('it does not end with its boundary')
  if (sections.length - 1 > maxFormFields) throw malformed(`it has more than ${maxFormFields} fields`)
  const fields = new Map<string, string>()
  for (const section of sections.slice(0, -1)) {
    const [name, value] = readSection(section)
    if (!fields.has(name)) fields.set(name, value)
  }
  return new Params(fields)
}

function readSection(section: string): [string, string] {
  const end = section.indexOf('\r\n\r\n')
  if (!section.startsWith('\r\n') || end < 0) throw malformed('a field has no header')
  const disposition = /^content-disposition:[ \t]*form-data;(.*)$/im.exec(section.slice(2, end))?.[1]
  const name = disposition === undefined ? undefined : /(?:^|;)[ \t]*name="([^"]*)"/i.exec(disposition)?.[1]
  if (disposition === undefined || name === undefined) throw malformed('a field has no name')
  if (/(?:^|;)[ \t]*filename\*?=/i.test(disposition)) throw malformed('file uploads are not supported')
  return [unescapeName(name), section.slice(end + 4)]
}

/** Browsers escape line breaks and quotes in names with percent signs (WHATWG HTML, "multipart/form-data encoding"). */
function unescapeName(name: string): string {
  return name.replaceAll('%0D', '\r').replaceAll('%0A', '\n').replaceAll('%22', '"')
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw new ServiceError('bad_request', 'Cannot read the form: it is not valid UTF-8', { cause })
  }
}

function malformed(why: string): ServiceError {
  return new ServiceError('bad_request', `Cannot read the form: ${why}`)
}
