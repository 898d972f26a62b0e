/** The token endpoint and the revocation endpoint: who asks is known first, then what for. */
import { ServiceError } from '../errors.ts'
import type { Metrics } from '../observe/metrics.ts'
import { actsForItself, type Client, type GrantType } from './client.ts'
import { authenticate, type Clients, mayUse } from './clients.ts'
import { authorizationCode } from './grants/authorization-code.ts'
import { clientCredentials } from './grants/client-credentials.ts'
import type { Grant, IssuedGrant, GrantDeps } from './grants/grant.ts'
import { refreshToken } from './grants/refresh-token.ts'
import { OAuthError } from './oauth-error.ts'
import { readClientCredentials, type TokenParameters } from './token-request.ts'

const grants: Readonly<Record<GrantType, Grant>> = {
  authorization_code: authorizationCode,
  refresh_token: refreshToken,
  client_credentials: clientCredentials,
}

export interface TokenEndpointDeps extends GrantDeps {
  readonly metrics: Pick<Metrics, 'tokensIssued'>
}

export class TokenEndpoint {
  readonly #deps: TokenEndpointDeps
  readonly #clients: Clients

  constructor(deps: TokenEndpointDeps, clients: Clients) {
    this.#deps = deps
    this.#clients = clients
  }

  /**
   * @param receivedAt Unix milliseconds.
   * @throws OAuthError; nothing is spent by a request that the store could not serve.
   */
  async issue(
    parameters: TokenParameters,
    authorization: string | undefined,
    receivedAt: number,
  ): Promise<IssuedGrant> {
    return withoutFaults(async () => {
      const name = parameters.get('grant_type')
      if (name === undefined) throw new OAuthError('invalid_request', 'grant_type is missing')
      if (!Object.hasOwn(grants, name)) {
        throw new OAuthError('unsupported_grant_type', `grant_type is one of ${Object.keys(grants).join(', ')}`)
      }
      const grantType = name as GrantType
      const client = await this.#authenticated(parameters, authorization)
      if (!mayUse(client, grantType) || (grantType === 'client_credentials' && !actsForItself(client))) {
        throw new OAuthError('unauthorized_client', 'The client did not register for this grant')
      }
      const granted = await grants[grantType](this.#deps, { client, parameters, receivedAt })
      this.#deps.metrics.tokensIssued('client', grantType)
      return granted
    })
  }

  /**
   * RFC 7009: the whole family of the token, whichever of both it is; a token that is not there, or another client's, is
   * nothing to tell about.
   */
  async revoke(parameters: TokenParameters, authorization: string | undefined): Promise<void> {
    await withoutFaults(async () => {
      const client = await this.#authenticated(parameters, authorization)
      const token = parameters.get('token')
      if (token === undefined) throw new OAuthError('invalid_request', 'token is missing')
      const { store, tokens } = this.#deps
      await store.write(async (tx) => {
        const chain = await tokens.chainOf(tx, token)
        if (chain?.client?.clientId === client.clientId)
          await tokens.endChain(tx, chain.actorId, chain.chainId, 'client')
      })
    })
  }

  async #authenticated(parameters: TokenParameters, authorization: string | undefined): Promise<Client> {
    const presented = readClientCredentials(parameters, authorization)
    return authenticate(await this.#find(presented.clientId), presented)
  }

  /** A document that cannot be used makes nobody a client. */
  async #find(clientId: string): Promise<Client | null> {
    try {
      return await this.#clients.find(clientId)
    } catch (error) {
      if (error instanceof OAuthError) return null
      throw error
    }
  }
}

/** A fault of the store is the server's, never the grant's: the client keeps what it has, and tries again. */
async function withoutFaults<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'actor_not_found') {
      throw new OAuthError('invalid_grant', 'The actor is gone')
    }
    throw error
  }
}
