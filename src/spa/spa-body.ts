/** Request body of the endpoints for single-page applications: a JSON object of strings, or a form. */
import { quoted, ServiceError } from '../errors.ts'
import { nullable, objectSchema, readFields, refusedField, type RequestFields, type ValuesOf } from '../json/fields.ts'
import { isNull, isObject, members, stringValue } from '../json/json.ts'
import { jsonOf, type RequestBody, type Sent } from '../http/dispatch/request-body.ts'
import { readJsonOrForm } from '../http/edge/body.ts'
import { Params } from '../http/edge/params.ts'

/** Reads a JSON object or a form. Null and an empty string count as absent; an empty body has no fields. */
export function spaBody<F extends RequestFields>(fields: F): RequestBody<ValuesOf<F>> {
  return { content: spaContent(fields), read: async (sent) => readSpaFields(fields, await readSpaParams(sent)) }
}

export function spaContent(fields: RequestFields): RequestBody<unknown>['content'] {
  const shown = Object.entries(fields).map(
    ([name, field]) => [name, field.isRequired ? field : nullable(field)] as const,
  )
  const schema = objectSchema(Object.fromEntries(shown))
  return { 'application/json': schema, 'application/x-www-form-urlencoded': schema }
}

/** @throws ServiceError `bad_request` that names the field. */
export function readSpaFields<F extends RequestFields>(fields: F, params: Params): ValuesOf<F> {
  return readFields(fields, jsonOf(params), refusedField('do this'))
}

/** @throws ServiceError `bad_request` for anything but a form or an object of strings. */
export async function readSpaParams({ request, bodyLimits }: Sent): Promise<Params> {
  const body = await readJsonOrForm(request, bodyLimits)
  if (body.kind === 'none') return Params.none
  if (body.kind === 'form') return body.form
  const fields = body.kind === 'json' && isObject(body.json) ? members(body.json) : null
  if (fields === null) throw new ServiceError('bad_request', 'Cannot read the body: it must be a JSON object')
  const texts = new Map<string, string>()
  for (const [name, value] of fields) {
    if (isNull(value)) continue
    const text = stringValue(value)
    if (text === null) {
      throw new ServiceError('bad_request', `Cannot read the body: ${quoted(name)} must be a string`)
    }
    texts.set(name, text)
  }
  return new Params(texts)
}
