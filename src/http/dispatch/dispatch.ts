/** From a request to an answer: route table, caller, right, handler; and the headers that every answer carries. */
import type { Actor } from '../../actor/actor.ts'
import { anonymous, type Caller } from '../../caller.ts'
import { type Credential, readCredential } from '../../auth/credentials.ts'
import { ServiceError } from '../../errors.ts'
import { type LimitKey, limitersOf, perOf } from '../../rate-limit/rates.ts'
import { runInContext } from '../../observe/context.ts'
import { readTraceContext } from '../../observe/trace-context.ts'
import { failed, type Span } from '../../observe/tracing.ts'
import { judgeOwner } from '../../permission/owner.ts'
import { refusal } from '../../permission/permission.ts'
import type { ConnectedVia } from '../../trust/last-seen.ts'
import { acceptsPages } from '../edge/accepts.ts'
import { actOf } from './audit-entry.ts'
import { type Answer, isPage, redirect } from '../edge/response.ts'
import { antiForgeryValue, type ForgeryRule, refuseForgedForm, refuseForgery } from './anti-forgery.ts'
import { Cors, type CorsFamily } from '../edge/cors.ts'
import { errorPage } from '../../pages/failed/error-page.ts'
import { errorAnswer, type ErrorFamily, logError, toServiceError } from '../edge/error-response.ts'
import { sourceOf } from '../edge/client-address.ts'
import type { Handle, Incoming } from '../edge/request.ts'
import { methodOf, overriddenMethod } from './method.ts'
import { maxQueryFields, Params } from '../edge/params.ts'
import type { DispatchExchange as Exchange, Parts } from './parts.ts'
import { decodePath } from '../edge/path.ts'
import { requestIdOf } from '../edge/request-id.ts'
import {
  type ActorRoute,
  type Method,
  type OpenActorRoute,
  type PageRoute,
  rightOf,
  type Route,
  type ServiceRoute,
} from './route.ts'
import { onceOf } from './idempotency.ts'
import { type Match, RouteTable } from './route-table.ts'
import { securityHeaders } from '../edge/security-headers.ts'
import { opensPagesByPassphrase } from './sign-in-address.ts'
import { toLogin, toSignIn } from './sign-in-redirect.ts'
import { lazily, type Trace } from './request-state.ts'

/** In characters of path and query. */
const longestAddress = 8192

