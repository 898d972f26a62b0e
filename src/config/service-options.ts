/**
 * Environment variables of third-party services. `TROUPE_SERVICES` lists services that code does not declare, and each
 * service has its own variables. This list also defines their part of `docs/configuration.md`.
 */
import { type NamedOption, NamedVariables } from './named-variables.ts'

/** The options by their names in code. */
export const serviceOptions = {
  clientId: { suffix: 'CLIENT_ID', text: 'Client id that the service assigned to the application.' },
  clientSecret: { suffix: 'CLIENT_SECRET', text: 'Client secret.', secret: true },
  scopes: { suffix: 'SCOPES', text: 'Requested scopes, separated by spaces.' },
  authorizationUrl: { suffix: 'AUTHORIZATION_URL', text: 'URL of the page where the owner authorizes the connection.' },
  tokenUrl: { suffix: 'TOKEN_URL', text: 'URL that exchanges codes and refresh tokens for access tokens.' },
  revocationUrl: { suffix: 'REVOCATION_URL', text: 'URL that revokes a token when the actor disconnects.' },
  apiUrls: {
    suffix: 'API_URLS',
    text: 'URL prefixes to which tokens may be sent, separated by spaces. Default: the host of `TOKEN_URL`.',
  },
} as const satisfies Record<string, NamedOption>

export type ServiceOptionName = keyof typeof serviceOptions
export type ServiceVariables = Partial<Record<ServiceOptionName, string>>

export const serviceVariables = new NamedVariables<ServiceOptionName>('SERVICE', 'dropbox', serviceOptions)
