/**
 * Checks the answers of clients to the questions of handlers: forms, URLs, sampling and roots. Every channel uses it (a
 * session, a task, a call in rounds), because a client may answer with anything.
 */
import type { ClientQuestion } from '../../app/mcp-declarations.ts'
import { isRecord, type MessageParams } from '../protocol/message.ts'
import { fitsFormat } from './answer-format.ts'

/** The request for a question, as clients receive it. */
export interface QuestionRequest {
  readonly method: string
  readonly params: object
}

export function requestOf(question: ClientQuestion): QuestionRequest {
  if ('elicit' in question) {
    const { message, schema } = question.elicit
    return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema: schema } }
  }
  if ('open' in question) return { method: 'elicitation/create', params: { mode: 'url', ...question.open } }
  if ('sample' in question) return { method: 'sampling/createMessage', params: question.sample }
  return { method: 'roots/list', params: {} }
}

/** Returns what is wrong with an answer, for the client. Null: it fits the request. */
export function answerProblem({ method, params }: QuestionRequest, answer: unknown): string | null {
  if (!isRecord(answer)) return 'it must be an object'
  if (method === 'roots/list') return problemInRoots(answer['roots'])
  if (method === 'sampling/createMessage') return problemInMessage(answer)
  const { mode, requestedSchema } = params as { readonly mode?: unknown; readonly requestedSchema?: unknown }
  const { action, content } = answer
  if (action === 'decline' || action === 'cancel') return null
  if (action !== 'accept') return 'action must be "accept", "decline" or "cancel"'
  return mode === 'url' ? null : problemInForm(isRecord(requestedSchema) ? requestedSchema : {}, content)
}

/**
 * The answer as the handler receives it. A form has exactly its declared fields, and none that the person did not submit:
 * a client may send partly filled fields, and a handler that ignores `action` would use them.
 */
export function handedAnswer({ method, params }: QuestionRequest, answer: MessageParams): MessageParams {
  if (method !== 'elicitation/create') return answer
  const { action, content } = answer
  const { mode, requestedSchema } = params as { readonly mode?: unknown; readonly requestedSchema?: unknown }
  if (action !== 'accept' || mode === 'url') return { action }
  const fields = fieldsOf(isRecord(requestedSchema) ? requestedSchema : {})
  const given = isRecord(content) ? Object.entries(content) : []
  return { action, content: Object.fromEntries(given.filter(([name]) => Object.hasOwn(fields, name))) }
}

function fieldsOf(schema: MessageParams): MessageParams {
  return isRecord(schema['properties']) ? schema['properties'] : {}
}

function problemInForm(schema: MessageParams, content: unknown): string | null {
  if (!isRecord(content)) return 'content must be an object'
  const required: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : []
  const missing = required.find((name) => !Object.hasOwn(content, String(name)))
  if (missing !== undefined) return `content has no ${JSON.stringify(missing)}`
  const wrong = Object.entries(fieldsOf(schema)).find(
    ([name, field]) => Object.hasOwn(content, name) && !fitsField(isRecord(field) ? field : {}, content[name]),
  )
  return wrong === undefined ? null : `${JSON.stringify(wrong[0])} of content does not fit the schema`
}

function fitsField(field: MessageParams, value: unknown): boolean {
  const choices = choicesOf(field)
  if (choices !== null && field['type'] !== 'array') return choices.includes(value)
  switch (field['type']) {
    case 'string':
      return typeof value === 'string' && fitsText(field, value)
    case 'integer':
      return Number.isInteger(value) && isWithin(Number(value), field['minimum'], field['maximum'])
    case 'number':
      return Number.isFinite(value) && isWithin(Number(value), field['minimum'], field['maximum'])
    case 'boolean':
      return typeof value === 'boolean'
    case 'array':
      return Array.isArray(value) && fitsList(field, value)
    case undefined:
      return ['string', 'boolean'].includes(typeof value) || Number.isFinite(value)
    default:
      // The protocol has forms with the types above only.
      return false
  }
}

/** The length counts code points, as JSON Schema does. */
function fitsText({ minLength, maxLength, format }: MessageParams, value: string): boolean {
  return isWithin(Array.from(value).length, minLength, maxLength) && fitsFormat(format, value)
}

function fitsList({ items, minItems, maxItems }: MessageParams, value: readonly unknown[]): boolean {
  return isWithin(value.length, minItems, maxItems) && value.every((item) => fitsItem(items, item))
}

function fitsItem(items: unknown, item: unknown): boolean {
  const choices = isRecord(items) ? choicesOf(items) : null
  return choices === null ? typeof item === 'string' : choices.includes(item)
}

function choicesOf({ enum: plain, oneOf, anyOf }: MessageParams): readonly unknown[] | null {
  if (Array.isArray(plain)) return [...(plain as readonly unknown[])]
  const titled = oneOf ?? anyOf
  return Array.isArray(titled)
    ? titled.map((choice: unknown) => (isRecord(choice) ? choice['const'] : undefined))
    : null
}

function isWithin(value: number, least: unknown, most: unknown): boolean {
  return (typeof least !== 'number' || value >= least) && (typeof most !== 'number' || value <= most)
}

/** The members of the blocks in the answer of a model, with their types. */
const blocks: ReadonlyMap<unknown, readonly (readonly [member: string, fits: (value: unknown) => boolean])[]> = new Map(
  [
    ['text', [['text', isString]]],
    [
      'image',
      [
        ['data', isBase64],
        ['mimeType', isString],
      ],
    ],
    [
      'audio',
      [
        ['data', isBase64],
        ['mimeType', isString],
      ],
    ],
    [
      'tool_use',
      [
        ['id', isString],
        ['name', isString],
        ['input', isRecord],
      ],
    ],
    [
      'tool_result',
      [
        ['toolUseId', isString],
        ['content', Array.isArray],
      ],
    ],
  ],
)

function problemInMessage({ role, model, content, stopReason }: MessageParams): string | null {
  if (role !== 'assistant' && role !== 'user') return 'role must be "assistant" or "user"'
  if (typeof model !== 'string') return 'model must be a string'
  if (stopReason !== undefined && typeof stopReason !== 'string') return 'stopReason must be a string'
  const all: readonly unknown[] = Array.isArray(content) ? content : [content]
  return all.every(isBlock) ? null : 'content must consist of blocks with the members of their type'
}

function isBlock(block: unknown): boolean {
  if (!isRecord(block)) return false
  return blocks.get(block['type'])?.every(([member, fits]) => fits(block[member])) === true
}

function problemInRoots(roots: unknown): string | null {
  if (!Array.isArray(roots)) return 'roots must be a list'
  return roots.every(isRoot) ? null : 'each root must have a file:// URI, and may have a name'
}

function isRoot(root: unknown): boolean {
  if (!isRecord(root)) return false
  const { uri, name } = root
  if (typeof uri !== 'string' || (name !== undefined && typeof name !== 'string')) return false
  return uri.startsWith('file://') && URL.canParse(uri)
}

function isString(value: unknown): boolean {
  return typeof value === 'string'
}

function isBase64(value: unknown): boolean {
  return typeof value === 'string' && /^[A-Za-z0-9+/]*={0,2}$/.test(value)
}
