/** Who can be chosen with one click at the local provider. */
export const testPerson = { name: 'Ada Lovelace', email: 'ada@example.com' } as const

/** Somebody who typed an address is called by what stands before its `@`. */
export function personName(address: string): string {
  return address === testPerson.email ? testPerson.name : (address.split('@', 1)[0] ?? '')
}
