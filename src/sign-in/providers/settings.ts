/** What an application, or its operator, says about a provider. */

/**
 * What every kind of provider takes. A setting that is left out here may come from the environment, as
 * `TROUPE_PROVIDER_GOOGLE_CLIENT_SECRET`; there it wins. Addresses that are left out are those of the kind.
 */
export interface ProviderSettings {
  /**
   * How the service calls it: in addresses, in stored fields and in stable ids. The kind's name unless given. An own
   * client for one platform is called `google-mobile` or `google-native`: what it says about people counts as Google's.
   */
  readonly name?: string
  /** As the provider gave it when the application was registered there. */
  readonly clientId?: string
  readonly clientSecret?: string
  /** Separated by blanks. */
  readonly scope?: string
  /** Where the provider sends the browser back to, as registered there; the service's own callback unless given. */
  readonly redirectUri?: string
  readonly authUri?: string
  readonly tokenUri?: string
  readonly userinfoUri?: string
  /** Where its public keys are. */
  readonly jwksUri?: string
  /** Clients whose id_tokens count as a sign-in (native applications). None are taken unless given. */
  readonly audiences?: readonly string[]
  /** Where a mobile application gets its ticket, such as `myapp://signed-in`. */
  readonly deepLink?: string
  /** On buttons. */
  readonly displayName?: string
  /** Further members of the address to which the browser goes, such as `{ prompt: 'select_account' }`. Only in code. */
  readonly authorizationParameters?: Readonly<Record<string, string>>
}

export interface AppleSettings extends ProviderSettings {
  /** Ten characters, from the membership page. */
  readonly teamId?: string
  /** Ten characters, of the key below. */
  readonly keyId?: string
  /** The key that was downloaded, in PEM: the client's secret is signed with it. */
  readonly privateKey?: string
  /** A file that holds it. */
  readonly privateKeyPath?: string
}

export interface OpenIdSettings extends ProviderSettings {
  readonly name: string
  /** Everything else is found there. Without it, `authUri`, `tokenUri` and `userinfoUri` say where to ask (plain OAuth). */
  readonly issuer?: string
  /** `query` unless given. */
  readonly responseMode?: 'query' | 'form_post'
  /** Of the signature of id_tokens, such as `ES256`; `RS256` unless given. */
  readonly algorithm?: string
}

/** Everything that any kind takes, not checked yet. */
export type AnySettings = Partial<AppleSettings & OpenIdSettings>

export type ProviderType = 'google' | 'github' | 'apple' | 'openid'

/** A provider as declared: made by `google`, `github`, `apple` and `openid`, and handed to `troupe({ signIn: […] })`. */
export interface ProviderDeclaration {
  readonly type: ProviderType
  readonly name: string
  readonly settings: AnySettings
}

/** Checked settings: everything is a text that can be used. */
export interface Settings {
  readonly name: string
  text(setting: TextSetting): string | undefined
  /** Stops the start when it is missing. */
  required(setting: TextSetting): string
  /** Likewise an absolute address, over TLS unless the operator allows otherwise. */
  address(setting: TextSetting): string | undefined
  readonly audiences: readonly string[]
  readonly authorizationParameters: Readonly<Record<string, string>>
  /** @throws ConfigError that names the setting. */
  refuse(setting: keyof AnySettings, complaint: string): never
}

export type TextSetting = Exclude<keyof AnySettings, 'audiences' | 'authorizationParameters' | 'name'>
