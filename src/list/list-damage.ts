/** What is said of a list whose stored parts do not fit together: loud, and never healed by reading. */
import { ServiceError } from '../errors.ts'

export function damagedList(list: string, detail: string): ServiceError {
  return new ServiceError('list_corrupted', `The list ${JSON.stringify(list)} is damaged: ${detail}`, {
    members: { list, detail, remedy: 'compact' },
  })
}
