/** The state of a request that the dispatcher collects, in addition to the log context. */
import type { Caller } from '../../caller.ts'
import type { RequestContext } from '../../observe/context.ts'
import { deviceOf } from '../../token/device.ts'
import type { CorsFamily } from '../edge/cors.ts'
import type { ErrorFamily } from '../edge/error-response.ts'
import type { RequestHead } from '../edge/request.ts'
import type { HttpResponse } from '../edge/response.ts'
import type { Method, Route } from './route.ts'

export interface RequestState extends RequestContext {
  /** The address whose buckets the request takes from; null when it is unknown. Computed on first use. */
  readonly source: () => string | null
  /** The rate-limit headers of the response. */
  limitHeaders: Readonly<Record<string, string>> | null
  /** Query parameters that a read ignored, in development. */
  ignoredQuery: readonly string[]
  route: Route | null
  /** One of the route table's methods: a method that a client invents never becomes a label. */
  method: Method | 'other'
  cors: CorsFamily | undefined
  errors: ErrorFamily | undefined
  /** True when an error is shown as an HTML page. */
  isPage: boolean
  /** The authenticated caller; null before authentication and after a failed one. */
  caller: Caller | null
  grant: string | null
  /** True when the request carried a credential, valid or not. */
  hasCredential: boolean
  /** The answer of a former address of the service in place of a route. */
  atFormerAddress: (() => HttpResponse) | null
  /** The response sends the browser to sign in. */
  isSentToSignIn: boolean
}

export function newRequestState(
  requestId: string,
  request: Pick<RequestHead, 'header'>,
  { source, language }: Pick<RequestState, 'source'> & { readonly language: () => string },
): RequestState {
  return {
    requestId,
    device: () => deviceOf(request.header('user-agent')),
    language,
    actorId: null,
    peerId: null,
    source: lazily(source),
    limitHeaders: null,
    ignoredQuery: [],
    route: null,
    method: 'other',
    cors: undefined,
    errors: undefined,
    isPage: false,
    caller: null,
    grant: null,
    hasCredential: false,
    atFormerAddress: null,
    isSentToSignIn: false,
  }
}

/** Caches the first result of a function. */
function lazily<T>(compute: () => T): () => T {
  let known: { readonly value: T } | undefined
  return () => (known ??= { value: compute() }).value
}
