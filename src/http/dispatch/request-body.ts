/** Bodies of requests: what a row publishes for each media type, and how the handler gets the body. */
import { ServiceError } from '../../errors.ts'
import {
  type FieldSchema,
  objectSchema,
  readFields,
  readObject,
  refusedField,
  type RequestFields,
  type ValuesOf,
} from '../../json/fields.ts'
import { type JsonText, stringText } from '../../json/json.ts'
import { type BodyLimits, readJson, readJsonOrForm, readUrlencodedForm, readValue } from '../edge/body.ts'
import type { Params } from '../edge/params.ts'
import type { HttpRequest } from '../edge/request.ts'

/** What a body is read from. */
export interface Sent {
  readonly request: HttpRequest
  readonly query: Params
  readonly bodyLimits: BodyLimits
}

export interface RequestBody<T> {
  /** JSON Schema by media type. */
  readonly content: Readonly<Record<string, FieldSchema>>
  /** Fields that a query may carry in place of a body. */
  readonly inQuery?: RequestFields
  readonly read: (sent: Sent) => Promise<T>
}

const formType = 'application/x-www-form-urlencoded'

interface JsonOptions {
  /** Takes a body packed by gzip too. */
  readonly inflates?: boolean
}

/** A JSON object of these fields. @param what Completes the sentence “Cannot …” of a refusal. */
export function jsonBody<F extends RequestFields>(
  what: string,
  fields: F,
  options?: JsonOptions,
): RequestBody<ValuesOf<F>> {
  return parsedBody(objectSchema(fields), (body) => readObject(what, fields, body), options)
}

/** JSON that a parser of the domain reads, which publishes the schema too. */
export function parsedBody<T>(
  schema: FieldSchema,
  parse: (body: JsonText, sent: Sent) => T,
  options?: JsonOptions,
): RequestBody<T> {
  return {
    content: { 'application/json': schema },
    read: async (sent) => parse(await readJson(sent.request, sent.bodyLimits, options), sent),
  }
}

/** JSON of any kind, as text. */
export const anyJson: RequestBody<JsonText> = parsedBody({}, (body) => body)

/**
 * One value: JSON when the body parses, else text, as a JSON string. An empty body is the empty text.
 *
 * @param textOf The text that a body stands for.
 */
export function valueBody(textOf: (text: string, sent: Sent) => string = (text) => text): RequestBody<JsonText> {
  return {
    content: { 'application/json': {}, 'text/plain': { type: 'string' } },
    read: async (sent) => {
      const body = await readValue(sent.request, sent.bodyLimits)
      return body.kind === 'json' ? body.json : stringText(body.kind === 'text' ? textOf(body.text, sent) : '')
    },
  }
}

/** A JSON object or a form of these fields. With `orQuery` the query stands for an empty body. */
export function jsonOrForm<F extends RequestFields>(
  what: string,
  fields: F,
  { orQuery = false }: { readonly orQuery?: boolean } = {},
): RequestBody<ValuesOf<F>> {
  const schema = objectSchema(fields)
  return {
    content: { 'application/json': schema, [formType]: schema },
    ...(orQuery ? { inQuery: fields } : {}),
    read: async ({ request, query, bodyLimits }) => {
      const body = await readJsonOrForm(request, bodyLimits)
      switch (body.kind) {
        case 'json':
          return readObject(what, fields, body.json)
        case 'form':
          return readParams(what, fields, body.form)
        case 'none':
          return readParams(what, fields, orQuery ? query : null)
        case 'text':
          throw new ServiceError('invalid_json', `Cannot ${what}: the body is neither JSON nor a form`)
        default:
          return body satisfies never
      }
    },
  }
}

/** The form of a page of the owner, which says what is wrong with it in the words of the page. */
export function pageForm(...names: readonly string[]): RequestBody<Params> {
  const properties = [...names, 'csrf_token', 'redirect_to'].map((name) => [name, { type: 'string' }])
  return {
    content: { [formType]: { type: 'object', properties: Object.fromEntries(properties) } },
    read: ({ request, bodyLimits }) => readUrlencodedForm(request, bodyLimits),
  }
}

/** A form of these fields. */
export function formBody<F extends RequestFields>(fields: F): RequestBody<ValuesOf<F>> {
  return {
    content: { [formType]: objectSchema(fields) },
    read: async ({ request, bodyLimits }) =>
      readParams('take the form', fields, await readUrlencodedForm(request, bodyLimits)),
  }
}

function readParams<F extends RequestFields>(what: string, fields: F, params: Params | null): ValuesOf<F> {
  return readFields(fields, jsonOf(params), refusedField(what))
}

/** The string of a field as JSON. */
export function jsonOf(params: Params | null): (name: string) => JsonText | undefined {
  return (name) => {
    const value = params?.get(name)
    return value === undefined ? undefined : stringText(value)
  }
}
