/** Client secrets, by which this service authenticates at a provider. */
import type { ClientSecret } from './provider-config.ts'
import type { Settings } from './settings.ts'

export function staticSecret(secret: string): ClientSecret {
  return () => Promise.resolve(secret)
}

/** Requires a secret, unless audiences are configured: native applications present signed assertions. */
export function secretOrAudiences(settings: Settings): ClientSecret | null {
  const secret = settings.audiences.length > 0 ? settings.text('clientSecret') : settings.required('clientSecret')
  return secret === undefined ? null : staticSecret(secret)
}
