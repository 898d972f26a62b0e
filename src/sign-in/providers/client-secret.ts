/** How a client of ours proves to a provider that it is the one. */
import type { ClientSecret } from './provider-config.ts'
import type { Settings } from './settings.ts'

export function staticSecret(secret: string): ClientSecret {
  return () => Promise.resolve(secret)
}

/** A client without a secret is one of native applications: what they bring is proven by itself. */
export function secretOrAudiences(settings: Settings): ClientSecret | null {
  const secret = settings.audiences.length > 0 ? settings.text('clientSecret') : settings.required('clientSecret')
  return secret === undefined ? null : staticSecret(secret)
}
