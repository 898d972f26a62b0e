import { ServiceError } from '../../errors.ts'

/** The kind of the actors of people: those for which the application declares no other kind. */
export const personKind = 'person'

/** @throws ServiceError `forbidden` for an actor of another kind, to which no sign-in leads. */
export function requirePerson(kind: string): void {
  if (kind !== personKind) throw new ServiceError('forbidden', 'Cannot sign in to an actor that is of no person')
}
