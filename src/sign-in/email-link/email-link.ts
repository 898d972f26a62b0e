/** The declaration of email links as a way to sign in. */
import { type OwnSettings, ownSettings, type ProviderDeclaration } from '../providers/settings.ts'
import { emailLinkName } from './names.ts'

/**
 * Sign-in with a link and a code that the application sends by email: a handler of `sign_in_link_requested` does so.
 *
 * @example emailLink()
 * @public
 */
export function emailLink(settings: OwnSettings = {}): ProviderDeclaration {
  return { type: 'email', name: emailLinkName, settings: ownSettings(settings) }
}