export function createHandle(parts: Parts, routes: readonly Route[]): Handle {
  const table = new RouteTable(routes)
  const headers = securityHeaders(parts.baseUrl)
  const cors = new Cors(parts.config.spaCorsOrigins, parts.config.mcpOrigins)
  const forgeryRule: ForgeryRule = {
    origin: new URL(parts.baseUrl).origin,
    isTrustedOrigin: cors.isNamed,
    maxBodyBytes: parts.config.maxBodyBytes,
    maxJsonDepth: parts.config.maxJsonDepth,
  }

  return (request) => {
    const requestId = requestIdOf(request.header('x-request-id'))
    const source = lazily(() => sourceOf(request, parts.config.trustedProxies))
    const context: Trace = {
      requestId,
      actorId: null,
      peerId: null,
      source,
      limitHeaders: null,
      route: null,
      caller: null,
      hasCredential: false,
      isSentToSignIn: false,
    }
    return runInContext(context, () => {
      const sender = parts.tracing.isInTrace()
        ? null
        : readTraceContext(request.header('traceparent'), request.header('tracestate'))
      return parts.tracing.run('request', { kind: 'server', sender }, (span) => answered(request, context, span))
    })
  }

  async function answered(request: Incoming, context: Trace, span: Span): Promise<Answer> {
    const started = performance.now()
    const tracker: Tracker = {
      context,
      routeId: 'none',
      method: 'other',
      isPage: false,
      isOfActor: false,
      cors: undefined,
      errors: undefined,
    }
    parts.metrics.requestsRunning(1)
    let answer: Answer
    let failure: ServiceError | null = null
    try {
      answer = await answerTo(request, tracker)
    } catch (error) {
      failure = toServiceError(error)
      logError(parts.log, failure)
      const actorId = tracker.isOfActor ? context.actorId : null
      answer = tracker.isPage
        ? await errorPage(failure, parts, { requestId: context.requestId, actorId })
        : errorAnswer(failure, tracker.errors)
    }
    if (tracker.cors !== undefined) answer = cors.shared(request, tracker.cors, answer)
    parts.metrics.requestsRunning(-1)
    const seconds = (performance.now() - started) / 1000
    parts.metrics.requestDone(tracker.routeId, tracker.method, answer.status, seconds)
    if (parts.log.isLevelEnabled('debug')) {
      parts.log.debug({ method: request.method, route: tracker.routeId, status: answer.status, seconds }, 'Answered')
    }
    if (context.actorId !== null) note(request, tracker, answer, failure)
    describe(span, tracker, answer, failure)
    return complete(request, answer, tracker)
  }

  async function answerTo(request: Incoming, tracker: Tracker): Promise<Answer> {
    if (request.path.length + request.query.length > longestAddress) throw new ServiceError('uri_too_long')
    if (request.fault !== null) throw new ServiceError('bad_request', `Cannot serve this request: ${request.fault}`)
    const method = methodOf(request)
    const path = withoutPrefix(request.path)
    const segments = decodePath(path)
    const slashless = droppedSlash(segments)
    if (slashless === 'redirect')
      return redirect(307, `${parts.baseUrl}${path.slice(0, -1)}${request.query === '' ? '' : `?${request.query}`}`)
    const preflight = request.method === 'OPTIONS' ? preflightOf(request, slashless) : null
    if (preflight !== null) return preflight
    const query = Params.parse(request.query, maxQueryFields, 'query')
    // A person may have mistyped an address.
    tracker.isPage = acceptsPages(request)
    const { match, effective } = await matchFor(request, method, slashless, query)
    const { route, params, rest } = match
    tracker.isOfActor = route.access === 'www'
    if (route.access !== 'www' && route.page !== true) tracker.isPage = false
    tracker.routeId = route.id
    tracker.method = effective
    tracker.cors = route.cors
    tracker.errors = route.errors
    const { context } = tracker
    context.route = route
    const exchange: Exchange = {
      request,
      method: effective,
      parts,
      query,
      params,
      rest,
      source: context.source,
      charge: (name, target) => charge(limitersOf(name), context, target ?? null),
      chargeClient: (limit, client, count) => {
        context.limitHeaders = parts.localLimiter.charge(limit, client, count)
      },
    }
    if (route.access !== 'service') return answerForActor(route, exchange, context)
    if (route.limit !== undefined) await charge(route.limit, context, null)
    if (isChange(route, exchange) && route.takesForeignPosts !== true) await refuseForgery(request, forgeryRule)
    return route.handler(exchange)
  }

  /** Where scripts of other sites may ask, and everywhere below `/oauth`; null where OPTIONS is no method of the path. */
  function preflightOf(request: Incoming, segments: readonly string[]): Answer | null {
    const rows = preflightRows(table.at(segments))
    if (rows.length === 0) return null
    const family = rows.find((route) => route.cors !== undefined)?.cors ?? null
    return cors.preflight(request, family, allowedAt(rows))
  }

  async function matchFor(
    request: Incoming,
    method: Method | null,
    segments: readonly string[],
    query: Params,
  ): Promise<{ match: Match; effective: Method }> {
    const override = await overriddenMethod(request, query, parts.config)
    if (override !== null) {
      // A path that does not take the method is served as it was sent.
      const found = table.find(override, segments)
      if (found.match !== null) return { match: found.match, effective: override }
    }
    const found = table.find(method, segments)
    const isServed = found.match !== null && !(request.method === 'HEAD' && found.match.route.takesNoHead === true)
    if (isServed && method !== null) return { match: found.match, effective: method }
    throw noRoute(table.at(segments))
  }

  async function answerForActor(
    route: Exclude<Route, ServiceRoute>,
    exchange: Exchange,
    context: Trace,
  ): Promise<Answer> {
    const { request } = exchange
    const actor = await parts.actors.require(exchange.params['actor'] ?? '')
    context.actorId = actor.id
    if (route.limit !== undefined) await charge(route.limit, context, actor.id)
    if (route.access === 'public') return route.handler({ ...exchange, actor })
    const credential = readCredential(
      request.header('authorization'),
      request.header('cookie'),
      request.hasRepeated('authorization'),
    )
    context.hasCredential = credential.kind !== 'none'
    const isBrowser = acceptsPages(request)
    if (route.access === 'www') return answerPage(route, { ...exchange, actor }, credential, context)
    if (route.access === 'open') {
      let known: Caller = anonymous
      const authenticated = async (): Promise<Caller> =>
        (known = await callerOf(credential, actor, route, exchange, context))
      const authorised = async (): Promise<Caller> => {
        await authenticated()
        refuseUnlessAllowed(route, exchange, known)
        return known
      }
      try {
        const answer = await route.handler({ ...exchange, actor, authenticated, authorised })
        parts.contacts.answered(known, connectedVia(route))
        return answer
      } catch (error) {
        if (credential.kind === 'none' && isBrowser && isLackOfRights(error))
          return sentToSignIn(exchange, credential, context)
        throw error
      }
    }
    if (credential.kind === 'none' && isBrowser) return sentToSignIn(exchange, credential, context, route.signsIn)
    let caller: Caller
    try {
      caller = await callerOf(credential, actor, route, exchange, context)
      refuseUnlessAllowed(route, exchange, caller)
    } catch (error) {
      if (isBrowser && route.signsIn === true && isLackOfRights(error))
        return sentToSignIn(exchange, credential, context, true)
      throw error
    }
    const answer = await onceOf(exchange, actor, caller, async () => route.handler({ ...exchange, actor, caller }))
    parts.contacts.answered(caller, connectedVia(route))
    return answer
  }

  async function answerPage(
    route: PageRoute,
    exchange: Exchange & { readonly actor: Actor },
    credential: Credential,
    context: Trace,
  ): Promise<Answer> {
    const { actor } = exchange
    const isBrowser = acceptsPages(exchange.request)
    // The passphrase is no browser session, right or wrong.
    if (credential.kind === 'basic' && !opensPagesByPassphrase(parts)) return sentAway(context, toLogin(exchange))
    if (credential.kind === 'none' && isBrowser) return sentToSignIn(exchange, credential, context)
    let caller: Caller
    try {
      caller = await callerOf(credential, actor, route, exchange, context)
      refuseUnlessAllowed(route, exchange, caller)
    } catch (error) {
      if (isBrowser && isLackOfRights(error)) return sentToSignIn(exchange, credential, context)
      throw error
    }
    const csrfToken = csrfTokenOf(credential)
    if (credential.kind === 'basic' && isChange(route, exchange))
      await refuseForgedForm(exchange.request, forgeryRule, csrfToken)
    return route.handler({ ...exchange, caller, csrfToken })
  }

  /**
   * To a provider, or to the page where one chooses.
   *
   * @throws ServiceError `unauthorized` where there is none: the browser asks for the creator and the passphrase.
   */
  async function sentToSignIn(
    exchange: Exchange,
    credential: Credential,
    context: Trace,
    mustChoose = false,
  ): Promise<Answer> {
    context.isSentToSignIn = true
    if (!mustChoose && opensPagesByPassphrase(parts))
      throw parts.authentication.unauthorized('Sign in with the creator and the passphrase of this account')
    return toSignIn(exchange, credential, mustChoose)
  }

  async function charge(limits: readonly LimitKey[], context: Trace, target: string | null): Promise<void> {
    const whose = { source: context.source(), target, total: '', pair: null, client: null } as const
    context.limitHeaders = await parts.limiter.charge(limits.map((limit) => ({ limit, of: whose[perOf(limit)] })))
  }

  async function callerOf(
    credential: Credential,
    actor: Actor,
    route: Route,
    exchange: Exchange,
    context: Trace,
  ): Promise<Caller> {
    const caller = await parts.authentication.authenticate(credential, actor, context.source)
    if (caller.kind === 'anonymous') throw parts.authentication.unauthorized('Authentication required')
    // The credential counts here, so a route that takes foreign posts has no exception.
    if (isChange(route, exchange)) await refuseForgery(exchange.request, forgeryRule)
    context.caller = caller
    if (caller.kind === 'peer') context.peerId = caller.peerId
    return caller
  }

  function refuseUnlessAllowed(
    route: ActorRoute | PageRoute | OpenActorRoute,
    { method, params }: Exchange,
    caller: Caller,
  ): void {
    const category = route.access === 'open' ? route.category : route.access
    if (category === undefined) throw new Error(`Route ${route.id} asks for rights and names none`)
    const wanted = { category, right: rightOf(method) }
    const asOwner =
      !('owner' in route) || route.owner === undefined
        ? null
        : judgeOwner(caller, params[route.owner.param] ?? '', route.owner)
    const verdict = asOwner ?? parts.permission.mayTouch(caller, wanted)
    if (!verdict.allowed) throw refusal(caller, wanted, verdict)
    parts.permission.decided(caller, verdict)
  }

  function note(request: Incoming, tracker: Tracker, answer: Answer, failure: ServiceError | null): void {
    const { context: trace, method } = tracker
    const act = actOf({
      trace,
      method,
      path: withoutPrefix(request.path),
      answer,
      failure,
      grant: trace.caller === null ? null : parts.permission.grantOf(trace.caller),
    })
    if (act !== null) parts.ledger.record(act)
  }

  async function* counted(route: string, stream: AsyncIterable<string>): AsyncGenerator<string> {
    parts.metrics.streamsOpen(route, 1)
    try {
      yield* stream
    } catch (error) {
      // The status is sent already: the log is the only place that names the reason.
      logError(parts.log, toServiceError(error))
      throw error
    } finally {
      parts.metrics.streamsOpen(route, -1)
    }
  }

  function withoutPrefix(path: string): string {
    if (parts.basePath === '') return path
    if (path === parts.basePath) return '/'
    if (path.startsWith(`${parts.basePath}/`)) return path.slice(parts.basePath.length)
    // RFC 8414 section 3.1 and RFC 9728 section 3.1 put the name of a document before the path of what it is about.
    const [, document = '', of = ''] = /^(\/\.well-known\/[\w-]+)(\/.*)$/.exec(path) ?? []
    if (of === parts.basePath || of.startsWith(`${parts.basePath}/`))
      return `${document}${of.slice(parts.basePath.length)}`
    throw new ServiceError('not_found', 'There is nothing at this address: the service lives under a path prefix')
  }

  function complete(request: Incoming, answer: Answer, { context, routeId }: Tracker): Answer {
    const { requestId, limitHeaders } = context
    const all: Record<string, string> = {
      ...(isPage(answer) ? headers.forPages : headers.forData),
      ...limitHeaders,
      ...answer.headers,
      'X-Request-ID': requestId,
    }
    const isHead = request.method === 'HEAD'
    if (answer.stream !== undefined && !isHead) {
      return { ...answer, headers: all, stream: counted(routeId, answer.stream) }
    }
    // An answer to HEAD reads no stream, and its length is unknown.
    answer.onClose?.()
    if (answer.stream !== undefined) return { status: answer.status, headers: all, body: null }
    if (answer.body !== null) all['Content-Length'] = String(Buffer.byteLength(answer.body))
    else if (answer.status !== 204 && answer.status !== 304) all['Content-Length'] = '0'
    const body = isHead ? null : answer.body
    return answer.cookies === undefined
      ? { status: answer.status, headers: all, body }
      : { status: answer.status, headers: all, body, cookies: answer.cookies }
  }
}

