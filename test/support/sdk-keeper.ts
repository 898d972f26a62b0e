/** Keeps what the official SDKs hand to their program during an authorization. */
import type * as modernSdk from '@modelcontextprotocol/client'
import { redirectUri } from './oauth-client.ts'
import type { TestService } from './service.ts'

/** Stores what an SDK expects its caller to store, and opens the owner's browser. */
export class Keeper implements modernSdk.OAuthClientProvider {
  readonly service: TestService
  readonly open: (path: string) => Promise<URL>
  readonly redirectUrl = redirectUri
  readonly clientMetadata = {
    client_name: 'An official client',
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  }
  back: URL | undefined
  saved: modernSdk.StoredOAuthTokens | undefined
  #client: modernSdk.StoredOAuthClientInformation | undefined
  #verifier = ''

  constructor(service: TestService, open: (path: string) => Promise<URL>) {
    this.service = service
    this.open = open
  }

  state(): string {
    return 'official-state'
  }

  clientInformation() {
    return this.#client
  }

  saveClientInformation(client: modernSdk.StoredOAuthClientInformation): void {
    this.#client = client
  }

  tokens() {
    return this.saved
  }

  saveTokens(tokens: modernSdk.StoredOAuthTokens): void {
    this.saved = tokens
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    this.back = await this.open(url.href.slice(this.service.url.length))
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier
  }

  codeVerifier(): string {
    return this.#verifier
  }
}
