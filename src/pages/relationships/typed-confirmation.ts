/** The typed confirmation: the owner enters the peer's name or address before the peer gets a powerful trust type. */
import type { Json } from '../../json/json.ts'
import type { Trust } from '../../trust/trust.ts'
import type { Messages } from '../languages/language.ts'
import { pageRefusal } from '../shared/error-text.ts'
import { peerName, shownText } from '../shared/peer-names.ts'

/** Name of the form field. */
export const confirmationFieldName = 'confirmation'

/** @throws ServiceError `bad_request` when the input is neither the peer's displayed name nor its address. */
export function requireConfirmation(typed: string, trust: Trust, profile: Json | undefined, messages: Messages): void {
  const { name } = peerName(trust, profile, '', messages)
  const given = plain(typed)
  if (given === plain(name)) return
  if (trust.baseuri !== '' && address(typed) === address(trust.baseuri)) return
  throw given === ''
    ? pageRefusal(
        'bad_request',
        `To continue, type “${name}” or their address.`,
        ({ review }) => review.confirmMissing(name),
        { field: confirmationFieldName },
      )
    : pageRefusal(
        'bad_request',
        `What you typed is neither “${name}” nor their address.`,
        ({ review }) => review.confirmWrong(name),
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
    .replace(/(?<!\/)\/+$/, '')
}
