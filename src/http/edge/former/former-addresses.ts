/**
 * Requests at other base URLs of the service: former ones, after its public address has changed, and in development the other
 * names of this machine. They are recognized by the Host header, which
 * chooses only between public facts: where a path begins, and whether a redirect to `BASE_URL` is the answer.
 */
import { isWebRequest } from '../../../app/embedding/sessions.ts'
import type { Config } from '../../../config/options.ts'
import { loopbackBaseUrls } from '../../../config/other-base-urls.ts'
import { ServiceError } from '../../../errors.ts'
import { acceptsPages } from '../accepts.ts'
import { ForwardedRequest, type HttpRequest } from '../request.ts'
import { type HttpResponse, redirect } from '../response.ts'

export interface FormerAddressDeps {
  readonly baseUrl: string
  readonly config: Pick<Config, 'mode' | 'formerBaseUrls' | 'formerAnswer'>
}

interface Base {
  readonly url: URL
  /** The path prefix; empty without one. */
  readonly path: string
}

/** Peers read the moves of an actor at every address that they know, and `troupe readdress` recognizes its service. */
const alwaysServed = /^\/(?:[^/]+\/meta\/moving|health\/live)$/

const authorizePath = '/oauth/authorize'
const uncached = { 'Cache-Control': 'no-store' }

export class FormerAddresses {
  readonly #deps: FormerAddressDeps
  readonly #current: Base
  readonly #former: readonly Base[]
  readonly #loopback: readonly Base[]

  constructor(deps: FormerAddressDeps) {
    this.#deps = deps
    this.#current = baseOf(deps.baseUrl)
    this.#former = deps.config.formerBaseUrls.map(baseOf)
    this.#loopback = loopbackBaseUrls(deps).map(baseOf)
  }

  /** The request as it would be below `BASE_URL`, and the answer that another address gives in place of a route. */
  translate(request: HttpRequest): { readonly request: HttpRequest; readonly answer: (() => HttpResponse) | null } {
    const isAlone = this.#former.length === 0 && this.#loopback.length === 0
    const other = isAlone ? null : this.#baseAt(hostOf(request), request.path)
    if (other === null) return { request, answer: null }
    const below = belowOf(other, request.path) || '/'
    const path = `${this.#current.path}${below}`
    return {
      request: new ForwardedRequest(request, { path, otherBaseUrl: other.url.href.replace(/\/$/, '') }),
      answer: alwaysServed.test(below) ? null : this.#answer(request, below, other),
    }
  }

  #answer(request: HttpRequest, below: string, other: Base): (() => HttpResponse) | null {
    const { baseUrl, config } = this.#deps
    const location = `${baseUrl}${below}${request.query === '' ? '' : `?${request.query}`}`
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    const toConsent = isRead && below === authorizePath ? consentAt(location, other) : null
    // The pages of `BASE_URL` have the cookies of the owner. Everything else works at each name of this machine.
    if (this.#loopback.includes(other)) return toConsent === null ? null : () => redirect(307, toConsent, uncached)
    if (config.formerAnswer === 'redirect') return () => redirect(308, location, uncached)
    if (config.formerAnswer === 'gone')
      return () => {
        throw new ServiceError('gone', `This service is at ${baseUrl} now`)
      }
    // Cookies and forms of a page belong to one host.
    const isPage = isRead && acceptsPages(request)
    return isPage ? () => redirect(307, toConsent ?? location, { ...uncached, Vary: 'Accept' }) : null
  }

  /** The other base URL with the longest path at this host. Null: the request is at none, or below `BASE_URL`. */
  #baseAt(host: string | null, path: string): Base | null {
    if (host === null) return null
    const within = [this.#current, ...this.#former, ...this.#loopback]
      .filter((base) => isHostOf(base.url, host) && belowOf(base, path) !== null)
      .toSorted((a, b) => b.path.length - a.path.length)
    const [found] = within
    return found === undefined || found === this.#current ? null : found
  }
}

/** A client that knows another address finds the document about that address, and refuses the one of another resource. */
export function withChallengeAt(answer: HttpResponse, baseUrl: string, otherBaseUrl: string): HttpResponse {
  const challenge = answer.headers['WWW-Authenticate']
  if (challenge === undefined) return answer
  const there = challenge.replaceAll(`"${baseUrl}/`, `"${otherBaseUrl}/`)
  return { ...answer, headers: { ...answer.headers, 'WWW-Authenticate': there } }
}

/** The consent page at `BASE_URL`. The response to the client names the issuer that it knows (RFC 9207). */
function consentAt(location: string, { url, path }: Base): string {
  const query = new URL(location).searchParams
  if (query.has('issuer')) return location
  return `${location}${query.size === 0 ? '?' : '&'}issuer=${encodeURIComponent(`${url.origin}${path}`)}`
}

function baseOf(text: string): Base {
  const url = new URL(text)
  return { url, path: url.pathname.replace(/\/$/, '') }
}

/** The path below the base. Null: the path is another one. */
function belowOf({ path: prefix }: Base, path: string): string | null {
  if (path === prefix || path.startsWith(`${prefix}/`)) return path.slice(prefix.length)
  // RFC 8414 section 3.1 and RFC 9728 section 3.1 put the name of a document before the path prefix.
  const [, document = '', of = ''] = /^(\/\.well-known\/[\w-]+)(\/.*)$/.exec(path) ?? []
  return of === prefix || of.startsWith(`${prefix}/`) ? `${document}${of.slice(prefix.length)}` : null
}

function hostOf(request: HttpRequest): string | null {
  const { original } = request
  return request.header('host') ?? (isWebRequest(original) ? new URL(original.url).host : null)
}

function isHostOf(base: URL, host: string): boolean {
  const given = host.toLowerCase()
  return given === base.host || (base.port === '' && given === `${base.host}:${base.protocol === 'https:' ? 443 : 80}`)
}
