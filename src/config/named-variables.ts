/** Environment variables of things that have names: `<prefix><NAME>_<SUFFIX>`, one for each option of each. */
import type { Environment } from './env.ts'

/** Lower case, in words joined by `-`; the environment writes `_` for it. */
export function isName(name: string): boolean {
  return name.length <= 40 && /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)
}

/** The names in the value of a list variable, in their order. */
export function variableNamesIn(list: string): string[] {
  return list
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

export class NamedVariables<Option extends string> {
  readonly #prefix: string
  readonly #options: Readonly<Record<Option, { readonly suffix: string }>>

  constructor(prefix: string, options: Readonly<Record<Option, { readonly suffix: string }>>) {
    this.#prefix = prefix
    this.#options = options
  }

  of(name: string, option: Option): string {
    return `${this.#prefix}${name.toUpperCase().replaceAll('-', '_')}_${this.#options[option].suffix}`
  }

  has(variable: string): boolean {
    return this.#parse(variable) !== null
  }

  /** The settings that the environment has, by name and option. */
  read(env: Environment): ReadonlyMap<string, Partial<Record<Option, string>>> {
    const found = new Map<string, Partial<Record<Option, string>>>()
    for (const [variable, value] of Object.entries(env)) {
      const setting = value === undefined || value === '' ? null : this.#parse(variable)
      if (setting !== null) found.set(setting.name, { ...found.get(setting.name), [setting.option]: value })
    }
    return found
  }

  #parse(variable: string): { readonly name: string; readonly option: Option } | null {
    if (!variable.startsWith(this.#prefix)) return null
    const rest = variable.slice(this.#prefix.length)
    for (const option of Object.keys(this.#options) as Option[]) {
      const { suffix } = this.#options[option]
      if (!rest.endsWith(`_${suffix}`)) continue
      const name = rest.slice(0, -suffix.length - 1)
      const spelled = name.toLowerCase().replaceAll('_', '-')
      if (name === name.toUpperCase() && isName(spelled)) return { name: spelled, option }
    }
    return null
  }
}
