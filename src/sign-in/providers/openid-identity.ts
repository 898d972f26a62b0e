/** Who somebody is, by id_token and userinfo (OpenID Connect Core section 5.3). */
import { ProviderError } from '../provider.ts'
import { type Facts, aboutThePerson, personFactsOf, merged, textOf, vouchedAddress } from './person.ts'
import type { Evidence, ProviderIdentity } from './provider-config.ts'

/**
 * The id_token proves the person; userinfo adds to it. When userinfo fails, the proven claims are used, but then nobody
 * knows about an address that they do not vouch for.
 */
export async function identifyByOpenId(evidence: Evidence): Promise<ProviderIdentity> {
  const claims = evidence.claims === null ? null : aboutThePerson(evidence.claims)
  const said = await userinfoOf(evidence)
  if (said === 'failed') {
    // Without claims there is nobody, and it has been thrown.
    const facts = claims ?? {}
    return { facts, subject: textOf(facts['sub']) ?? null, address: vouchedAddress(facts) ?? 'failed' }
  }
  const subject = textOf(claims?.['sub']) ?? subjectOf(said)
  if (claims !== null && subjectOf(said) !== undefined && subjectOf(said) !== subject) {
    throw new ProviderError('identity', 'Userinfo is about somebody else than the id_token')
  }
  return {
    facts: merged(claims ?? {}, said),
    subject: subject ?? null,
    address: vouchedAddress(said) ?? vouchedAddress(claims ?? {}),
  }
}

async function userinfoOf(evidence: Evidence): Promise<Facts | 'failed'> {
  const { tokens, claims, userinfoEndpoint } = evidence
  if (tokens === null || userinfoEndpoint === '') return {}
  try {
    return personFactsOf(await evidence.ask(userinfoEndpoint))
  } catch (error) {
    if (claims === null || !(error instanceof ProviderError)) throw error
    return 'failed'
  }
}

/** Google's older userinfo says `id`. */
function subjectOf(facts: Facts): string | undefined {
  return textOf(facts['sub']) ?? textOf(facts['id'])
}
