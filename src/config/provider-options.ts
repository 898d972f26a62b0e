/**
 * Environment variables of identity providers. `TROUPE_PROVIDERS` lists their names, and each provider has its own variables.
 * This list also defines their part of `docs/configuration.md`.
 */
import { type NamedOption, NamedVariables } from './named-variables.ts'

/** The options by their names in code. */
export const providerOptions = {
  issuer: {
    suffix: 'ISSUER',
    text: 'Issuer of an OpenID provider. The service discovers the endpoints and keys there.',
  },
  clientId: { suffix: 'CLIENT_ID', text: 'Client id that the provider assigned to the application.' },
  clientSecret: {
    suffix: 'CLIENT_SECRET',
    text: 'Client secret. Not for Apple; optional when `AUDIENCES` is set.',
    secret: true,
  },
  scope: { suffix: 'SCOPE', text: 'Requested scopes, separated by spaces.' },
  responseMode: {
    suffix: 'RESPONSE_MODE',
    text: 'Response mode of an OpenID provider: `query` or `form_post`. Fixed for Google, GitHub and Apple.',
  },
  authUri: { suffix: 'AUTH_URI', text: 'Authorization endpoint, when the issuer does not publish it.' },
  tokenUri: { suffix: 'TOKEN_URI', text: 'Token endpoint, when the issuer does not publish it.' },
  userinfoUri: { suffix: 'USERINFO_URI', text: 'Userinfo endpoint, when the issuer does not publish it.' },
  jwksUri: { suffix: 'JWKS_URI', text: 'URL of the public keys (JWKS), when the issuer does not publish it.' },
  redirectUri: {
    suffix: 'REDIRECT_URI',
    text: 'Redirect URI, as registered with the provider. Default: `<BASE_URL>/oauth/callback`, or `<BASE_URL>/oauth/callback/<name>` for `form_post`.',
  },
  audiences: {
    suffix: 'AUDIENCES',
    text: 'Client ids of native applications whose id_tokens are accepted as a sign-in, separated by commas.',
  },
  deepLink: {
    suffix: 'DEEP_LINK',
    text: 'URL at which a mobile application receives its ticket, such as `myapp://signed-in`. The only setting of `PASSKEY`, `EMAIL`, `HOST` and `LOCAL`.',
  },
  displayName: { suffix: 'DISPLAY_NAME', text: 'Name of the provider on buttons.' },
  algorithm: { suffix: 'ALGORITHM', text: 'Signature algorithm of an OpenID provider’s id_tokens. Default: `RS256`.' },
  teamId: { suffix: 'TEAM_ID', text: 'Apple only: the team id.' },
  keyId: { suffix: 'KEY_ID', text: 'Apple only: the key id.' },
  privateKey: {
    suffix: 'PRIVATE_KEY',
    text: 'Apple only: the private key in PEM; `\\n` represents a line break.',
    secret: true,
  },
  privateKeyPath: { suffix: 'PRIVATE_KEY_PATH', text: 'Apple only: path of a file that contains the private key.' },
} as const satisfies Record<string, NamedOption>

export type ProviderOptionName = keyof typeof providerOptions

export const providerVariables = new NamedVariables<ProviderOptionName>(
  'PROVIDER',
  'google or acme-mobile',
  providerOptions,
)
