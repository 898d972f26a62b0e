/** `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): a repeated POST takes effect once. */
import { present } from '../../json/present.ts'
import { hash } from 'node:crypto'
import type { Actor } from '../../actor/actor.ts'
import { type Caller, callerName } from '../../caller.ts'
import type { Config } from '../../config/options.ts'
import { ServiceError } from '../../errors.ts'
import type { KeptAnswer, Once } from '../../operation/idempotency.ts'
import { currentContext } from '../../observe/context.ts'
import type { Operation } from '../../permission/operation.ts'
import type { Permission } from '../../permission/permission.ts'
import type { Limiter } from '../../rate-limit/limiter.ts'
import type { HttpResponse } from '../edge/response.ts'
import { errorResponse, toServiceError } from '../edge/error-response.ts'
import type { Exchange } from './route.ts'

export interface IdempotencyDeps {
  readonly once: Once
  readonly limiter: Limiter
  readonly permission: Permission
  readonly config: Pick<Config, 'maxBodyBytes'>
}

/** Statuses of requests that had no effect. A client may retry them with the same key. */
const withoutEffect: ReadonlySet<number> = new Set([401, 403, 404, 412, 429, 503])

/** Runs the request, or returns the stored response to the first request with the key. Runs every request without a key. */
export function onceOf(
  deps: IdempotencyDeps,
  exchange: Exchange & { readonly actor: Actor },
  caller: Caller,
  run: () => Promise<HttpResponse> | HttpResponse,
): Promise<HttpResponse> | HttpResponse {
  const given = exchange.request.header('idempotency-key')
  return given === undefined || exchange.method !== 'POST' ? run() : withKey(deps, exchange, { caller, given, run })
}

/** Refuses the key where the response has a secret: the stored response would keep it. @throws ServiceError `bad_request` */
export function refuseIdempotencyKey({ request }: Pick<Exchange, 'request'>): void {
  if (request.header('idempotency-key') === undefined) return
  throw new ServiceError(
    'bad_request',
    'Cannot accept an Idempotency-Key here: the response has a secret, which the service does not keep',
  )
}

interface Keyed {
  readonly caller: Caller
  readonly given: string
  readonly run: () => Promise<HttpResponse> | HttpResponse
}

/** Counts what the caller keeps, in all processes. @throws ServiceError `too_many_requests` */
type Keep = (count: number) => Promise<unknown>

/** A kept response counts once, and once again for each part of its body with this size. */
const countedBytes = 1024

async function withKey(
  { once, permission, config, limiter }: IdempotencyDeps,
  { request, actor }: Exchange & { readonly actor: Actor },
  { caller, given, run }: Keyed,
): Promise<HttpResponse> {
  if (!/^[\x21-\x7e]{1,255}$/.test(given) || request.hasRepeated('idempotency-key')) {
    throw new ServiceError(
      'bad_request',
      'Invalid Idempotency-Key: send it once, with 1 to 255 printable ASCII characters',
    )
  }
  const body = await request.body(config.maxBodyBytes)
  const keep: Keep = (count) =>
    limiter.charge([{ limit: 'kept_response/client', of: `${actor.id} ${callerName(caller)}`, count }])
  await keep(1)
  const asked = {
    actorId: actor.id,
    key: digest([callerName(caller), given]),
    request: digest([request.path, request.query, request.header('content-type') ?? '', hash('sha256', body)]),
  }
  let failed: { readonly error: unknown } | null = null
  const granted = new Map<string, Operation>()
  const context = currentContext()
  if (context !== undefined) context.granted = granted
  const grants = (): readonly Operation[] => [...granted.values()]
  const { answer, isFirst } = await once.run(asked, async () => {
    try {
      const made = await run()
      const body = typeof made.body === 'string' ? made.body : null
      // A stream is not kept: it may be long, and it is sent while it is read.
      return {
        answer: {
          ...made,
          body,
          grants: grants(),
          ...(made.stream === undefined && (await hasSpace(keep, body)) ? {} : { isTooLarge: true as const }),
        },
        isKept: true,
      }
    } catch (error) {
      const failure = toServiceError(error)
      failed = { error }
      // A handler of the application may have had an effect before it failed.
      const refusal = errorResponse(failure)
      const body = typeof refusal.body === 'string' ? refusal.body : null
      return { answer: { ...refusal, body, grants: grants() }, isKept: !withoutEffect.has(failure.status) }
    }
  })
  rethrow(failed)
  if (isFirst) return answer
  await requireStill(permission, { actor, caller }, answer)
  return replayed(answer)
}

/** Whether the caller may keep one more body. The request has run, so it is never refused here. */
async function hasSpace(keep: Keep, body: string | null): Promise<boolean> {
  const count = Math.floor(Buffer.byteLength(body ?? '') / countedBytes)
  if (count === 0) return true
  try {
    await keep(count)
    return true
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'too_many_requests') return false
    throw error
  }
}

/**
 * Requires every right that the first request used. The owner may have revoked it, and the response shows what it gave.
 *
 * @throws ServiceError `forbidden`
 */
async function requireStill(
  permission: Permission,
  { actor, caller }: { readonly actor: Actor; readonly caller: Caller },
  { grants = [] }: KeptAnswer,
): Promise<void> {
  const byRight = Map.groupBy(grants, ({ category, right }) => `${category} ${right}`)
  for (const [first, ...rest] of byRight.values()) {
    if (first === undefined) continue
    const targets = [first, ...rest].map(({ target }) => target)
    await permission.requireAll(actor.id, caller, { category: first.category, right: first.right }, targets)
  }
}

/** @throws ServiceError `answer_not_kept`, with the status and location of the first response. */
function replayed({ status, headers, body, isTooLarge }: KeptAnswer): HttpResponse {
  const mark = { 'Idempotency-Replayed': 'true' }
  if (isTooLarge !== true) return { status, headers: { ...headers, ...mark }, body }
  const { Location } = headers
  throw new ServiceError(
    'answer_not_kept',
    `Cannot repeat the response: the request already ran with status ${status}, and its response was too large to keep`,
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
