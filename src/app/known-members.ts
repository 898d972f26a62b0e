/** Refuses misspelt members of declarations. The service would ignore such a member, and what it asks for. */
import { ConfigError } from '../config/config-error.ts'

/** The names of all members of a declaration. */
export type MembersOf<T> = Readonly<Record<keyof T & string, true>>

/**
 * @param what The failed declaration, such as `Cannot declare the action "lend":`.
 * @throws ConfigError when the declaration is not an object, or has a member that does not exist.
 */
export function requireMembers(what: string, known: Readonly<Record<string, true>>, declared: unknown): void {
  if (typeof declared !== 'object' || declared === null || Array.isArray(declared))
    throw new ConfigError(`${what} the declaration must be an object.`)
  const unknown = Object.keys(declared).find((member) => !Object.hasOwn(known, member))
  if (unknown !== undefined)
    throw new ConfigError(
      `${what} the member ${JSON.stringify(unknown)} does not exist. The members are ${Object.keys(known).join(', ')}.`,
    )
}
