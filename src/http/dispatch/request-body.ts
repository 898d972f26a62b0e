/** Request bodies: the published schema for each media type, and the parser for the handler. */
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
import { type JsonText, known, type LoneSurrogates, stringText } from '../../json/json.ts'
import { type BodyLimits, readJson, readJsonOrForm, readUrlencodedForm, readValue } from '../edge/body.ts'
import type { Params } from '../edge/params.ts'
import type { HttpRequest } from '../edge/request.ts'

/** The parts of a request that a body is read from. */
export interface Sent {
  readonly request: HttpRequest
  readonly query: Params
  readonly bodyLimits: BodyLimits
}

export interface RequestBody<T> {
  /** JSON Schema by media type. */
  readonly content: Readonly<Record<string, FieldSchema>>
  /** Fields that the query may contain instead of a body. */
  readonly inQuery?: RequestFields
  /** The handler reads the body as a stream, whatever its content type is. A form in it has no `_method`. */
  readonly isStream?: true
  readonly read: (sent: Sent) => Promise<T>
}

const formType = 'application/x-www-form-urlencoded'

interface JsonOptions {
  /** Accepts a gzip-compressed body. */
  readonly inflates?: boolean
  /** Default: `refuse`. A message of a peer must not be lost. */
  readonly lone?: LoneSurrogates
}

/** Reads a JSON object with these fields. @param what Completes the error message “Cannot …”. */
export function jsonBody<F extends RequestFields>(
  what: string,
  fields: F,
  options?: JsonOptions,
): RequestBody<ValuesOf<F>> {
  return parsedBody(objectSchema(fields), (body) => readObject(what, fields, body), options)
}

/** Reads JSON by a parser of the domain, whose schema is published. */
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

/**
 * Reads any JSON value, as a string. An empty body is an empty object, as clients send it for a call without input. A GET
 * with `_method` needs a body, because a link on another site could call an operation without one.
 */
export const jsonOrEmpty: RequestBody<JsonText> = {
  content: { 'application/json': {} },
  read: ({ request, bodyLimits }) =>
    readJson(request, bodyLimits, request.method === 'GET' ? {} : { ifEmpty: known('{}') }),
}

/**
 * Reads one value: JSON when the body parses, else the body as a JSON string. An empty body is the empty string.
 *
 * @param textOf Extracts the value from a body that is not JSON.
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

/** Reads a JSON object or a form with these fields. With `orQuery`, the query replaces an empty body. */
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

/** Reads a form of an owner page. The page itself validates the fields and reports errors. */
export function pageForm(...names: readonly string[]): RequestBody<Params> {
  const properties = [...names, 'csrf_token', 'redirect_to'].map((name) => [name, { type: 'string' }])
  return {
    content: { [formType]: { type: 'object', properties: Object.fromEntries(properties) } },
    read: ({ request, bodyLimits }) => readUrlencodedForm(request, bodyLimits),
  }
}

/** Reads a form with these fields. */
export function formBody<F extends RequestFields>(fields: F): RequestBody<ValuesOf<F>> {
  return {
    content: { [formType]: objectSchema(fields) },
    read: async ({ request, bodyLimits }) =>
      readParams('read the form', fields, await readUrlencodedForm(request, bodyLimits)),
  }
}

function readParams<F extends RequestFields>(what: string, fields: F, params: Params | null): ValuesOf<F> {
  return readFields(fields, jsonOf(params), refusedField(what))
}

/** Returns a function that reads a field as a JSON string. */
export function jsonOf(params: Params | null): (name: string) => JsonText | undefined {
  return (name) => {
    const value = params?.get(name)
    return value === undefined ? undefined : stringText(value)
  }
}
