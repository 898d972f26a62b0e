/** Identifies a person by id_token and userinfo (OpenID Connect Core section 5.3). */
import { ProviderError } from '../provider.ts'
import { type Facts, aboutThePerson, personFactsOf, merged, textOf, confirmedAddress } from './person.ts'
import type { Evidence, ProviderIdentity } from './provider-config.ts'

/**
 * Identifies the person by the id_token, and adds userinfo. When userinfo fails, only the verified claims are used; an
 * address that they do not confirm is then unknown (`failed`).
 */
export async function identifyByOpenId(evidence: Evidence): Promise<ProviderIdentity> {
  const claims = evidence.claims === null ? null : aboutThePerson(evidence.claims)
  const said = await userinfoOf(evidence)
  if (said === 'failed') {
    // `userinfoOf` throws when there are no claims, so the default is never used.
    const facts = claims ?? {}
    return { facts, subject: textOf(facts['sub']) ?? null, address: confirmedAddress(facts) ?? 'failed' }
  }
  const subject = textOf(claims?.['sub']) ?? subjectOf(said)
  if (claims !== null && subjectOf(said) !== undefined && subjectOf(said) !== subject) {
    throw new ProviderError('identity', 'Cannot accept userinfo: its subject differs from the id_token')
  }
  return {
    facts: merged(claims ?? {}, said),
    subject: subject ?? null,
    address: confirmedAddress(said) ?? confirmedAddress(claims ?? {}),
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

/** Returns `sub`, or `id` from Google's older userinfo endpoint. */
function subjectOf(facts: Facts): string | undefined {
  return textOf(facts['sub']) ?? textOf(facts['id'])
}
