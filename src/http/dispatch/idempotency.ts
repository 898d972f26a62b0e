/** `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): a POST that is repeated has its effect once. */
import { present } from '../../json/present.ts'
import { hash } from 'node:crypto'
import type { Actor } from '../../actor/actor.ts'
import { type Caller, callerName } from '../../caller.ts'
import type { Config } from '../../config/options.ts'
import { ServiceError } from '../../errors.ts'
import type { KeptAnswer, Once } from '../../operation/idempotency.ts'
import type { HttpResponse } from '../edge/response.ts'
import { errorResponse, toServiceError } from '../edge/error-response.ts'
import type { Exchange } from './route.ts'

export interface IdempotencyDeps {
  readonly once: Once
  readonly config: Pick<Config, 'maxBodyBytes'>
}

/** Such a request was not looked at: it may be sent again under its key. */
const withoutEffect: ReadonlySet<number> = new Set([401, 403, 404, 429, 503])

/** Runs the request, or gives the answer that the first one of its key was given; without a key it just runs. */
export async function onceOf(
  { once, config }: IdempotencyDeps,
  { request, method, actor }: Exchange & { readonly actor: Actor },
  caller: Caller,
  run: () => Promise<HttpResponse>,
): Promise<HttpResponse> {
  const given = request.header('idempotency-key')
  if (given === undefined || method !== 'POST') return run()
  if (!/^[\x21-\x7e]{1,255}$/.test(given) || request.hasRepeated('idempotency-key')) {
    throw new ServiceError('bad_request', 'Cannot use the Idempotency-Key: it has 1 to 255 printable characters, once')
  }
  const body = await request.body(config.maxBodyBytes)
  const asked = {
    actorId: actor.id,
    key: digest([callerName(caller), given]),
    request: digest([request.path, request.query, request.header('content-type') ?? '', hash('sha256', body)]),
  }
  let failed: { readonly error: unknown } | null = null
  const { answer, isFirst } = await once.run(asked, async () => {
    try {
      const made = await run()
      return { answer: { ...made, body: typeof made.body === 'string' ? made.body : null }, isKept: true }
    } catch (error) {
      const failure = toServiceError(error)
      failed = { error }
      // A handler of the application that fails may have done something before.
      const told = errorResponse(failure)
      const body = typeof told.body === 'string' ? told.body : null
      return { answer: { ...told, body }, isKept: !withoutEffect.has(failure.status) }
    }
  })
  rethrow(failed)
  return isFirst ? answer : replayed(answer)
}

/** @throws ServiceError `answer_not_kept`: whoever repeats learns that it was done, and where to look for what came of it. */
function replayed({ status, headers, body, isTooLarge }: KeptAnswer): HttpResponse {
  const mark = { 'Idempotency-Replayed': 'true' }
  if (isTooLarge !== true) return { status, headers: { ...headers, ...mark }, body }
  const { Location } = headers
  throw new ServiceError(
    'answer_not_kept',
    `This request was answered with ${status} before, and is not run again; the answer was too large to be kept`,
    {
      members: { first_status: status },
      headers: present({ ...mark, Location }),
    },
  )
}

function rethrow(failed: { readonly error: unknown } | null): void {
  if (failed !== null) throw failed.error
}

function digest(parts: readonly string[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64url')
}
