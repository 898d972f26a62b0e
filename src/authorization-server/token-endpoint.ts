/** The token endpoint and the revocation endpoint. Both authenticate the client before they use a code or token. */
import { ServiceError } from '../errors.ts'
import type { Metrics } from '../observe/metrics.ts'
import { requestedReach } from './authorization-request.ts'
import { actsForItself, type Client, deviceGrantType, type GrantType } from './client.ts'
import type { ClientAssertions } from './client-assertion.ts'
import type { DeviceCodes } from './device/device-codes.ts'
import { authenticate, type Clients, mayUse } from './clients.ts'
import { authorizationCode } from './grants/authorization-code.ts'
import { clientCredentials } from './grants/client-credentials.ts'
import { deviceCode } from './grants/device-code.ts'
import type { Grant, IssuedGrant, GrantDeps } from './grants/grant.ts'
import { refreshToken } from './grants/refresh-token.ts'
import { OAuthError } from './oauth-error.ts'
import { readClientCredentials, type TokenParameters } from './token-request.ts'
import type { WaitingDevice } from './device/waiting-device.ts'

const grants: Readonly<Record<GrantType, Grant>> = {
  authorization_code: authorizationCode,
  refresh_token: refreshToken,
  client_credentials: clientCredentials,
  [deviceGrantType]: deviceCode,
}

export interface TokenEndpointDeps extends GrantDeps {
  readonly metrics: Pick<Metrics, 'tokensIssued'>
  readonly devices: DeviceCodes
  readonly assertions: ClientAssertions
}

export class TokenEndpoint {
  readonly #deps: TokenEndpointDeps
  readonly #clients: Clients

  constructor(deps: TokenEndpointDeps, clients: Clients) {
    this.#deps = deps
    this.#clients = clients
  }

  /**
   * Issues tokens for a grant.
   *
   * @param receivedAt Unix milliseconds.
   * @throws OAuthError. A request that fails in the store consumes no code or token.
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
        throw new OAuthError('unsupported_grant_type', `grant_type must be one of ${Object.keys(grants).join(', ')}`)
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

  /** Begins the authorization of a device (RFC 8628 section 3.1). @throws OAuthError */
  async authorizeDevice(parameters: TokenParameters, authorization: string | undefined): Promise<WaitingDevice> {
    const client = await this.#authenticated(parameters, authorization)
    if (!mayUse(client, deviceGrantType))
      throw new OAuthError('unauthorized_client', 'The client did not register for this grant')
    const reach = requestedReach(parameters.get, this.#deps)
    if (reach instanceof OAuthError) throw reach
    return this.#deps.devices.begin(client.clientId, reach)
  }

  /**
   * Revokes the chain of an access or refresh token (RFC 7009). Succeeds without effect for an unknown token, or one of
   * another client.
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
    return authenticate(await this.#find(presented.clientId), presented, this.#deps.assertions)
  }

  /** Finds a client. An invalid metadata document counts as an unknown client. */
  async #find(clientId: string): Promise<Client | null> {
    try {
      return await this.#clients.find(clientId)
    } catch (error) {
      if (error instanceof OAuthError) return null
      throw error
    }
  }
}

/** Maps a deleted actor to `invalid_grant`. Other errors pass through, so that clients keep their tokens and retry. */
async function withoutFaults<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'actor_not_found') {
      throw new OAuthError('invalid_grant', 'The actor no longer exists')
    }
    throw error
  }
}
