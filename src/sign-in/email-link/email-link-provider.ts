/** Email links as an identity provider of the service itself: a sign-in goes to the page `/oauth/email-link`. */
import { parseAddress } from '../../actor/address.ts'
import { emailLinkPlan } from '../own/own-plans.ts'
import { OwnProvider, type OwnProviderDeps } from '../own/own-provider.ts'
import type { Person } from '../provider.ts'
import { emailLinkName } from './names.ts'

/** The path of the page, below the service's prefix. */
const path = '/oauth/email-link'

/** The address that the person proved. */
export interface AddressProof {
  readonly address: string
}

export class EmailLinkProvider extends OwnProvider<AddressProof> {
  constructor(deps: OwnProviderDeps) {
    super({ ...emailLinkPlan, path }, deps)
  }

  protected override personOf({ address }: AddressProof): Person {
    return {
      stableId: `${emailLinkName}:${address}`,
      userInfo: { sub: address, email: address },
      tokens: null,
      address: parseAddress(address),
    }
  }
}
