/** GitHub: OAuth without OpenID, id_token or refresh token. A separate request fetches the email addresses. */
import type { Address } from '../../actor/address.ts'
import { ProviderError } from '../provider.ts'
import { staticSecret } from './client-secret.ts'
import { addressOf, personFactsOf, textOf } from './person.ts'
import { commonPlan, type Evidence, type ProviderIdentity, type ProviderPlan } from './provider-config.ts'
import type { ProviderDeclaration, ProviderSettings, Settings } from './settings.ts'

/**
 * Sign-in with GitHub, or with GitHub Enterprise if `authUri`, `tokenUri` and `userinfoUri` are set.
 *
 * @example github({ clientId: 'Iv1.…', clientSecret: '…' })
 * @public
 */
export function github(settings: ProviderSettings = {}): ProviderDeclaration {
  return { type: 'github', name: settings.name ?? 'github', settings }
}

export function githubPlan(settings: Settings): ProviderPlan {
  return {
    ...commonPlan(settings, { displayName: 'GitHub', scope: 'user:email' }),
    clientSecret: staticSecret(settings.required('clientSecret')),
    takesLoginHint: false,
    metadata: {
      endpoints: {
        authorization: settings.address('authUri') ?? 'https://github.com/login/oauth/authorize',
        token: settings.address('tokenUri') ?? 'https://github.com/login/oauth/access_token',
        userinfo: settings.address('userinfoUri') ?? 'https://api.github.com/user',
      },
      issuers: [],
      announcesIssuer: false,
      keySet: null,
      clientAuthentication: null,
    },
    identify,
  }
}

/** Identifies the person by the numeric id. A login may pass to another person, and may consist of digits. */
async function identify(evidence: Evidence): Promise<ProviderIdentity> {
  const facts = personFactsOf(await evidence.ask(evidence.userinfoEndpoint))
  const { id } = facts
  const subject = typeof id === 'number' && Number.isSafeInteger(id) && id > 0 ? String(id) : null
  const address = await verifiedAddress(evidence)
  const isAddress = address !== null && address !== 'failed'
  return {
    facts: isAddress && textOf(facts['email']) === undefined ? { ...facts, email: address } : facts,
    subject,
    address,
  }
}

/** Returns the verified address. The address in the profile may be unverified; only the list of addresses has the status. */
async function verifiedAddress({ ask, userinfoEndpoint }: Evidence): Promise<Address | null | 'failed'> {
  let list: unknown
  try {
    list = await ask(`${userinfoEndpoint}/emails?per_page=100`)
  } catch (error) {
    // For example, the token may lack the scope `user:email`.
    if (error instanceof ProviderError) return 'failed'
    throw error
  }
  if (!Array.isArray(list)) return 'failed'
  const verified = list.map(personFactsOf).filter(({ email, verified: is }) => is === true && addressOf(email) !== null)
  return addressOf((verified.find(({ primary }) => primary === true) ?? verified[0])?.['email'])
}