/** By our own names: an address or a peer's id may name a person. */
function describe(span: Span, tracker: Tracker, { status }: Answer, failure: ServiceError | null): void {
  if (!span.isRecording()) return
  const { routeId, method, context } = tracker
  span.updateName(routeId)
  span.setAttributes({ 'troupe.route': routeId, 'http.request.method': method, 'http.response.status_code': status })
  if (context.route !== null) span.setAttribute('http.route', context.route.path)
  if (context.actorId !== null) span.setAttribute('troupe.actor', context.actorId)
  if (context.caller !== null) span.setAttribute('troupe.caller', context.caller.kind)
  // What a caller did wrong is no fault of the service.
  if (status >= 500) failed(span, failure?.code ?? String(status))
}

function isChange(route: Route, { request, method }: Exchange): boolean {
  return method !== 'GET' || request.method === 'POST' || route.acts === true
}

/** For the forms of a page that the credential opened. */
function csrfTokenOf(credential: Credential): string {
  switch (credential.kind) {
    case 'bearer':
      return antiForgeryValue(credential.token)
    case 'basic':
      return antiForgeryValue(`${credential.user}:${credential.password}`)
    default:
      return ''
  }
}

function connectedVia({ path }: Route): ConnectedVia {
  return path.startsWith('/:actor/subscriptions') ? 'subscription' : 'trust'
}

