/** Types for the used part of oidc-provider, which ships none. Imported by path: its index writes warnings to stderr. */
declare module 'oidc-provider/lib/provider.js' {
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

  interface Grant {
    addOIDCScope(scope: string): void
    save(): Promise<string>
  }

  interface OidcContext {
    type: string
    status: number
    body: string
    readonly oidc: {
      readonly provider: Provider
      readonly client: { readonly clientId: string }
      readonly session: { readonly accountId: string; grantIdFor(clientId: string): string | undefined }
    }
  }

  export interface Interaction {
    readonly uid: string
    readonly prompt: { readonly name: string }
    readonly params: Readonly<Record<string, unknown>>
  }

  export type InteractionResult =
    | { readonly login: { readonly accountId: string; readonly remember?: boolean } }
    | { readonly error: string; readonly error_description?: string }

  export class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>)
    readonly Client: { readonly prototype: { redirectUriAllowed(uri: string): boolean } }
    readonly Grant: {
      new (of: { readonly accountId: string; readonly clientId: string }): Grant
      find(id: string): Promise<Grant | undefined>
    }
    callback(): RequestListener
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Interaction>
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: InteractionResult): Promise<void>
    on(event: 'server_error', listener: (context: OidcContext, error: Error) => void): this
  }
}

declare module 'oidc-provider/lib/adapters/memory_adapter.js' {
  /** Creates a separate in-memory store. */
  export function createMemoryAdapter(): unknown
}
