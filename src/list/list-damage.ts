/** The error for a list whose stored parts contradict each other. Reads report the damage and never repair it. */
import { ServiceError } from '../errors.ts'

export function damagedList(list: string, detail: string): ServiceError {
  return new ServiceError('list_corrupted', `The list ${JSON.stringify(list)} is damaged: ${detail}`, {
    members: { list, detail, remedy: 'compact' },
  })
}
