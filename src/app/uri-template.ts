/** URI templates of RFC 6570. `{name}` matches text without `/`, and `{+name}` any text, in one pass without backtracking. */
import { ConfigError } from '../config/config-error.ts'

interface Variable {
  readonly name: string
  readonly takesSlashes: boolean
  /** The text from this variable to the next variable or the end. */
  readonly after: string
}

export class UriTemplate {
  readonly text: string
  readonly #start: string
  readonly #variables: readonly Variable[]

  /** @throws ConfigError for any other kind of expression, and for two variables without text between them. */
  constructor(text: string) {
    this.text = text
    const [start = '', ...rest] = text.split('{')
    this.#start = start
    this.#variables = rest.map((part, index) => {
      const [, plus, name, after] = /^(\+?)([A-Za-z_][A-Za-z0-9_]*)\}([^{}]*)$/.exec(part) ?? []
      if (name === undefined || after === undefined || (after === '' && index < rest.length - 1)) {
        throw new ConfigError(
          `Cannot match the URI template ${JSON.stringify(text)}: use {name} or {+name}, with text between two of them.`,
        )
      }
      return { name, takesSlashes: plus === '+', after }
    })
  }

  get variables(): readonly string[] {
    return this.#variables.map(({ name }) => name)
  }

  get isTemplate(): boolean {
    return this.#variables.length > 0
  }

  /** The canonical address: the template with decoded values, independent of the client's percent-encoding. */
  filled(values: Readonly<Record<string, string>>): string {
    return this.#start + this.#variables.map(({ name, after }) => `${values[name] ?? ''}${after}`).join('')
  }

  /** The percent-decoded values of the variables. Null when the URI does not match. Each value is as short as possible. */
  match(uri: string): Readonly<Record<string, string>> | null {
    if (!this.isTemplate) return uri === this.text ? {} : null
    if (!uri.startsWith(this.#start)) return null
    const values: Record<string, string> = {}
    let at = this.#start.length
    for (const [index, { name, takesSlashes, after }] of this.#variables.entries()) {
      const isLast = index === this.#variables.length - 1
      // A value has at least one character. The URI must end with the text after the last variable.
      const end = isLast ? uri.length - after.length : uri.indexOf(after, at + 1)
      if (end <= at || !uri.startsWith(after, end)) return null
      const value = decoded(uri.slice(at, end))
      if (value === null || (!takesSlashes && value.includes('/')) || leadsUp(value)) return null
      values[name] = value
      at = end + after.length
    }
    return values
  }
}

/** A handler may use a value as a path, so values with `.` and `..` segments do not match. */
function leadsUp(value: string): boolean {
  return value.split(/[/\\]/).some((segment) => segment === '.' || segment === '..')
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
