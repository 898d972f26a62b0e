/**
 * The embedding program as an identity provider: a sign-in goes to `/oauth/host`, where the session of the program identifies
 * the person. Each kind of sign-in therefore keeps its state, its limits and its consent.
 */
import { type Address, parseAddress } from '../../actor/address.ts'
import type { HostUser } from '../../app/embedding/authenticate.ts'
import { hostProviderName } from '../own/own-plans.ts'
import { OwnProvider, type OwnProviderDeps } from '../own/own-provider.ts'
import type { Person } from '../provider.ts'
import { SignInRefusal } from '../refusal.ts'

/** The path that asks the embedding program, below the service's prefix. */
const hostPath = '/oauth/host'

export interface HostProviderDeps extends OwnProviderDeps {
  /** Shown on the sign-in page. */
  readonly displayName: string
  /** The sign-in page of the embedding program, with `{return}`. Null: none. */
  readonly signInUrl: string | null
}

export class HostProvider extends OwnProvider<HostUser> {
  readonly #deps: HostProviderDeps

  constructor(deps: HostProviderDeps) {
    super({ name: hostProviderName, displayName: deps.displayName, path: hostPath }, deps)
    this.#deps = deps
  }

  /** The content security policy of forms allows the origin to which the sign-in leads. */
  override get authorizationEndpoint(): string {
    return this.signInPage(this.#deps.baseUrl) ?? super.authorizationEndpoint
  }

  /**
   * Returns the sign-in page of the embedding program, which sends the browser back. The return says that the user was there,
   * so that a program that still knows no user does not send the browser around forever. Null: the program has no page.
   */
  signInPageFor(query: { readonly state: string; readonly code_challenge: string }): string | null {
    return this.signInPage(this.pageWith({ ...query, returned: '1' }))
  }

  signInPage(back: string): string | null {
    const { signInUrl, baseUrl } = this.#deps
    return signInUrl === null
      ? null
      : new URL(signInUrl.replaceAll('{return}', encodeURIComponent(back)), `${baseUrl}/`).href
  }

  protected override personOf(user: HostUser): Person {
    const address = verifiedAddress(user)
    return { stableId: `${hostProviderName}:${address}`, userInfo: { email: address }, tokens: null, address }
  }
}

/** @throws SignInRefusal for an address that is not verified or not valid. */
function verifiedAddress({ email, verified }: HostUser): Address {
  if (!verified) throw new SignInRefusal('address_unverified')
  const address = parseAddress(email)
  if (address === null) throw new SignInRefusal('address_invalid')
  return address
}
