/** Values of the page where an owner lets a client in; the names are those that templates know (WIRE-PAGE-03). */
import type { RightsLine } from '../shared/rights.ts'
import type { SiteValues } from '../shared/values.ts'

export interface OfferedTrustType {
  readonly name: string
  readonly display_name: string
  readonly description: string
  /** What it lets the client do, in words; what it does not open at all is left out. */
  readonly rights: readonly RightsLine[]
}

export interface ConsentValues extends SiteValues {
  /** Goes into the form, as `consent`: good once, in this browser. */
  readonly consent: string
  readonly form_action: string
  readonly form_method: 'POST'
  readonly client_id: string
  /** As the client calls itself, which proves nothing. */
  readonly client_name: string
  /** The host that vouches for the client, for one that is known by its address; empty otherwise. */
  readonly client_host: string
  /** Where the answer goes: a host, or the scheme of an application. */
  readonly redirect_host: string
  /** The answer stays on the person's own machine, where any program may wait for it. */
  readonly is_local: boolean
  readonly trust_types: readonly OfferedTrustType[]
  readonly default_trust_type: string
  /** Who is signed in already; null for nobody. */
  readonly signed_in_as: string | null
  readonly oauth_providers: readonly { readonly name: string; readonly display_name: string }[]
  readonly error: string | null
}
