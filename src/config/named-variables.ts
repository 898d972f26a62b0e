/** Environment variables of named objects, such as providers: `<prefix><NAME>_<SUFFIX>`, one for each option. */
import { ConfigError, Problems } from './config-error.ts'
import type { Environment } from './env.ts'
import { fileVariable, settingIn } from './secret-file.ts'

export interface NamedOption {
  /** Last part of the variable: `TROUPE_PROVIDER_<NAME>_<SUFFIX>`. */
  readonly suffix: string
  readonly text: string
  readonly secret?: boolean
}

/** Returns whether a name is valid: lower case, words joined by `-`. Environment variables use `_` instead of `-`. */
export function isName(name: string): boolean {
  return name.length <= 40 && /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)
}

export class NamedVariables<Option extends string> {
  /** The variable that lists the names. */
  readonly list: string
  readonly #prefix: string
  readonly #examples: string
  readonly #options: Readonly<Record<Option, NamedOption>>

  /** @param kind `PROVIDER`: the names are listed in `TROUPE_PROVIDERS`, and the variables begin with `TROUPE_PROVIDER_`. */
  constructor(kind: string, examples: string, options: Readonly<Record<Option, NamedOption>>) {
    this.list = `TROUPE_${kind}S`
    this.#prefix = `TROUPE_${kind}_`
    this.#examples = examples
    this.#options = options
  }

  /**
   * Returns the listed names in their order; null when the list is not set.
   *
   * @throws ConfigError
   */
  names(env: Environment): readonly string[] | null {
    const names = env[this.list]
      ?.split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
    const wrong = names?.filter((name) => !isName(name)) ?? []
    if (wrong.length === 0) return names ?? null
    throw new ConfigError(
      wrong.map((name) => `${this.list} must list names such as ${this.#examples}; ${name} is not a valid name.`),
    )
  }

  of(name: string, option: Option): string {
    return `${this.#prefix}${name.toUpperCase().replaceAll('-', '_')}_${this.#options[option].suffix}`
  }

  has(variable: string): boolean {
    return variable === this.list || this.#parse(variable) !== null
  }

  /**
   * Returns the settings in the environment: for each name, the value of each option that is set.
   *
   * @throws ConfigError for a secret whose file cannot be read.
   */
  read(env: Environment): ReadonlyMap<string, Partial<Record<Option, string>>> {
    const found = new Map<string, Partial<Record<Option, string>>>()
    const problems = new Problems()
    for (const [variable, value] of Object.entries(env)) {
      const setting = value === undefined || value === '' ? null : this.#parse(variable)
      if (setting === null) continue
      const { name, option } = setting
      const given = problems.collect(() => settingIn(env, this.of(name, option), this.#options[option]), null)
      if (given !== null) found.set(name, { ...found.get(name), [option]: given.text })
    }
    problems.requireNone()
    return found
  }

  #parse(variable: string): { readonly name: string; readonly option: Option } | null {
    if (!variable.startsWith(this.#prefix)) return null
    const rest = variable.slice(this.#prefix.length)
    for (const option of Object.keys(this.#options) as Option[]) {
      const { suffix, secret = false } = this.#options[option]
      const ending = [`_${suffix}`, ...(secret ? [fileVariable(`_${suffix}`)] : [])].find((each) => rest.endsWith(each))
      if (ending === undefined) continue
      const name = rest.slice(0, -ending.length)
      const spelled = name.toLowerCase().replaceAll('_', '-')
      if (name === name.toUpperCase() && isName(spelled)) return { name: spelled, option }
    }
    return null
  }
}
