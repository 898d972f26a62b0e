/** The only reader of the environment. */
export type Environment = Readonly<Record<string, string | undefined>>

export function processEnvironment(): Environment {
  return process.env
}
