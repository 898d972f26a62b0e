/** Third-party services: how an application declares one, and what its handlers send there. */

/** A service at which actors may have an account, as an application declares it. The environment wins over it. */
export interface ServiceDeclaration {
  /** Where the browser goes to allow the connection. */
  readonly authorizationUrl?: string
  /** Where codes and refresh tokens are redeemed. */
  readonly tokenUrl?: string
  readonly clientId?: string
  readonly clientSecret?: string
  readonly scopes?: readonly string[]
  /** Where a token is given back when the actor disconnects (RFC 7009). */
  readonly revocationUrl?: string
  /** The addresses below which its tokens are sent; the host of `tokenUrl` unless given. */
  readonly apiUrls?: readonly string[]
  /** How the client proves itself at the token endpoint: in the body unless `basic` is given. */
  readonly clientAuthentication?: 'body' | 'basic'
  /** Further members of the authorization address, such as `{ token_access_type: 'offline' }`. */
  readonly authorizationParameters?: Readonly<Record<string, string>>
  /**
   * `shared`: the browser comes back to `/services/<service>/callback`, one address for all actors, for services where
   * every address has to be registered. `actor` unless given: `/<actor>/services/<service>/callback`.
   */
  readonly callback?: 'actor' | 'shared'
}

/** As `fetch` takes it; the answer is read as a whole, as text. */
export interface ServiceRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}
