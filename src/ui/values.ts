/** What the pages are made from, and what they are. */
import type { HtmlEscapedString } from 'hono/utils/html'

/** Text that is safe as HTML: made by `html`, which escapes what is put into it. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>

export interface SignInProvider {
  readonly name: string
  readonly display_name: string
  readonly url: string
}

/** Values of the factory template (actor-service, "Factory and actor root"). */
export interface FactoryValues {
  readonly oauth_urls: Readonly<Record<string, string>>
  readonly oauth_providers: readonly SignInProvider[]
  readonly oauth_enabled: boolean
  /** The path prefix of the service, empty without one; links begin with it. */
  readonly base_path: string
  readonly name: string
  readonly description: string
  /** What went wrong with the form that was sent. */
  readonly error: string | null
  /** What was typed into the form that was refused; empty otherwise. */
  readonly creator: string
}

export interface CreatedValues {
  readonly base_path: string
  readonly name: string
  readonly id: string
  readonly url: string
  readonly creator: string
  readonly passphrase: string
}
