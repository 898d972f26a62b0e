/** The errors that a test receives instead of a result. */
import type { Json } from '../json/json.ts'

/** Length of a response's text in a message. */
const longestText = 500

/** A response with a status of 400 or more. @public */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused'
  readonly status: number
  /** The code of the error, such as `invalid_input`; empty for a response without a code. */
  readonly code: string
  /** The JSON of the response, or its text. */
  readonly body: Json

  constructor(what: string, status: number, body: Json, logged: readonly string[] = []) {
    const { error, message, error_description } = membersOf(body)
    const said =
      [message, error_description, body].find((text) => typeof text === 'string')?.slice(0, longestText) ?? ''
    super([`${what}: ${status}${typeof error === 'string' ? ` ${error}` : ''} ${said}`.trimEnd(), ...logged].join('\n'))
    this.status = status
    this.code = typeof error === 'string' ? error : ''
    this.body = body
  }
}

function membersOf(body: Json): { readonly [name: string]: Json } {
  return typeof body === 'object' && body !== null && !Array.isArray(body)
    ? (body as { readonly [name: string]: Json })
    : {}
}

/** An error of the Model Context Protocol. @public */
export class ClientRefused extends Error {
  override readonly name = 'ClientRefused'
  /** The JSON-RPC code, such as `-32602`. */
  readonly code: number
  readonly data: Json | undefined

  constructor(method: string, { code, message, data }: { code: number; message: string; data?: Json }) {
    super(`${method}: ${code} ${message}`)
    this.code = code
    this.data = data
  }
}

/** Returns the JSON of a response, or its text; undefined for an empty body. */
export async function bodyOf(response: Response): Promise<Json | undefined> {
  const text = await response.text()
  if (text === '') return undefined
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}
