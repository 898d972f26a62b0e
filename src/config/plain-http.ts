/** A service whose `BASE_URL` is http, without encryption. */
import type { Mode } from './option.ts'

export interface ServedAt {
  readonly baseUrl: string
  readonly config: { readonly mode: Mode }
}

/** True when browsers keep the cookies of the service for https only. In development, http has cookies too. */
export function hasSecureCookies({ baseUrl, config }: ServedAt): boolean {
  return config.mode !== 'development' || baseUrl.startsWith('https:')
}

/** Names what works at such an address in production. Null: the address is https, or the service is in development. */
export function plainHttpWarning(service: ServedAt): string | null {
  const { baseUrl } = service
  if (baseUrl.startsWith('https:') || !hasSecureCookies(service)) return null
  return `BASE_URL is ${baseUrl}, without encryption. Programs with a passphrase, key or token work. People cannot sign in on pages, because browsers keep the cookies for https only; Chromium and Firefox keep them at localhost too. Put a proxy with https before the service, and set BASE_URL to its address.`
}
