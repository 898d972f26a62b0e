/** Converts the return value of a tool's handler to the result of `tools/call`. */
import { present } from '../../json/present.ts'
import type { JsonText } from '../../json/json.ts'
import { toPlain } from '../../json/json.ts'
import { isSecretMember } from '../../json/secret-names.ts'
import { isRecord, type MessageParams } from '../protocol/message.ts'

export interface CallResult {
  readonly content: readonly object[]
  readonly structuredContent?: unknown
  readonly isError: boolean
  readonly _meta?: object | undefined
}

/** Members of a result that the protocol defines. The application defines all others. */
const own: ReadonlySet<string> = new Set(['content', 'structuredContent', 'isError', '_meta'])

export function toolResult(answer: JsonText): CallResult {
  const value: unknown = toPlain(answer)
  if (isRecord(value) && Array.isArray(value['content'])) return fromContent(value, value['content'])
  if (!isRecord(value)) {
    const shown = withoutSecrets(value)
    return { content: [textBlock(shown)], structuredContent: shown, isError: false }
  }
  const isError = value['isError'] === true
  const shown = withoutSecrets(omit(value, new Set(['isError', '_meta', 'structuredContent'])))
  const explicit = value['structuredContent']
  const structured = explicit === undefined ? shown : isRecord(shown) ? promoted(explicit, shown) : explicit
  return {
    content: [textBlock(shown)],
    structuredContent: structured,
    isError,
    ...metaOf(value),
  }
}

/** The result for a handler that returned `content`. All other members become structured content. */
function fromContent(value: MessageParams, content: readonly unknown[]): CallResult {
  const explicit = value['structuredContent']
  const beside = withoutSecrets(omit(value, own))
  const structured = isRecord(beside) && Object.keys(beside).length > 0 ? promoted(explicit, beside) : explicit
  return present({
    content: content.filter((block) => isRecord(block)),
    structuredContent: structured,
    isError: value['isError'] === true,
    ...metaOf(value),
  })
}

/** Explicit structured content overrides the promoted members. */
function promoted(explicit: unknown, beside: MessageParams): unknown {
  if (explicit === undefined || explicit === null) return beside
  return isRecord(explicit) ? { ...beside, ...explicit } : explicit
}

function metaOf(value: MessageParams): { _meta?: object } {
  return isRecord(value['_meta']) ? { _meta: value['_meta'] } : {}
}

function textBlock(value: unknown): object {
  return { type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }
}

function omit(value: MessageParams, names: ReadonlySet<string>): MessageParams {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.has(name)))
}

/** Removes members with the name of a secret, at every depth. */
export function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets)
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      isSecretMember(name, member) ? [] : [[name, withoutSecrets(member)] as const],
    ),
  )
}

export function errorResult(text: string): CallResult {
  return { content: [{ type: 'text', text }], isError: true }
}
