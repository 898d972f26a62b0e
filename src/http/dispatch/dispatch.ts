/**
 * The steps of every request, the same for data, pages, OAuth and MCP: match, limit, credential, cross-site check, caller,
 * permission, handler, audit, response.
 */
import type { AuditLog } from '../../audit-log/audit-log.ts'
import type { Config } from '../../config/options.ts'
import { loopbackBaseUrls } from '../../config/other-base-urls.ts'
import type { ServiceError } from '../../errors.ts'
import { runInContext } from '../../observe/context.ts'
import type { Log } from '../../observe/log.ts'
import type { Metrics } from '../../observe/metrics.ts'
import { readTraceContext } from '../../observe/trace-context.ts'
import { failed, type Span, type Tracing } from '../../observe/tracing.ts'
import { failedSignIn } from '../../rate-limit/failed-attempts.ts'
import type { LocalLimiter } from '../../rate-limit/local-limiter.ts'
import { limitersOf } from '../../rate-limit/rates.ts'
import { SignInRefusal } from '../../sign-in/refusal.ts'
import type { Timers } from '../../timers.ts'
import { acceptsPages } from '../edge/accepts.ts'
import { compressed } from '../edge/content/compression.ts'
import { BodyBudget, bodyBudgetBytes } from '../edge/memory/body-budget.ts'
import { BudgetedRequest, needsBudget } from '../edge/memory/budgeted-request.ts'
import { isForwardedUnknown, sourceOf } from '../edge/client-address.ts'
import { CookieNames } from '../edge/cookies/cookie-names.ts'
import { Cors } from '../edge/cors.ts'
import { FormerAddresses, withChallengeAt } from '../edge/former/former-addresses.ts'
import { errorResponse, logError, toServiceError } from '../edge/error-response.ts'
import type { Handle, HttpRequest } from '../edge/request.ts'
import { requestIdOf } from '../edge/request-id.ts'
import type { HttpResponse } from '../edge/response.ts'
import { Admission, type AdmissionDeps } from './admission.ts'
import { auditEntryOf, ownEntriesOf } from './audit-entry.ts'
import { ClientAdmission, type ClientAdmissionDeps } from './client-admission.ts'
import { type EntranceDeps, Entrances } from './entrances.ts'
import { type Addressed, Locator } from './locate.ts'
import { newRequestState, type RequestState } from './request-state.ts'
import { ResponseHeaders } from './response-headers.ts'
import type { Exchange, Method, Route } from './route.ts'
import type { Match } from './route-table.ts'
import type { Params } from '../edge/params.ts'

export interface ErrorSubject {
  readonly request: HttpRequest
  readonly requestId: string
  /** The actor whose page was requested; null for any other page. */
  readonly actorId: string | null
}

export interface DispatchDeps
  extends AdmissionDeps,
    Omit<EntranceDeps, 'admission' | 'clientAdmission' | 'forgeryRule' | 'authentication'>,
    Pick<ClientAdmissionDeps, 'clientAccess'> {
  readonly config: Config
  readonly baseUrl: string
  readonly basePath: string
  readonly localLimiter: LocalLimiter
  readonly auditLog: AuditLog
  /** Renders an error page for a browser. */
  readonly errorPage: (error: ServiceError, about: ErrorSubject) => Promise<HttpResponse>
  /** The language of the pages for a browser. */
  readonly languageOf: (request: HttpRequest) => string
  readonly log: Log
  readonly metrics: Metrics
  readonly tracing: Tracing
  readonly timers: Timers
}

/** The longest time that a request waits for the memory for its body, in milliseconds. */
const maxBodyWaitMs = 10_000

export class Dispatcher {
  readonly #deps: DispatchDeps
  readonly #cors: Cors
  readonly #locator: Locator
  readonly #formerAddresses: FormerAddresses
  readonly #admission: Admission
  readonly #entrances: Entrances
  readonly #headers: ResponseHeaders
  readonly #cookieNames: CookieNames
  readonly #bodies: BodyBudget
  #hasWarned = false

