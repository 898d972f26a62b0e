/**
 * The settings of identity providers in the environment: `TROUPE_PROVIDERS` names them, and each has its own variables.
 * The list from which they are read and `docs/configuration.md` is written.
 */
import { type NamedOption, NamedVariables } from './named-variables.ts'

/** By their names in code. */
export const providerOptions = {
  issuer: { suffix: 'ISSUER', text: 'The issuer of an OpenID provider, where its addresses and keys are found.' },
  clientId: { suffix: 'CLIENT_ID', text: 'As the provider gave it when the application was registered there.' },
  clientSecret: {
    suffix: 'CLIENT_SECRET',
    text: 'The secret that goes with it. Not for Apple; not needed where `AUDIENCES` is set.',
    secret: true,
  },
  scope: { suffix: 'SCOPE', text: 'What is asked for, separated by blanks.' },
  responseMode: {
    suffix: 'RESPONSE_MODE',
    text: '`query` or `form_post`: how an OpenID provider answers. Google, GitHub and Apple have theirs.',
  },
  authUri: { suffix: 'AUTH_URI', text: 'Where the browser goes to sign in, when that is not found at the issuer.' },
  tokenUri: { suffix: 'TOKEN_URI', text: 'Where the code is redeemed, when that is not found at the issuer.' },
  userinfoUri: { suffix: 'USERINFO_URI', text: 'Where it says who somebody is, when that is not found at the issuer.' },
  jwksUri: { suffix: 'JWKS_URI', text: 'Where its public keys are, when that is not found at the issuer.' },
  redirectUri: {
    suffix: 'REDIRECT_URI',
    text: 'Where it sends the browser back to, as registered there; `<BASE_URL>/oauth/callback` unless set, and `<BASE_URL>/oauth/callback/<name>` for `form_post`.',
  },
  audiences: {
    suffix: 'AUDIENCES',
    text: 'Client ids of native applications whose id_tokens count as a sign-in, separated by commas.',
  },
  deepLink: { suffix: 'DEEP_LINK', text: 'Where a mobile application gets its ticket, such as `myapp://signed-in`.' },
  displayName: { suffix: 'DISPLAY_NAME', text: 'Its name on buttons.' },
  algorithm: { suffix: 'ALGORITHM', text: 'The signature of an OpenID provider’s id_tokens; `RS256` unless set.' },
  teamId: { suffix: 'TEAM_ID', text: 'Apple only: the team.' },
  keyId: { suffix: 'KEY_ID', text: 'Apple only: the id of the key.' },
  privateKey: {
    suffix: 'PRIVATE_KEY',
    text: 'Apple only: the key in PEM; `\\n` stands for the end of a line.',
    secret: true,
  },
  privateKeyPath: { suffix: 'PRIVATE_KEY_PATH', text: 'Apple only: a file that holds the key.' },
} as const satisfies Record<string, NamedOption>

export type ProviderOptionName = keyof typeof providerOptions

export const providerVariables = new NamedVariables<ProviderOptionName>(
  'PROVIDER',
  'google or acme-mobile',
  providerOptions,
)
