/** Answers of the other service in a move. */
import { known, stringValue } from '../json/json.ts'
import type { PeerOutcome } from '../peer/peer-client.ts'
import { membersIn } from './proof.ts'

/** A text of an answer, such as its `message`, in one line. Null: it has none. */
export function answerText(outcome: PeerOutcome, name: 'error' | 'message'): string | null {
  if (outcome.kind !== 'answered') return null
  const text = stringValue(membersIn(outcome.body)?.get(name) ?? known('null'))
  return text === null ? null : text.replace(/\s+/g, ' ').slice(0, 300)
}
