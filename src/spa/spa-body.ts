/** The body of the endpoints for single-page applications: a JSON object of texts, whatever type it is sent as. */
import { quoted, ServiceError } from '../errors.ts'
import { isNull, isObject, members, stringValue } from '../json/json.ts'
import { type BodyLimits, readJsonOrForm } from '../http/edge/body.ts'
import type { Incoming } from '../http/edge/request.ts'
import { Params } from '../http/edge/params.ts'

/** An empty body has no fields; a form is read too. @throws ServiceError `bad_request` for anything else. */
export async function readSpaFields(request: Incoming, limits: BodyLimits): Promise<Params> {
  const body = await readJsonOrForm(request, limits)
  if (body.kind === 'none') return Params.none
  if (body.kind === 'form') return body.form
  const fields = body.kind === 'json' && isObject(body.json) ? members(body.json) : null
  if (fields === null) throw new ServiceError('bad_request', 'Cannot read the body: it must be a JSON object')
  const texts = new Map<string, string>()
  for (const [name, value] of fields) {
    if (isNull(value)) continue
    const text = stringValue(value)
    if (text === null) {
      throw new ServiceError('bad_request', `Cannot read the body: ${quoted(name)} must be a text`)
    }
    texts.set(name, text)
  }
  return new Params(texts)
}

/** @throws ServiceError `bad_request` naming the field when it is missing or empty. */
export function requireField(fields: Params, name: string): string {
  const value = fields.get(name)
  if (value === undefined) throw new ServiceError('bad_request', `Cannot do this: ${name} is missing`)
  return value
}
