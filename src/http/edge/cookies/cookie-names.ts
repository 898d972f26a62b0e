/**
 * Names and attributes of cookies on the wire. Browsers share the cookies of a host among all ports and paths, so the names
 * of a service contain its base URL. All other code uses the names of a service that is alone at an https address.
 */
import { createHash } from 'node:crypto'
import { withoutSpaces } from '../../../auth/credentials.ts'
import { hasSecureCookies, type ServedAt } from '../../../config/plain-http.ts'
import { ForwardedRequest, type HttpRequest, type RequestHead } from '../request.ts'

/** The prefix of the names in the code. Subdomains and plain http cannot set such a cookie (RFC 6265bis). */
const hostPrefix = '__Host-'

/** Cookies over http cannot have the prefix of browsers. This one keeps the names apart from those of other programs. */
const httpPrefix = 'troupe-'

export class CookieNames {
  readonly #isSecure: boolean
  readonly #prefix: string
  /** Empty for a service that has the host for itself. */
  readonly #suffix: string

  constructor(service: ServedAt) {
    this.#isSecure = hasSecureCookies(service)
    this.#prefix = this.#isSecure ? hostPrefix : httpPrefix
    const { port, pathname } = new URL(service.baseUrl)
    const isAlone = port === '' && pathname === '/'
    this.#suffix = isAlone ? '' : `-${createHash('sha256').update(`${port}${pathname}`).digest('hex').slice(0, 10)}`
  }

  /** The request with the names of the code. Cookies of other services at this host lose the prefix, and count as unknown. */
  received(request: HttpRequest): HttpRequest {
    return this.#isUnchanged || request.header('cookie') === undefined ? request : new RenamedCookies(request, this)
  }

  /** Like `received`, for a request to the embedding program. */
  receivedHead(head: RequestHead): RequestHead {
    if (this.#isUnchanged) return head
    const { method, hasRepeated } = head
    return { method, hasRepeated, header: (name) => this.headerOf(head, name) }
  }

  /** The `Set-Cookie` values for the browser. */
  sent(lines: readonly string[]): string[] {
    return lines.map((line) => this.#sent(line))
  }

  headerOf(head: Pick<RequestHead, 'header'>, name: string): string | undefined {
    const value = head.header(name)
    return name === 'cookie'
      ? value
          ?.split(';')
          .flatMap((pair) => this.#known(pair))
          .join('; ')
      : value
  }

  nameOnWire(name: string): string {
    return name.startsWith(hostPrefix) ? `${this.#prefix}${name.slice(hostPrefix.length)}${this.#suffix}` : name
  }

  get #isUnchanged(): boolean {
    return this.#prefix === hostPrefix && this.#suffix === ''
  }

  #known(pair: string): string[] {
    const [name = '', ...value] = withoutSpaces(pair).split('=')
    const known = this.#nameInCode(name)
    return known === null ? [] : [[known, ...value].join('=')]
  }

  /** Null for a name that the code would mistake for one of its own. */
  #nameInCode(name: string): string | null {
    const isOwn = name.startsWith(this.#prefix) && name.endsWith(this.#suffix)
    if (isOwn) return `${hostPrefix}${name.slice(this.#prefix.length, name.length - this.#suffix.length)}`
    return name.startsWith(hostPrefix) ? null : name
  }

  #sent(line: string): string {
    const [name = '', ...rest] = line.split('=')
    const renamed = [this.nameOnWire(name), ...rest].join('=')
    return this.#isSecure ? renamed : renamed.replace('; Secure', '')
  }
}

class RenamedCookies extends ForwardedRequest {
  readonly #names: CookieNames

  constructor(inner: HttpRequest, names: CookieNames) {
    super(inner)
    this.#names = names
  }

  override header(name: string): string | undefined {
    return this.#names.headerOf(this.inner, name)
  }
}
