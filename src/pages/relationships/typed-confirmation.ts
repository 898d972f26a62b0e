/** The typed confirmation: the owner enters the peer's name or address before the peer gets a powerful trust type. */
import { ServiceError } from '../../errors.ts'
import type { Json } from '../../json/json.ts'
import type { Trust } from '../../trust/trust.ts'
import { peerName, shownText } from '../shared/peer-names.ts'

/** Name of the form field. */
export const confirmationFieldName = 'confirmation'

/** @throws ServiceError `bad_request` when the input is neither the peer's displayed name nor its address. */
export function requireConfirmation(typed: string, trust: Trust, profile: Json | undefined): void {
  const { name } = peerName(trust, profile, '')
  const given = plain(typed)
  if (given === plain(name)) return
  if (trust.baseuri !== '' && address(typed) === address(trust.baseuri)) return
  throw new ServiceError(
    'bad_request',
    given === ''
      ? `To continue, type “${name}” or their address.`
      : `What you typed is neither “${name}” nor their address.`,
    { field: confirmationFieldName },
  )
}

function plain(text: string): string {
  return shownText(text.normalize('NFC')).toLowerCase()
}

function address(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/^https?:\/\//, '')
    .replace(/\/+$/, '')
}
