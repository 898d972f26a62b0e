/** Names of members that hold secrets, on the wire, in handles and in records of applications. */

const secretName = /(?:password|passphrase|secret|token|authorization|cookie|api[-_]?key)$/i

/**
 * Returns whether a member must not be logged or sent to a model. A handler passes on full records by mistake. True and false
 * disclose nothing: `hasPassword` is a fact.
 */
export function isSecretMember(name: string, value: unknown): boolean {
  return typeof value !== 'boolean' && secretName.test(name)
}
