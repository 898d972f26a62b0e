/** The error of every call of a client. @public */
export class RequestFailed extends Error {
  override readonly name = 'RequestFailed'
  /** Status of the response; 0 when no response arrived. */
  readonly status: number
  /** The code of the error (docs/errors.md), `unreachable` without a response, `signed_out` without a session. */
  readonly code: string
  /** The place in the input or value that does not fit, such as `items[0].text`. */
  readonly field: string | undefined
  /** The body of the response, if it is JSON. */
  readonly body: unknown

  constructor(message: string, { status = 0, code, body }: { status?: number; code: string; body?: unknown }) {
    super(message)
    this.status = status
    this.code = code
    this.body = body
    this.field = memberOf(body, 'field')
  }
}

/** Returns the error of a response. Its body is read. */
export async function failureOf(response: Response): Promise<RequestFailed> {
  const body = await jsonOf(response)
  const message = memberOf(body, 'message') ?? memberOf(body, 'error_description')
  const code = memberOf(body, 'error') ?? memberOf(body, 'code') ?? String(response.status)
  return new RequestFailed(message ?? `The service answered ${response.status}`, {
    status: response.status,
    code,
    body,
  })
}

export function unreachable(error: unknown): RequestFailed {
  const reason = error instanceof Error ? error.message : String(error)
  return new RequestFailed(`Cannot reach the service: ${reason}`, { code: 'unreachable' })
}

async function jsonOf(response: Response): Promise<unknown> {
  try {
    return await response.json()
  } catch {
    return undefined
  }
}

/** Returns a member of an object if it is a string. */
export function memberOf(value: unknown, name: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const member: unknown = Reflect.get(value, name)
  return typeof member === 'string' ? member : undefined
}
