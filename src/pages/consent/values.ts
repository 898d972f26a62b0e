/** Values of the page where an owner authorizes a client. Templates rely on these names (WIRE-PAGE-03). */
import type { RightsLine } from '../shared/rights.ts'
import type { SiteValues } from '../shared/values.ts'

export interface OfferedTrustType {
  readonly name: string
  readonly display_name: string
  readonly description: string
  /** The rights of the trust type, in words, without categories that grant nothing. */
  readonly rights: readonly RightsLine[]
}

export interface ConsentValues extends SiteValues {
  /** Form field `consent`: a value that is valid once, in this browser. */
  readonly consent: string
  readonly form_action: string
  readonly form_method: 'POST'
  readonly client_id: string
  /** The name that the client chose itself, which proves nothing. */
  readonly client_name: string
  /** Host of the client's metadata document, which vouches for the client; empty for a registered client. */
  readonly client_host: string
  /** Destination of the response: a host, or the scheme of an application. */
  readonly redirect_host: string
  /** True when the response goes to the person's own machine, where any program could receive it. */
  readonly is_local: boolean
  readonly trust_types: readonly OfferedTrustType[]
  readonly default_trust_type: string
  /** The code on the device that waits for the decision; null for a program that opened this page itself. */
  readonly user_code: string | null
  /** Creator of the signed-in account; null when the visitor is not signed in. */
  readonly signed_in_as: string | null
  readonly oauth_providers: readonly { readonly name: string; readonly display_name: string }[]
  readonly error: string | null
}

/** The page of a device that waits for the owner. */
export interface DeviceValues extends SiteValues {
  readonly action: string
  /** The typed code, or that of the link; empty otherwise. */
  readonly user_code: string
  readonly error: string | null
  /** The decision of the owner; null before. */
  readonly outcome: 'approved' | 'denied' | 'expired' | null
}
