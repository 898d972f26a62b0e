/** The person whom developers can choose with one click at the local provider. */
export const testPerson = { name: 'Ada Lovelace', email: 'ada@example.com' } as const

/** Returns the display name of a typed address: its part before the `@`. */
export function personName(address: string): string {
  return address === testPerson.email ? testPerson.name : (address.split('@', 1)[0] ?? '')
}
