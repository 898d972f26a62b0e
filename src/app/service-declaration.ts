/** Types for third-party services: their declaration, and the requests that handlers send to them. */

/**
 * A third-party service at which owners can connect an account. Environment variables override the declaration.
 *
 * @experimental
 */
export interface ServiceDeclaration {
  /** URL of the page where the owner authorizes the connection. */
  readonly authorizationUrl?: string
  /** URL that exchanges codes and refresh tokens for access tokens. */
  readonly tokenUrl?: string
  readonly clientId?: string
  readonly clientSecret?: string
  readonly scopes?: readonly string[]
  /** URL that revokes a token when the actor disconnects (RFC 7009). */
  readonly revocationUrl?: string
  /** URL prefixes to which tokens may be sent. Default: the host of `tokenUrl`. */
  readonly apiUrls?: readonly string[]
  /** Client authentication at the token endpoint. Default: `body`. */
  readonly clientAuthentication?: 'body' | 'basic'
  /** Further parameters of the authorization URL, such as `{ token_access_type: 'offline' }`. */
  readonly authorizationParameters?: Readonly<Record<string, string>>
  /**
   * The redirect URI. Default: `actor`, which is `/<actor>/services/<service>/callback`. `shared` is
   * `/services/<service>/callback` for all actors, for services that require each redirect URI to be registered.
   */
  readonly callback?: 'actor' | 'shared'
}

/** A request in the form of `fetch`. */
export interface ServiceRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}
