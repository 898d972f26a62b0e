/** The kind of the actors of people: those for which the application declares no other kind. */
export const personKind = 'person'
