/**
 * Values of the pages. Templates rely on these names (R-WEB-02), so that an application-defined page gets the same values
 * as a function or as a template.
 */
import type { HtmlEscapedString } from 'hono/utils/html'

/** Safe HTML, created by `html`, which escapes interpolated values. @public */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>

/** A page: a function from plain data to safe HTML. */
export type View<Values> = (values: Values) => Html

/** Values of every page. @experimental */
export interface SiteValues {
  /** Path prefix of the service; empty without one. Links begin with it. */
  readonly base_path: string
  /** Name of the application. */
  readonly name: string
  /** BCP 47 tag of the page's language, such as `de`. */
  readonly language: string
  readonly direction: 'ltr' | 'rtl'
  /** Theme that the person chose for this browser; null for that of the browser. */
  readonly theme: 'light' | 'dark' | null
  /** Path of the logo below `base_path`. */
  readonly logo: string
  /** Path below `base_path` of the sheet with the accent color of the application; null without one. */
  readonly accent_sheet: string | null
}

export interface LinkedText {
  readonly text: string
  readonly href: string
}

export interface SignInProvider {
  readonly name: string
  readonly display_name: string
  readonly url: string
}

/** Values of the factory template (R-ACT-01). */
export interface FactoryValues extends SiteValues {
  readonly oauth_urls: Readonly<Record<string, string>>
  readonly oauth_providers: readonly SignInProvider[]
  readonly oauth_enabled: boolean
  readonly description: string
  /** Error of the submitted form. */
  readonly error: string | null
  /** Input of the refused form; empty otherwise. */
  readonly creator: string
  /** Why the visitor is here: signed out, expired, account deleted, or redirected from another account's page. */
  readonly notice: string | null
  /** False when only a sign-in and the application create actors. */
  readonly is_creation_open: boolean
  /** True when the sign-in continues to a requested page. */
  readonly is_continuing: boolean
  /** Creator of the account that the visitor is signed in to; `continue_url` leads there. */
  readonly signed_in_as: string | null
  readonly continue_url: string | null
  /** Page that the passphrase opens; set when the account is known and no provider is configured. */
  readonly password_url: string | null
}

export interface CreatedValues extends SiteValues {
  readonly id: string
  readonly url: string
  readonly creator: string
  readonly passphrase: string
}

/** Values of the error page. */
export interface FailedValues extends SiteValues {
  /** The error, in a sentence. */
  readonly error: string
  readonly status_code: number
  /** Request id, for questions to the operator. */
  readonly request_id: string
  /** Link to the pages of the requested actor, else to the front page. */
  readonly back: string
  readonly is_actor_page: boolean
}

/** Values of the page that confirms a sign-out requested by another site. */
export interface SignOutValues extends SiteValues {
  /** Form field `csrf_token`. */
  readonly csrf_token: string
}

/** The numbers of waiting decisions and failing subscriptions. Calls and subscriptions are counted up to 100. */
export interface NavigationCounts {
  /** Number of relationships that wait for owner approval. */
  readonly waiting_count: number
  /** Number of calls that wait for owner approval. */
  readonly approval_count: number
  /** 1 when the owner must decide about programs with a password, else 0: one page lists all of them. */
  readonly password_count: number
  /** Number of subscriptions with a failed change, or of a peer that cannot be reached. */
  readonly failing_count: number
}

/** Values of every page below `/<actor>/www` (R-WEB-02). @experimental */
export interface ActorPageValues extends SiteValues, NavigationCounts {
  readonly id: string
  readonly creator: string
  /** URL of this page. */
  readonly url: string
  /** Path of the actor with the prefix: `/<prefix>/<actor>`. Links to the API begin with it. */
  readonly actor_root: string
  /** Path of the actor's pages: `/<prefix>/<actor>/www`. */
  readonly actor_www: string
  /** Address of a sign-in that leads back to this page, for forms that need a fresh one. Null while the last one is fresh. */
  readonly fresh_href: string | null
  /** Form field `csrf_token` of every form. */
  readonly csrf_token: string
  /** False when Basic credentials opened the page, because browsers keep these until they are closed. */
  readonly can_sign_out: boolean
  /** Id of the sign-in, which the windows of a browser have in common; null if the passphrase opened the page. */
  readonly session: string | null
  /** Flash message about the last form, shown once. */
  readonly notice: string | null
  /** The request whose changes the notice offers to take back; null without an offer. */
  readonly notice_undo: string | null
  /** Error of the refused form; null otherwise. */
  readonly error: string | null
  /** Name of the field that caused the error; null when no single field did. */
  readonly error_field: string | null
}
