/** The field for the owner's own name for a peer. */
import { longestNickname, nicknameIn } from '../../trust/trust-change.ts'
import { inputRefusal } from '../shared/refused-on-page.ts'

/** @throws ServiceError `bad_request` with the field `nickname`. */
export function requireNickname(typed: string): string {
  const nickname = nicknameIn(typed)
  if (nickname === null)
    throw inputRefusal(
      `a nickname has at most ${longestNickname} characters`,
      ({ peerErrors }) => peerErrors.nicknameTooLong(longestNickname),
      'nickname',
    )
  return nickname
}