function isLackOfRights(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'unauthorized' || error.code === 'forbidden')
}

function sentAway(trace: Trace, answer: Answer): Answer {
  trace.isSentToSignIn = true
  return answer
}

interface Tracker {
  readonly context: Trace
  routeId: string
  /** Of the route table; whatever a stranger calls a method never becomes a label. */
  method: Method | 'other'
  cors: CorsFamily | undefined
  errors: ErrorFamily | undefined
  /** Whether a refusal is shown as a page. */
  isPage: boolean
  /** Whether a page of an actor was asked for. */
  isOfActor: boolean
}

/** `/<actor>/` has one spelling, without the slash; `/<actor>/properties/` is taken as `/<actor>/properties`. */
function droppedSlash(segments: readonly string[]): readonly string[] | 'redirect' {
  if (segments.at(-1) !== '' || segments[0] === '' || segments.length > 3) return segments
  return segments.length === 2 ? 'redirect' : segments.slice(0, -1)
}

/** The rows whose path answers OPTIONS. */
function preflightRows(rows: readonly Route[]): readonly Route[] {
  return rows.filter((route) => route.cors !== undefined || route.path.startsWith('/oauth/'))
}

/** For `Allow`: complete, in the order of the alphabet. */
function allowedAt(rows: readonly Route[]): string[] {
  const methods = new Set<string>(rows.map((route) => route.method))
  if (rows.some((route) => route.method === 'GET' && route.takesNoHead !== true)) methods.add('HEAD')
  if (preflightRows(rows).length > 0) methods.add('OPTIONS')
  return [...methods].sort()
}

function noRoute(rows: readonly Route[]): ServiceError {
  if (rows.length === 0) return new ServiceError('not_found', 'There is nothing at this address')
  const names = allowedAt(rows).join(', ')
  return new ServiceError('method_not_allowed', `Cannot serve this method here: the address takes ${names}`, {
    headers: { Allow: names },
  })
}