  constructor(deps: DispatchDeps, routes: readonly Route[]) {
    const { config, baseUrl } = deps
    this.#deps = deps
    this.#cors = new Cors(config.spaCorsOrigins, config.mcpOrigins)
    this.#locator = new Locator(routes, { ...deps, cors: this.#cors })
    this.#formerAddresses = new FormerAddresses(deps)
    const forgeryRule = {
      origin: new URL(baseUrl).origin,
      isTrustedOrigin: this.#cors.isNamed,
      maxBodyBytes: config.maxBodyBytes,
      maxJsonDepth: config.maxJsonDepth,
    }
    this.#admission = new Admission(deps, forgeryRule)
    const origins = [...config.mcpOrigins, ...loopbackBaseUrls(deps).map((url) => new URL(url).origin)]
    const clientAdmission = new ClientAdmission({ ...deps, origins })
    this.#entrances = new Entrances({ ...deps, admission: this.#admission, clientAdmission, forgeryRule })
    this.#headers = new ResponseHeaders(baseUrl, deps.metrics, deps.log)
    this.#cookieNames = new CookieNames(deps)
    this.#bodies = new BodyBudget({
      totalBytes: config.bodyMemoryBytes ?? bodyBudgetBytes(config.maxBodyBytes),
      // The rest of the time is for the body to arrive.
      waitMs: Math.min(maxBodyWaitMs, (config.requestTimeoutSeconds * 1000) / 3),
      timers: deps.timers,
    })
  }

  readonly handle: Handle = (received) => {
    const { tracing, config } = this.#deps
    const { request, answer } = this.#formerAddresses.translate(this.#cookieNames.received(received))
    if (!this.#hasWarned && isForwardedUnknown(request, config.trustedProxies)) this.#warn()
    const requestId = requestIdOf(request.header('x-request-id'))
    const state = newRequestState(requestId, request, {
      source: () => sourceOf(request, config.trustedProxies),
      language: () => this.#deps.languageOf(request),
    })
    state.atFormerAddress = answer
    return runInContext(state, () => {
      const sender = tracing.isInTrace()
        ? null
        : readTraceContext(request.header('traceparent'), request.header('tracestate'))
      return tracing.run('request', { kind: 'server', sender }, (span) =>
        needsBudget(request) ? this.#respondWithin(request, state, span) : this.#respond(request, state, span),
      )
    })
  }

  #warn(): void {
    this.#hasWarned = true
    this.#deps.log.warn(
      'Requests have X-Forwarded-For or Forwarded, but TROUPE_TRUSTED_PROXIES is 0, so the addresses of senders are not known. Set it to the number of proxies before the service. Without a proxy, ignore this.',
    )
  }

  async #respondWithin(request: HttpRequest, state: RequestState, span: Span): Promise<HttpResponse> {
    const budgeted = new BudgetedRequest(request, this.#bodies, state.source)
    try {
      return await this.#respond(budgeted, state, span)
    } finally {
      budgeted.release()
    }
  }

  async #respond(request: HttpRequest, state: RequestState, span: Span): Promise<HttpResponse> {
    const { metrics, log } = this.#deps
    const started = performance.now()
    metrics.requestsRunning(1)
    let answer: HttpResponse
    let failure: ServiceError | null = null
    try {
      answer = await this.#answer(request, state)
    } catch (error) {
      failure = toServiceError(error)
      logError(log, failure)
      if (failure instanceof SignInRefusal)
        log.info({ address: state.source(), method: failure.why, actorId: state.actorId }, failedSignIn)
      answer = await this.#refusal(request, failure, state)
    }
    if (request.otherBaseUrl !== undefined) answer = withChallengeAt(answer, this.#deps.baseUrl, request.otherBaseUrl)
    if (state.cors !== undefined) answer = this.#cors.shared(request, state.cors, answer)
    metrics.requestsRunning(-1)
    const seconds = (performance.now() - started) / 1000
    const routeId = state.route?.id ?? 'none'
    metrics.requestDone(routeId, state.method, answer.status, seconds)
    if (log.isLevelEnabled('debug')) {
      log.debug({ method: request.method, route: routeId, status: answer.status, seconds }, 'Answered')
    }
    if (state.actorId !== null || state.acts !== undefined) this.#audit(request, state, answer, failure)
    describe(span, state, answer, failure)
    if (answer.cookies !== undefined) answer = { ...answer, cookies: this.#cookieNames.sent(answer.cookies) }
    return this.#headers.complete(request, await compressed(request, answer), state)
  }

  #answer(request: HttpRequest, state: RequestState): Promise<HttpResponse> | HttpResponse {
    if (state.atFormerAddress !== null) return state.atFormerAddress()
    const addressed = this.#locator.address(request)
    if ('answer' in addressed) return addressed.answer
    // A user may have mistyped a URL, so an unknown route also gets an error page.
    state.isPage = acceptsPages(request)
    const override = this.#locator.override(request, addressed)
    return override instanceof Promise
      ? override.then((method) => this.#enter(request, state, addressed, method))
      : this.#enter(request, state, addressed, override)
  }

  #enter(
    request: HttpRequest,
    state: RequestState,
    addressed: Addressed,
    override: Method | null,
  ): Promise<HttpResponse> | HttpResponse {
    const { match, method } = this.#locator.match(request, addressed, override)
    const { route } = match
    if (route.access !== 'www' && route.page !== true) state.isPage = false
    state.route = route
    state.method = method
    state.cors = route.cors
    state.errors = route.errors
    return this.#entrances.enter(
      route,
      this.#exchange(request, { match, method, query: addressed.query }, state),
      state,
    )
  }

  #exchange(
    request: HttpRequest,
    { match, method, query }: { readonly match: Match; readonly method: Method; readonly query: Params },
    state: RequestState,
  ): Exchange<string, Params> {
    return {
      request,
      method,
      query,
      params: match.params,
      bodyLimits: this.#deps.config,
      rest: match.rest,
      source: state.source,
      charge: (name, target, browser) =>
        this.#admission.charge(limitersOf(name), state, target ?? null, browser ?? null),
      noteIgnored: (names) => {
        if (this.#deps.config.mode === 'development') state.ignoredQuery = names
      },
      chargeClient: (limit, client, count) => {
        state.limitHeaders = this.#deps.localLimiter.charge(limit, client, count)
      },
    }
  }

  async #refusal(request: HttpRequest, failure: ServiceError, state: RequestState): Promise<HttpResponse> {
    if (!state.isPage) return errorResponse(failure, state.errors)
    const actorId = state.route?.access === 'www' ? state.actorId : null
    return this.#deps.errorPage(failure, { request, requestId: state.requestId, actorId })
  }

  #audit(request: HttpRequest, state: RequestState, answer: HttpResponse, failure: ServiceError | null): void {
    const answered = { state, path: this.#locator.withoutPrefix(request.path), answer, failure }
    const act = auditEntryOf(answered)
    if (act !== null) this.#deps.auditLog.record(act)
    for (const own of ownEntriesOf(answered)) this.#deps.auditLog.record(own)
  }
}

/** Sets the attributes of a span. Only names of the route table are safe: a URL or a peer's id may identify a person. */
function describe(span: Span, state: RequestState, { status }: HttpResponse, failure: ServiceError | null): void {
  if (!span.isRecording()) return
  const { route, method, actorId, caller } = state
  const routeId = route?.id ?? 'none'
  span.updateName(routeId)
  span.setAttributes({ 'troupe.route': routeId, 'http.request.method': method, 'http.response.status_code': status })
  if (route !== null) span.setAttribute('http.route', route.path)
  if (actorId !== null) span.setAttribute('troupe.actor', actorId)
  if (caller !== null) span.setAttribute('troupe.caller', caller.kind)
  // An error of the caller (4xx) is not a failure of the service.
  if (status >= 500) failed(span, failure?.code ?? String(status))
}
