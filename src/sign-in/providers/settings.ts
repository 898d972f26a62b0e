/** Provider settings, from the application or its operator. */

/**
 * Settings that every kind of provider accepts. Environment variables such as `TROUPE_PROVIDER_GOOGLE_CLIENT_SECRET` take
 * precedence. URLs default to those of the kind.
 */
export interface ProviderSettings {
  /**
   * Name of the provider in URLs, stored fields and stable ids. Default: the name of the kind. A separate client for one
   * platform is named `google-mobile` or `google-native` and identifies the same people as `google`.
   */
  readonly name?: string
  /** Client id that the provider assigned to the application. */
  readonly clientId?: string
  readonly clientSecret?: string
  /** Scopes, separated by spaces. */
  readonly scope?: string
  /** Callback URL, as registered with the provider. Default: the service's callback. */
  readonly redirectUri?: string
  readonly authUri?: string
  readonly tokenUri?: string
  readonly userinfoUri?: string
  /** URL of the provider's public keys. */
  readonly jwksUri?: string
  /** Client ids of native applications whose id_tokens may sign in. Default: none. */
  readonly audiences?: readonly string[]
  /** URL of the mobile application that receives the ticket, such as `myapp://signed-in`. */
  readonly deepLink?: string
  /** Name on sign-in buttons. */
  readonly displayName?: string
  /** Further parameters of the authorization request, such as `{ prompt: 'select_account' }`. Only in code. */
  readonly authorizationParameters?: Readonly<Record<string, string>>
}

export interface AppleSettings extends ProviderSettings {
  /** Team ID: ten characters, from Apple's membership page. */
  readonly teamId?: string
  /** Key ID of the private key: ten characters. */
  readonly keyId?: string
  /** Downloaded private key in PEM, which signs the client secret. */
  readonly privateKey?: string
  /** Path of a file that contains the private key. */
  readonly privateKeyPath?: string
}

export interface OpenIdSettings extends ProviderSettings {
  readonly name: string
  /** Issuer URL for discovery. Without an issuer (plain OAuth), set `authUri`, `tokenUri` and `userinfoUri`. */
  readonly issuer?: string
  /** How the provider returns the response. Default: `query`. */
  readonly responseMode?: 'query' | 'form_post'
  /** Signature algorithm of id_tokens, such as `ES256`. Default: every asymmetric algorithm that fits a key of the provider. */
  readonly algorithm?: string
}

/** Settings of passkeys and email links. */
export type OwnSettings = Pick<ProviderSettings, 'deepLink'>

/** Returns the settings that passkeys and email links have, without all others. */
export function ownSettings({ deepLink }: OwnSettings): OwnSettings {
  return deepLink === undefined ? {} : { deepLink }
}

/** All settings of all kinds, before validation. */
export type AnySettings = Partial<AppleSettings & OpenIdSettings>

export type ProviderType = 'google' | 'github' | 'apple' | 'openid' | 'passkey' | 'email'

/**
 * Declaration of a provider, created by `google`, `github`, `apple`, `openid`, `passkey` or `emailLink` for `troupe({ signIn: […] })`.
 *
 * @public
 */
export interface ProviderDeclaration {
  readonly type: ProviderType
  readonly name: string
  readonly settings: AnySettings
}

/** Validated settings. */
export interface Settings {
  readonly name: string
  text(setting: TextSetting): string | undefined
  /** A missing setting is a problem of the provider, so its plan is not used. */
  required(setting: TextSetting): string
  /** Returns an absolute URL, which must use https unless the operator allows http. Another value is a problem of the provider. */
  address(setting: TextSetting): string | undefined
  readonly audiences: readonly string[]
  readonly authorizationParameters: Readonly<Record<string, string>>
  /** @throws ConfigError that names the setting. */
  refuse(setting: keyof AnySettings, complaint: string): never
}

export type TextSetting = Exclude<keyof AnySettings, 'audiences' | 'authorizationParameters' | 'name'>
