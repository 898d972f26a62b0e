/** The checks for requests of AI clients: origin, host, access token and scope. */
import type { ClientAccess } from '../../authorization-server/client-access.ts'
import { isForMcp } from '../../authorization-server/resources.ts'
import { ServiceError } from '../../errors.ts'
import type { HttpRequest } from '../edge/request.ts'
import { type HttpResponse, json } from '../edge/response.ts'
import type { BaseUrl } from './urls.ts'

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i

/** Every request needs this scope. A token with another scope was granted for something else. */
const neededScope = 'mcp'

export interface ClientAdmissionDeps extends BaseUrl {
  readonly clientAccess: (token: string) => Promise<ClientAccess | null>
  /** Origins of the pages that may act as a client (`TROUPE_MCP_ORIGINS`). */
  readonly origins: readonly string[]
}

export class ClientAdmission {
  readonly #deps: ClientAdmissionDeps

  constructor(deps: ClientAdmissionDeps) {
    this.#deps = deps
  }

  /** The MCP transport requires 403 for a foreign origin, with every method. @throws ServiceError `forbidden` */
  refuseForeignOrigin(request: HttpRequest): void {
    const { baseUrl, origins } = this.#deps
    const origin = request.header('origin')
    if (origin !== undefined && origin !== new URL(baseUrl).origin && !origins.includes(origin)) {
      throw new ServiceError('forbidden', 'Cannot take a message from a page of this origin')
    }
  }

  /**
   * Refuses DNS rebinding, where a page makes its own host name resolve to this machine. A proxy may send any Host, so the
   * check runs only for a service at a loopback address.
   *
   * @throws ServiceError `forbidden`
   */
  refuseForeignHost(request: HttpRequest): void {
    const host = request.header('host')
    if (
      host !== undefined &&
      loopback.test(new URL(this.#deps.baseUrl).hostname) &&
      !loopback.test(host.replace(/:\d+$/, ''))
    ) {
      throw new ServiceError('forbidden', 'Cannot take a message for another host')
    }
  }

  /** Returns null for a token that is not valid here: RFC 8707 binds a token to its requested resource. */
  async access(token: string): Promise<ClientAccess | null> {
    const { baseUrl, clientAccess } = this.#deps
    const access = await clientAccess(token)
    return access !== null && isForMcp(access.audience, baseUrl) ? access : null
  }

  hasScope({ scope }: ClientAccess): boolean {
    return scope.split(' ').includes(neededScope)
  }

  /** The error is `invalid_token` also for a request without a token (R-MCP-07). */
  unauthorized(): HttpResponse {
    return this.#challenge(401, 'invalid_token', 'A valid access token of a client is required')
  }

  /** The client may ask the owner for the scope (RFC 6750 section 3.1). */
  insufficientScope(): HttpResponse {
    return this.#challenge(403, 'insufficient_scope', 'The access token was granted for something else')
  }

  /** Names the document that says where to get a token (RFC 9728 section 5.1). */
  #challenge(status: 401 | 403, error: string, description: string): HttpResponse {
    const { baseUrl } = this.#deps
    const parameters = [
      'realm="mcp"',
      `error="${error}"`,
      `error_description="${description}"`,
      `resource_metadata="${baseUrl}/.well-known/oauth-protected-resource/mcp"`,
      `authorization_uri="${baseUrl}/oauth/authorize"`,
      `scope="${neededScope}"`,
    ]
    return json(
      status,
      { error, error_description: description },
      { 'WWW-Authenticate': `Bearer ${parameters.join(', ')}` },
    )
  }
}
