/** The declaration of passkeys as a way to sign in. */
import { type OwnSettings, ownSettings, type ProviderDeclaration } from '../providers/settings.ts'
import { passkeyProviderName } from './names.ts'

/**
 * Sign-in with passkeys, which needs no other service. The service must have an https address with a host name, or run on
 * `localhost`.
 *
 * @example passkey({ deepLink: 'notes://signed-in' })
 * @public
 */
export function passkey(settings: OwnSettings = {}): ProviderDeclaration {
  return { type: 'passkey', name: passkeyProviderName, settings: ownSettings(settings) }
}

/** Returns whether browsers create passkeys for this address: a host name with https, or localhost. */
export function takesPasskeys(baseUrl: string): boolean {
  const url = URL.parse(baseUrl)
  if (url === null) return false
  const { protocol, hostname } = url
  if (hostname === 'localhost' || hostname.endsWith('.localhost')) return true
  return protocol === 'https:' && !hostname.startsWith('[') && !/^[\d.]+$/.test(hostname)
}
