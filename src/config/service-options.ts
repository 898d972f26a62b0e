/**
 * The settings of third-party services in the environment: `TROUPE_SERVICES` names those that code does not declare, and
 * each has its own variables. The list from which they are read and `docs/configuration.md` is written.
 */
import { type NamedOption, NamedVariables } from './named-variables.ts'

/** By their names in code. */
export const serviceOptions = {
  clientId: { suffix: 'CLIENT_ID', text: 'As the service gave it when the application was registered there.' },
  clientSecret: { suffix: 'CLIENT_SECRET', text: 'The secret that goes with it.', secret: true },
  scopes: { suffix: 'SCOPES', text: 'What is asked for, separated by blanks.' },
  authorizationUrl: { suffix: 'AUTHORIZATION_URL', text: 'Where the browser goes to allow the connection.' },
  tokenUrl: { suffix: 'TOKEN_URL', text: 'Where codes and refresh tokens are redeemed.' },
  revocationUrl: { suffix: 'REVOCATION_URL', text: 'Where a token is given back when the actor disconnects.' },
  apiUrls: {
    suffix: 'API_URLS',
    text: 'The addresses below which its tokens are sent, separated by blanks; the host of `TOKEN_URL` unless set.',
  },
} as const satisfies Record<string, NamedOption>

export type ServiceOptionName = keyof typeof serviceOptions
export type ServiceVariables = Partial<Record<ServiceOptionName, string>>

export const serviceVariables = new NamedVariables<ServiceOptionName>('SERVICE', 'dropbox', serviceOptions)
