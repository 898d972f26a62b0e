/**
 * What the pages are made from, and what they are. The names are those that templates know (R-WEB-02), so
 * that a page of the application's own gets the same values whether it is a function or a template.
 */
import type { HtmlEscapedString } from 'hono/utils/html'

/** Text that is safe as HTML: made by `html`, which escapes what is put into it. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>

/** A page: a function from plain data to safe HTML. */
export type View<Values> = (values: Values) => Html

/** What every page gets. */
export interface SiteValues {
  /** The path prefix of the service, empty without one; links begin with it. */
  readonly base_path: string
  /** Of the application. */
  readonly name: string
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
  /** What went wrong with the form that was sent. */
  readonly error: string | null
  /** What was typed into the form that was refused; empty otherwise. */
  readonly creator: string
  /** What happened before the visitor came here: signed out, expired, account deleted, another account's page. */
  readonly notice: string | null
  /** A page of the service was asked for, and follows the sign-in. */
  readonly is_continuing: boolean
  /** The creator of the account that the visitor is signed in to, and where they continue as that one. */
  readonly signed_in_as: string | null
  readonly continue_url: string | null
  /** A page that the passphrase opens, where there is no sign-in provider and the account is known. */
  readonly password_url: string | null
}

export interface CreatedValues extends SiteValues {
  readonly id: string
  readonly url: string
  readonly creator: string
  readonly passphrase: string
}

/** An error, where a page was asked for. */
export interface FailedValues extends SiteValues {
  /** What could not be done, in a sentence. */
  readonly error: string
  readonly status_code: number
  /** For whoever asks the operator about it. */
  readonly request_id: string
  /** A way on: the pages of the actor where one of them was asked for, else the front page. */
  readonly back: string
  readonly is_actor_page: boolean
}

/** Before a sign-out that another site asks for. */
export interface SignOutValues extends SiteValues {
  /** Belongs into the form, as `csrf_token`. */
  readonly csrf_token: string
}

/** What every page below `/<actor>/www` gets (R-WEB-02). */
export interface ActorPageValues extends SiteValues {
  readonly id: string
  readonly creator: string
  /** The address of this page. */
  readonly url: string
  /** Path of the actor, the prefix included: `/<prefix>/<actor>`. Links to the API begin with it. */
  readonly actor_root: string
  /** Path of its pages: `/<prefix>/<actor>/www`. */
  readonly actor_www: string
  /** Goes into every form as the field `csrf_token`. */
  readonly csrf_token: string
  /** False where the creator's Basic credentials opened the page: browsers keep these until they are closed. */
  readonly can_sign_out: boolean
  /** What was just done, in a sentence: shown once, after a form. */
  readonly notice: string | null
  /** Why the form that was sent was refused; null otherwise. */
  readonly error: string | null
  /** Name of the form field that was refused; null where the error belongs to no single field. */
  readonly error_field: string | null
}

export interface DashboardValues extends ActorPageValues {
  readonly passphrase: string
  /** How many simple properties, and how many lists. */
  readonly property_count: number
  readonly list_count: number
  readonly relationship_count: number
  /** Relationships that wait for the owner's approval. */
  readonly waiting_count: number
  /** Calls of AI clients that wait for the owner's yes. */
  readonly approval_count: number
  /** 1 when the owner has to decide about programs with a password, else 0: one page lists them all. */
  readonly password_count: number
  /** Programs that act for the owner; relationships too. */
  readonly app_count: number
  /** What was typed into the form that deletes the actor and was refused; empty otherwise. */
  readonly typed_confirmation: string
  /** What waits, the first of it, each with the page where it is decided. */
  readonly waiting: readonly { readonly text: string; readonly href: string }[]
}
